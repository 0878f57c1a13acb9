// The step of `cargo xtask bench step` as textbook loops over one row, differentiated by Clad as they stand: what Clad gives
// without our kernels. `naive THREADS` (it uses one); the lines are those of rust/examples/bench_worker.rs.

#include "lines.h"

#include <clad/Differentiator/Differentiator.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kInputs = 28, kHidden = 64;
constexpr int kParameters = kHidden * (kInputs + 1) + kHidden * (kHidden + 1) + kHidden + 1;

/// Binary cross-entropy of 28-64-64-1 on one row; p: for each layer weights [outputs, inputs], then biases.
float RowLoss(const float *p, const float *x, float y)
{
   float first[kHidden] = {}, second[kHidden] = {};
   for (int o = 0; o < kHidden; ++o) {
      float z = p[kHidden * kInputs + o];
      for (int i = 0; i < kInputs; ++i)
         z += p[o * kInputs + i] * x[i];
      if (z > 0)
         first[o] = z;
   }
   const float *q = p + kHidden * (kInputs + 1);
   for (int o = 0; o < kHidden; ++o) {
      float z = q[kHidden * kHidden + o];
      for (int i = 0; i < kHidden; ++i)
         z += q[o * kHidden + i] * first[i];
      if (z > 0)
         second[o] = z;
   }
   const float *r = q + kHidden * (kHidden + 1);
   float z = r[kHidden];
   for (int i = 0; i < kHidden; ++i)
      z += r[i] * second[i];
   float loss = 0;
   if (z > 0)
      loss = z - z * y + std::log(1 + std::exp(-z));
   else
      loss = -z * y + std::log(1 + std::exp(z));
   return loss;
}

std::vector<float> Floats(const std::string &path)
{
   std::ifstream file(path, std::ios::binary | std::ios::ate);
   if (!file)
      throw std::runtime_error("cannot read " + path);
   std::vector<float> numbers(static_cast<std::size_t>(file.tellg()) / sizeof(float));
   file.seekg(0);
   file.read(reinterpret_cast<char *>(numbers.data()), numbers.size() * sizeof(float));
   return numbers;
}

struct Training {
   std::vector<float> fFeatures, fLabels, fParameters; // [N, 28], [N], [kParameters]
   std::vector<float> fGradient, fFirst, fSecond;      // Adam's moments
   std::size_t fBatch, fTaken = 0;

   Training(std::size_t batch, const std::string &data)
      : fFeatures(Floats(data + "/features")), fLabels(Floats(data + "/labels")),
        fParameters(Floats(data + "/parameters")), fGradient(kParameters), fFirst(kParameters), fSecond(kParameters),
        fBatch(batch)
   {
      if (fParameters.size() != kParameters)
         throw std::runtime_error("these loops are written for 28-64-64-1");
   }

   void Adam()
   {
      const double correct1 = 1 - std::pow(0.9, double(fTaken)), correct2 = 1 - std::pow(0.999, double(fTaken));
      for (int i = 0; i < kParameters; ++i) {
         const float g = fGradient[i] / fBatch;
         fFirst[i] = 0.9f * fFirst[i] + 0.1f * g;
         fSecond[i] = 0.999f * fSecond[i] + 0.001f * g * g;
         fParameters[i] -= 1e-3 * (fFirst[i] / correct1) / (std::sqrt(fSecond[i] / correct2) + 1e-8);
      }
   }

   /// Seconds a step.
   template <class Gradient>
   double Round(std::size_t steps, Gradient &gradient)
   {
      const auto batches = fLabels.size() / fBatch;
      const auto start = std::chrono::steady_clock::now();
      for (const auto end = fTaken + steps; fTaken < end;) {
         const auto first = fTaken++ % batches * fBatch;
         fGradient.assign(kParameters, 0);
         for (auto row = first; row < first + fBatch; ++row)
            gradient.execute(fParameters.data(), &fFeatures[row * kInputs], fLabels[row], fGradient.data());
         Adam();
      }
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   double Check() const
   {
      double sum = 0;
      for (std::size_t row = 0; row < fLabels.size(); ++row)
         sum += RowLoss(fParameters.data(), &fFeatures[row * kInputs], fLabels[row]);
      return sum / fLabels.size();
   }
};

int main()
{
   auto gradient = clad::gradient(RowLoss, "p");
   std::unique_ptr<Training> training;
   Serve([&](const std::string &verb, const Values &values) -> std::string {
      if (verb == "case") {
         training = std::make_unique<Training>(std::stoul(values.at("batch")), values.at("data"));
         return "ready";
      }
      if (training && verb == "round")
         return Said("time", training->Round(std::stoul(values.at("steps")), gradient));
      if (training && verb == "check")
         return Said("check", training->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
