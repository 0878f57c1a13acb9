// What the peers of `cargo xtask bench step` that are written for 28-64-64-1 share: its loss as textbook loops, and the
// requests (rust/examples/bench_worker.rs).
#pragma once

#include "lines.h"

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
inline float RowLoss(const float *p, const float *x, float y)
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

inline std::vector<float> Floats(const std::string &path)
{
   std::ifstream file(path, std::ios::binary | std::ios::ate);
   if (!file)
      throw std::runtime_error("cannot read " + path);
   std::vector<float> numbers(static_cast<std::size_t>(file.tellg()) / sizeof(float));
   file.seekg(0);
   file.read(reinterpret_cast<char *>(numbers.data()), numbers.size() * sizeof(float));
   return numbers;
}

/// Answers requests with an Engine: made from parameters [kParameters] and a batch's rows; Step(features [batch, kInputs],
/// labels [batch]); Parameters().
template <class Engine>
class Training {
public:
   Training(std::size_t batch, const std::string &data)
      : fFeatures(Floats(data + "/features")), fLabels(Floats(data + "/labels")), fBatch(batch)
   {
      const auto parameters = Floats(data + "/parameters");
      if (parameters.size() != kParameters)
         throw std::runtime_error("this peer is written for 28-64-64-1");
      fEngine = std::make_unique<Engine>(parameters, batch);
   }

   /// Seconds a step.
   double Round(std::size_t steps)
   {
      const auto batches = fLabels.size() / fBatch;
      const auto start = std::chrono::steady_clock::now();
      for (const auto end = fTaken + steps; fTaken < end; ++fTaken) {
         const auto first = fTaken % batches * fBatch;
         fEngine->Step(&fFeatures[first * kInputs], &fLabels[first]);
      }
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   double Check() const
   {
      const auto parameters = fEngine->Parameters();
      double sum = 0;
      for (std::size_t row = 0; row < fLabels.size(); ++row)
         sum += RowLoss(parameters.data(), &fFeatures[row * kInputs], fLabels[row]);
      return sum / fLabels.size();
   }

   static void ServeAll()
   {
      std::unique_ptr<Training> training;
      Serve([&](const std::string &verb, const Values &values) -> std::string {
         if (verb == "case") {
            training = std::make_unique<Training>(std::stoul(values.at("batch")), values.at("data"));
            return "ready";
         }
         if (training && verb == "round")
            return Said("time", training->Round(std::stoul(values.at("steps"))));
         if (training && verb == "check")
            return Said("check", training->Check());
         throw std::invalid_argument("no request '" + verb + "' now");
      });
   }

private:
   std::vector<float> fFeatures, fLabels; // [N, kInputs], [N]
   std::size_t fBatch, fTaken = 0;
   std::unique_ptr<Engine> fEngine;
};
