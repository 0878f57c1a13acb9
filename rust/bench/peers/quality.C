/// \file quality.C
/// \brief CladTorch's side of `cargo xtask bench quality`: an interpreted macro, as a user would write it.
///
/// `quality(START, THREADS)`: START is where the weights start: `default`, `kaiming`, `xavier`, or `zero-last` for the
/// default with zeros in the last layer; or `bf16` for the default with products in bfloat16. The lines it reads are those of quality.py.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "lines.h"
#include "score.h"

#include <ROOT/RDataFrame.hxx>
#include <TROOT.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

std::vector<float> Floats(const std::string &path)
{
   std::ifstream file(path, std::ios::binary | std::ios::ate);
   std::vector<float> numbers(file ? static_cast<std::size_t>(file.tellg()) / sizeof(float) : 0);
   if (!file.seekg(0) || !file.read(reinterpret_cast<char *>(numbers.data()), numbers.size() * sizeof(float)))
      throw std::runtime_error("cannot read " + path);
   return numbers;
}

/// Whether a row is kept for the test: SplitMix64 (Steele, Lea and Flood 2014), as quality.py has it.
bool IsTest(std::uint64_t row, std::uint64_t seed)
{
   std::uint64_t z = (row + 1 + (seed << 32)) * 0x9e3779b97f4a7c15;
   z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
   z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
   return ((z ^ (z >> 31)) >> 11) * 0x1p-53 < 0.3;
}

/// The defaults of Mlp: the seed, which comes after them, cannot be given without them.
const CladTorch::EInit kUsual = CladTorch::kUniform;

std::vector<float> Parameters(const CladTorch::Mlp &model)
{
   const auto view = model.Parameters();
   return {view.begin(), view.end()};
}

void CheckDefault()
{
   if (Parameters(CladTorch::Mlp({2, 3, 1})) != Parameters(CladTorch::Mlp({2, 3, 1}, CladTorch::kReLU, kUsual, 1)))
      throw std::logic_error("quality.C has another default start of the weights than Mlp");
}

class Fits {
public:
   Fits(const Values &options, const std::string &start, int threads)
      : fOptions(options), fStart(start), fThreads(threads), fFeatures(Floats(options.at("data") + "/features")),
        fLabels(Floats(options.at("data") + "/labels")), fWeights(Floats(options.at("data") + "/weights"))
   {
      for (const auto &size : Cut(options.at("sizes"), ','))
         fSizes.push_back(std::stoul(size));
   }

   std::string Round(unsigned long seed)
   {
      std::vector<std::size_t> train;
      fTest.clear();
      for (std::size_t row = 0; row < fLabels.size(); ++row)
         (IsTest(row, seed) ? fTest : train).push_back(row);
      const auto trainData = Data(train), testData = Data(fTest);
      const auto begin = std::chrono::steady_clock::now();
      auto model = Model(seed);
      model.Fit(trainData, Fit(seed));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      return Said("time", seconds.count()) + " quality=" + Digits(Score(model, testData, fOptions.at("task")));
   }

   double Check() const { return std::accumulate(fTest.begin(), fTest.end(), 0.); }

private:
   CladTorch::Dataset Data(const std::vector<std::size_t> &rows) const
   {
      const auto inputs = fSizes.front();
      const auto features = [this, inputs, &rows](unsigned, ULong64_t entry) {
         const float *first = &fFeatures[rows[entry] * inputs];
         return ROOT::RVecF(first, first + inputs);
      };
      const auto label = [this, &rows](unsigned, ULong64_t entry) { return fLabels[rows[entry]]; };
      const auto weight = [this, &rows](unsigned, ULong64_t entry) { return fWeights[rows[entry]]; };
      auto frame = ROOT::RDataFrame(rows.size()).DefineSlotEntry("x", features, {});
      CladTorch::Dataset data;
      data.Column("x", inputs).SetWeight("w");
      data.Add(frame.DefineSlotEntry("y", label, {}).DefineSlotEntry("w", weight, {}), "y");
      return data;
   }

   CladTorch::Mlp Model(unsigned long seed) const
   {
      static const std::map<std::string, CladTorch::EActivation> activations = {{"relu", CladTorch::kReLU},
                                                                                {"tanh", CladTorch::kTanh},
                                                                                {"silu", CladTorch::kSiLU},
                                                                                {"gelu", CladTorch::kGELU}};
      static const std::map<std::string, CladTorch::EInit> starts = {{"default", kUsual},
                                                                     {"kaiming", CladTorch::kKaiming},
                                                                     {"xavier", CladTorch::kXavier},
                                                                     {"zero-last", kUsual},
                                                                     {"bf16", kUsual}};
      CladTorch::Mlp model(fSizes, activations.at(fOptions.at("activation")), starts.at(fStart), seed);
      if (fStart == "zero-last") {
         auto values = Parameters(model);
         const auto last = fSizes.back() * (fSizes[fSizes.size() - 2] + 1);
         std::fill(values.end() - last, values.end(), 0);
         model.SetParameters(values);
      }
      return model;
   }

   /// All else as it comes.
   CladTorch::FitOptions Fit(unsigned long seed) const
   {
      CladTorch::FitOptions fit;
      fit.fEpochs = std::stoi(fOptions.at("epochs"));
      fit.fBatchSize = std::stoi(fOptions.at("batch"));
      fit.fValidation = 0;
      fit.fSeed = seed;
      fit.fThreads = fThreads;
      fit.fVerbose = 0;
      if (fStart == "bf16")
         fit.fPrecision = CladTorch::kBF16;
      if (fOptions.at("task") == "regression")
         fit.fLoss = CladTorch::kMeanSquaredError;
      return fit;
   }

   Values fOptions;
   std::string fStart;
   int fThreads;
   std::vector<float> fFeatures, fLabels, fWeights; // [N, F], [N], [N]
   std::vector<std::size_t> fSizes, fTest;
};

void quality(const std::string &start, int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   std::unique_ptr<Fits> fits;
   Serve([&](const std::string &verb, const Values &values) -> std::string {
      if (verb == "case") {
         CheckDefault();
         fits = std::make_unique<Fits>(values, start, threads);
         return "ready";
      }
      if (fits && verb == "round")
         return fits->Round(std::stoul(values.at("seed")));
      if (fits && verb == "check")
         return Said("check", fits->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
