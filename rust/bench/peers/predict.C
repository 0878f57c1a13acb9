/// \file predict.C
/// \brief CladTorch's side of `cargo xtask bench predict`: an interpreted macro, as a user would write it.
///
/// | request | answer |
/// |---|---|
/// | `case rows=N once=0 or 1 data=FOLDER` | `ready` |
/// | `round` | `time SECONDS_A_ROW` |
/// | `check` | `check MEAN_PROBABILITY` |

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "lines.h"

#include <ROOT/RDataFrame.hxx>
#include <TROOT.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

std::vector<float> Floats(const std::string &path, std::size_t count)
{
   std::vector<float> numbers(count);
   std::ifstream file(path, std::ios::binary);
   if (!file.read(reinterpret_cast<char *>(numbers.data()), count * sizeof(float)))
      throw std::runtime_error("cannot read " + path);
   return numbers;
}

struct Prediction {
   std::vector<float> fFeatures; // [rows, 28]
   CladTorch::Dataset fEvents;
   CladTorch::Mlp fModel{{28, 64, 64, 1}};
   bool fAtOnce;
   double fSum = 0;

   Prediction(std::size_t rows, bool atOnce, const std::string &folder)
      : fFeatures(Floats(folder + "/features", rows * 28)), fAtOnce(atOnce)
   {
      fModel.SetParameters(Floats(folder + "/parameters", fModel.Parameters().Size()));
      const float *first = fFeatures.data();
      const auto row = [first](unsigned, ULong64_t entry) { return ROOT::RVecF(first + 28 * entry, first + 28 * entry + 28); };
      fEvents.Column("x", 28).Add(ROOT::RDataFrame(rows).DefineSlotEntry("x", row, {}), 0.);
   }

   /// Seconds a row.
   double Round()
   {
      const auto rows = fEvents.Rows();
      const auto start = std::chrono::steady_clock::now();
      if (fAtOnce) {
         const auto scores = fModel.Predict(fEvents);
         const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
         fSum = std::accumulate(scores.begin(), scores.end(), 0.);
         return seconds.count() / rows;
      }
      const auto score = fModel.Functor();
      fSum = 0;
      for (std::size_t row = 0; row < rows; ++row)
         fSum += score.Evaluate(&fFeatures[28 * row], 28);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      return seconds.count() / rows;
   }
};

void predict(int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   std::unique_ptr<Prediction> prediction;
   Serve([&](const std::string &verb, const Values &values) -> std::string {
      if (verb == "case") {
         prediction = std::make_unique<Prediction>(std::stoul(values.at("rows")), values.at("once") == "1", values.at("data"));
         return "ready";
      }
      if (prediction && verb == "round")
         return Said("time", prediction->Round());
      if (prediction && verb == "check")
         return Said("check", prediction->fSum / prediction->fEvents.Rows());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
