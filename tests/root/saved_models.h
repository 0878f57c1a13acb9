/// \file saved_models.h
/// \brief Code that saved_models_write.C and saved_models_read.C share: events, options, and numbers in files.

#ifndef CLADTORCH_TEST_SAVED_MODELS
#define CLADTORCH_TEST_SAVED_MODELS

#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TRandom3.h>

#include <fstream>
#include <string>
#include <vector>

constexpr int kWidth = 24;

inline ROOT::RDF::RNode Frame(int rows)
{
   const auto list = [](ULong64_t entry) {
      TRandom3 random(entry + 1);
      ROOT::RVecF x(kWidth);
      for (auto &value : x)
         value = random.Gaus();
      return x;
   };
   const auto label = [](const ROOT::RVecF &x) { return x[0] * x[1] > 0 ? 1 : 0; };
   return ROOT::RDataFrame(rows).Define("x", list, {"rdfentry_"}).Define("y", label, {"x"});
}

inline CladTorch::Dataset Events()
{
   CladTorch::Dataset data;
   return data.Column("x", kWidth).Add(Frame(450), "y");
}

inline CladTorch::FitOptions Options(unsigned seed)
{
   CladTorch::FitOptions options;
   options.fEpochs = 2;
   options.fBatchSize = 64;
   options.fSeed = seed;
   options.fVerbose = 0;
   return options;
}

/// Logits, probabilities and parameters.
inline std::vector<float> Numbers(const CladTorch::Model &model, const CladTorch::Dataset &data)
{
   auto numbers = model.Logits(data);
   for (const auto value : model.Predict(data))
      numbers.push_back(value);
   for (const auto value : model.Parameters())
      numbers.push_back(value);
   return numbers;
}

inline void Write(const std::string &path, const std::vector<float> &numbers)
{
   std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float));
}

inline std::vector<float> Read(const std::string &path)
{
   std::ifstream file(path, std::ios::binary | std::ios::ate);
   std::vector<float> numbers(file.tellg() / sizeof(float));
   file.seekg(0);
   file.read(reinterpret_cast<char *>(numbers.data()), numbers.size() * sizeof(float));
   return numbers;
}

/// Names of the networks, each with a file name.ct, and its results before and after a second fit.
inline const std::vector<std::string> kNetworks{"linear",    "residual",  "batch_norm", "layer_norm",    "dropout", "cnn",
                                               "attention", "function",  "outputs",    "several_inputs", "buffer"};

#endif
