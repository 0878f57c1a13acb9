/// \file end_to_end.C
/// \brief CladTorch's side of `cargo xtask bench end-to-end`: an interpreted macro, as a user would write it.
///
/// The lines it reads are those of end_to_end.py.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "lines.h"

#include <TROOT.h>

#include <algorithm>
#include <string>
#include <vector>

struct Trained {
   CladTorch::Mlp fModel;
   CladTorch::Dataset fTest;

   /// Area under the ROC curve, or the share of right classes.
   double Score() const
   {
      if (fModel.Outputs() == 1)
         return fModel.Auc(fTest);
      const auto values = fModel.Predict(fTest);
      const auto labels = fTest.Labels();
      const auto classes = fModel.Outputs();
      std::size_t right = 0;
      for (std::size_t row = 0; row < fTest.Rows(); ++row) {
         const auto first = values.begin() + row * classes;
         right += std::max_element(first, first + classes) - first == labels(row);
      }
      return double(right) / fTest.Rows();
   }
};

Trained Train(const Values &options, unsigned seed, int threads)
{
   CladTorch::Dataset data(Cut(options.at("columns"), ','));
   for (const auto &tree : Cut(options.at("trees"), ',')) {
      const auto parts = Cut(tree, ':');
      if (parts[1].find_first_not_of("0123456789.") == std::string::npos)
         data.Add(parts[0], options.at("file"), std::stod(parts[1]));
      else
         data.Add(parts[0], options.at("file"), parts[1]);
   }
   const auto [train, test] = data.Split(1 - std::stod(options.at("test")), seed);

   std::vector<std::size_t> sizes;
   for (const auto &size : Cut(options.at("sizes"), ','))
      sizes.push_back(std::stoul(size));
   CladTorch::Mlp model(sizes, CladTorch::kReLU, CladTorch::kKaiming, seed);
   CladTorch::FitOptions fit;
   fit.fEpochs = std::stoi(options.at("epochs"));
   fit.fBatchSize = std::stoi(options.at("batch"));
   fit.fValidation = 0;
   fit.fSeed = seed;
   fit.fThreads = threads;
   fit.fVerbose = 0;
   model.Fit(train, fit);
   return {model, test};
}

void end_to_end(int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   ServeRounds([threads](const Values &options, unsigned long seed) { return Train(options, seed, threads); },
               [](const Values &, const Trained &trained) { return trained.Score(); });
}
