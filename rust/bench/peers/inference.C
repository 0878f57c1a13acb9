/// \file inference.C
/// \brief CladTorch's side of `cargo xtask bench inference`: an interpreted macro, as a user would write it.
///
/// | request | answer |
/// |---|---|
/// | `case network=NAME batch=N shape=A,B tolerance=T data=FOLDER` | `ready`; an error if predictions are wrong |
/// | `round steps=S` | `time SECONDS_A_CALL`: S calls for N events each |
/// | `check` | `check MEAN_PREDICTION` of the last call |

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "lines.h"

#include <TROOT.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

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

class Inference {
public:
   Inference(const Values &values)
      : fBatch(std::stoul(values.at("batch"))), fShape(Shape(values.at("shape"))),
        fWidth(std::accumulate(fShape.begin(), fShape.end(), std::size_t(1), std::multiplies<>())),
        fEvents(Floats(values.at("data") + "/events")),
        fModel(CladTorch::Model::LoadTorchScript(values.at("data") + "/net.pt", fShape)), fFunctor(fModel.Functor())
   {
      if (fBatch > 1)
         MakeBatches();
      const auto expected = Floats(values.at("data") + "/expected");
      double worst = 0, largest = 0;
      for (std::size_t at = 0; at < expected.size(); at += fBatch) {
         Run(at / fBatch);
         for (std::size_t i = 0; i < fScores.size(); ++i) {
            worst = std::max(worst, std::abs(double(fScores[i]) - expected[at + i]));
            largest = std::max(largest, std::abs(double(expected[at + i])));
         }
      }
      if (!(worst < std::stod(values.at("tolerance")) * largest))
         throw std::runtime_error("predictions differ by " + Digits(worst / largest) + " from those in float64");
   }

   /// Seconds a call.
   double Round(std::size_t steps)
   {
      const auto calls = fEvents.size() / fWidth / fBatch;
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t step = 0; step < steps; ++step)
         Run(step % calls);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   double Check() const { return std::accumulate(fScores.begin(), fScores.end(), 0.) / fScores.size(); }

private:
   static std::vector<std::size_t> Shape(const std::string &text)
   {
      std::vector<std::size_t> shape;
      for (const auto &size : Cut(text, ','))
         shape.push_back(std::stoul(size));
      return shape;
   }

   void MakeBatches()
   {
      const auto count = fBatch * fWidth;
      const std::vector<float> labels(fBatch);
      for (std::size_t at = 0; at < fEvents.size(); at += count) {
         const std::vector<float> block(fEvents.begin() + at, fEvents.begin() + at + count);
         CladTorch::Dataset data;
         data.Column("x", fWidth);
         data.Add(CladTorch::FloatView(block).Reshape(fWidth), CladTorch::FloatView(labels));
         fBatches.push_back(data);
      }
   }

   void Run(std::size_t call)
   {
      if (fBatch > 1)
         fScores = fModel.Predict(fBatches[call]);
      else
         fScores.assign(1, fFunctor.Evaluate(&fEvents[call * fWidth], fWidth));
   }

   std::size_t fBatch;
   std::vector<std::size_t> fShape; // of an event
   std::size_t fWidth;
   std::vector<float> fEvents; // [events, fWidth]
   CladTorch::Model fModel;
   CladTorch::Functor fFunctor;
   std::vector<CladTorch::Dataset> fBatches;
   std::vector<float> fScores; // of the last call
};

void inference(int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   std::unique_ptr<Inference> inference;
   Serve([&](const std::string &verb, const Values &values) -> std::string {
      if (verb == "case") {
         inference.reset();
         inference = std::make_unique<Inference>(values);
         return "ready";
      }
      if (inference && verb == "round")
         return Said("time", inference->Round(std::stoul(values.at("steps"))));
      if (inference && verb == "check")
         return Said("check", inference->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
