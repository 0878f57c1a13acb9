/// \file end_to_end.C
/// \brief CladTorch's side of `cargo xtask bench end-to-end`: an interpreted macro, as a user would write it.
///
/// The lines it reads are those of end_to_end.py.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "lines.h"
#include "score.h"

#include <TROOT.h>

#include <stdexcept>
#include <string>
#include <vector>

struct Reached {
   int fEpochs;
   double fScore;
};

CladTorch::Dataset Read(const Values &options, const std::string &tree)
{
   CladTorch::Dataset data(Cut(options.at("columns"), ','));
   data.Add(tree, options.at("file"), "label");
   return data;
}

Reached Train(const Values &options, unsigned long seed, int threads)
{
   const auto train = Read(options, "train"), validation = Read(options, "validation");
   std::vector<std::size_t> sizes;
   for (const auto &size : Cut(options.at("sizes"), ','))
      sizes.push_back(std::stoul(size));
   CladTorch::Mlp model(sizes, CladTorch::kReLU, CladTorch::kUniform, seed); // the default, but for the seed
   CladTorch::FitOptions fit;
   fit.fBatchSize = std::stoi(options.at("batch"));
   fit.fValidation = 0;
   fit.fThreads = threads;
   fit.fVerbose = 0;
   if (options.at("task") == "regression")
      fit.fLoss = CladTorch::kMeanSquaredError;
   const int most = std::stoi(options.at("epochs"));
   // Each fit continues the previous one for twice as long: the schedule restarts (Loshchilov and Hutter 2017).
   int done = 0;
   for (fit.fEpochs = 1; done + fit.fEpochs <= most; fit.fEpochs *= 2) {
      fit.fSeed = seed * most + fit.fEpochs; // another order of the events in each fit
      model.Fit(train, fit);
      done += fit.fEpochs;
      const double score = Score(model, validation, options.at("task"));
      if (score >= std::stod(options.at("target")))
         return {done, score};
   }
   throw std::runtime_error("the target was not reached in " + options.at("epochs") + " epochs");
}

void end_to_end(int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   ServeRounds([threads](const Values &options, unsigned long seed) { return Train(options, seed, threads); },
               [](const Values &options, const Reached &reached) {
                  return reached.fScore - std::stod(options.at("target"));
               },
               [](const Reached &reached) {
                  return " epochs=" + std::to_string(reached.fEpochs) + " quality=" + Digits(reached.fScore);
               });
}
