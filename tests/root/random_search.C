/// \file random_search.C
/// \brief Random search: which options are drawn, judged and kept, for any number of threads.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>

#include <algorithm>
#include <cmath>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Mlp;
using CladTorch::Model;
using CladTorch::RandomSearch;

Dataset Events(const CladTorch::Label &label, int entries = 900)
{
   auto value = [](ULong64_t entry) { return float(TRandom3(entry + 1).Gaus()); };
   auto other = [](ULong64_t entry) { return float(TRandom3(entry + 700001).Gaus()); };
   auto frame = ROOT::RDataFrame(entries).Define("x", value, {"rdfentry_"}).Define("y", other, {"rdfentry_"});
   return Dataset({"x", "y"})
      .Add(frame.Define("in", "int(x * x + y * y < 1.4)").Define("ring", "int(std::min(2.f, x * x + y * y))"), label);
}

FitOptions Short(int threads = 0)
{
   FitOptions options;
   options.fEpochs = 3;
   options.fVerbose = 0;
   options.fThreads = threads;
   return options;
}

RandomSearch Search()
{
   RandomSearch search({Mlp({2, 8, 1}), Mlp({2, 16, 16, 1})});
   search.LogUniform("fLearningRate", 1e-4, 3e-2).Choice("fBatchSize", {32, 128}).Uniform("fEpochs", 2, 4);
   return search;
}

bool Same(const RandomSearch &a, const RandomSearch &b)
{
   const auto same = [](const CladTorch::Trial &s, const CladTorch::Trial &t) {
      return s.fNumber == t.fNumber && s.fModel == t.fModel && s.fScore == t.fScore && s.fLoss == t.fLoss &&
             s.fOptions.fLearningRate == t.fOptions.fLearningRate && s.fOptions.fBatchSize == t.fOptions.fBatchSize;
   };
   return a.Trials().size() == b.Trials().size() &&
          std::equal(a.Trials().begin(), a.Trials().end(), b.Trials().begin(), same);
}

/// Each trial is a fit that a user could run, and the best one's model is kept.
void CheckTrials()
{
   const auto events = Events("in");
   auto search = Search();
   search.Run(events, 9, Short());
   CHECK(search.Trials().size() == 9);
   double best = 0;
   for (const auto &trial : search.Trials()) {
      Mlp model = trial.fModel == 0 ? Mlp({2, 8, 1}) : Mlp({2, 16, 16, 1});
      auto options = trial.fOptions;
      options.fMetrics = {CladTorch::kAuc};
      const auto history = model.Fit(events, options);
      CHECK(history.Metric("AUC").back() == trial.fScore && history.ValidationLoss().back() == trial.fLoss);
      CHECK(history.Epochs() == trial.fEpochs && trial.fError.empty());
      CHECK(trial.fOptions.fLearningRate >= 1e-4 && trial.fOptions.fLearningRate <= 3e-2);
      best = std::max(best, trial.fScore);
      if (&trial == &search.BestTrial())
         CHECK(search.BestModel().Predict(events) == model.Predict(events));
   }
   CHECK(search.BestTrial().fScore == best);
   for (const int threads : {1, 2, 5}) {
      auto again = Search();
      again.Run(events, 9, Short(threads));
      CHECK(Same(again, search));
   }
   // Another Run() continues.
   auto parts = Search();
   parts.Run(events, 4, Short());
   const auto copy = parts;
   parts.Run(events, 5, Short());
   CHECK(Same(parts, search) && copy.Trials().size() == 4);
   CHECK(parts.BestModel().Predict(events) == search.BestModel().Predict(events));
   auto table = search.Table();
   CHECK(*table.Max("score") == best && *table.Count() == 9 && *table.Mean("fBatchSize") <= 128);
   table.Snapshot("trials", "trials.root");
   TFile file("trials.root");
   CHECK(file.Get<TTree>("trials")->Draw("score:log10(fLearningRate)", "model == 1", "goff") > 0);
   search.Print(3);
}

void CheckFolds()
{
   const auto events = Events("ring");
   const Mlp model({2, 8, 3});
   RandomSearch search(model);
   search.LogUniform("fLearningRate", 1e-3, 3e-2);
   search.Run(events, 3, Short(), 3);
   for (const auto &trial : search.Trials()) {
      const auto folds = model.CrossValidate(events, 3, trial.fOptions);
      double mean = 0, square = 0;
      for (int fold = 0; fold < 3; ++fold) {
         const double accuracy = folds.Evaluate(fold).Accuracy();
         mean += accuracy / 3;
         square += accuracy * accuracy / 3;
      }
      CHECK(Near(trial.fScore, mean, 1e-12) && Near(trial.fScoreError, std::sqrt((square - mean * mean) / 2), 1e-9));
   }
   // Fitted to all events.
   Mlp all({2, 8, 3});
   all.Fit(events, search.BestTrial().fOptions);
   CHECK(search.BestModel().Predict(events) == all.Predict(events));
   auto again = RandomSearch(model).LogUniform("fLearningRate", 1e-3, 3e-2);
   again.Run(events, 3, Short(1), 3);
   CHECK(Same(again, search));
}

/// Metrics of all kinds, and messages about too many or too few of them.
void CheckMetrics()
{
   const auto values = Events("x * x"), noisy = Events("x + y");
   auto options = Short();
   options.fLoss = CladTorch::kMeanSquaredError;
   RandomSearch search(Mlp({2, 8, 1}));
   search.LogUniform("fLearningRate", 1e-4, 1e-1).Run(values, 5, options);
   for (const auto &trial : search.Trials())
      CHECK(trial.fScore >= search.BestTrial().fScore); // the RMSE
   options.fMetrics = {{"loss of the tails", [](const CladTorch::Evaluation &e) { return -e.Rmse(); }}, CladTorch::kRmse};
   RandomSearch own(Mlp({2, 8, 1}));
   own.LogUniform("fLearningRate", 1e-4, 1e-1).Run(values, 5, options);
   CHECK(own.BestTrial().fNumber == search.BestTrial().fNumber && own.BestTrial().fScore == -search.BestTrial().fScore);
   options.fMetrics.clear();
   options.fLoss = CladTorch::kGaussian;
   RandomSearch gaussian(Mlp({2, 8, 2}));
   gaussian.LogUniform("fLearningRate", 1e-4, 1e-1).Run(noisy, 4, options);
   for (const auto &trial : gaussian.Trials())
      CHECK(trial.fScore <= gaussian.BestTrial().fScore && Near(trial.fScore, -trial.fLoss - 0.9189385, 1e-3));
}

void CheckChoices()
{
   const auto events = Events("in", 300);
   RandomSearch search(Mlp({2, 4, 1}));
   search.Choice("fOptimiser", {CladTorch::kAdam, CladTorch::kSGD}).Choice("fShuffle", {false, true});
   search.Run(events, 10, Short()); // of which there are four
   CHECK(search.Trials().size() == 4);
   int sgd = 0;
   for (const auto &trial : search.Trials())
      sgd += trial.fOptions.fOptimiser == CladTorch::kSGD;
   CHECK(sgd == 2);
   RandomSearch losses(Mlp({2, 4, 1}));
   losses.Choice("fLoss", {CladTorch::kAuto, CladTorch::kBinaryCrossEntropy}).Run(events, 2, Short());
   CHECK(losses.Trials()[0].fScore == losses.Trials()[1].fScore);
   Refuses("no combination is left", [&] { search.Run(events, 1, Short()); }, {"all 4 combinations"});
}

/// A fit that diverges does not end the search.
void CheckFailures()
{
   const auto events = Events("in", 300);
   RandomSearch search(Mlp({2, 8, 1}, CladTorch::kReLU));
   auto options = Short();
   options.fOptimiser = CladTorch::kSGD;
   search.Choice("fLearningRate", {0.05, 1e30});
   search.Run(events, 2, options);
   CHECK(search.Trials().size() == 2 && search.BestTrial().fOptions.fLearningRate == 0.05);
   for (const auto &trial : search.Trials())
      CHECK(trial.fError.empty() == (trial.fOptions.fLearningRate < 1) && trial.fError.empty() != bool(std::isnan(trial.fScore)));
   RandomSearch named(Mlp({2, 8, 1}));
   named.Choice("fOptimiser", {CladTorch::kSGD, CladTorch::kAdamW}).Choice("fBatchSize", {64});
   named.Run(events, 2, Short());
   const auto printed = Printed(named);
   CHECK(printed.find("fOptimiser = kSGD, fBatchSize = 64\n") != std::string::npos && printed.find("fOptimiser = kAdamW") != std::string::npos);
   RandomSearch none(Mlp({2, 8, 1}, CladTorch::kReLU));
   none.Choice("fLearningRate", {1e30});
   Refuses("nothing but failures", [&] { none.Run(events, 1, options); }, {"no trial has a score", "fLearningRate"});
   CHECK(none.Trials().size() == 1 && none.Trials().front().fError.find("fLearningRate") != std::string::npos);
}

/// Modules are trained one after the other, and are unchanged afterwards.
void CheckModules()
{
   const auto events = Events("in", 300);
   auto net = torch::nn::Sequential(torch::nn::Linear(2, 4), torch::nn::ReLU(), torch::nn::Linear(4, 1));
   Model module(net, {2});
   const auto before = module.Predict(events);
   RandomSearch search({module, Mlp({2, 4, 1})});
   search.LogUniform("fLearningRate", 1e-3, 1e-1).Run(events, 4, Short());
   CHECK(search.Trials().size() == 4 && module.Predict(events) == before);
   // Trained models start from their state before their first fit.
   Mlp fresh({2, 4, 1}), trained = fresh;
   trained.Fit(events, Short());
   auto first = RandomSearch(fresh).LogUniform("fLearningRate", 1e-3, 1e-1), second = RandomSearch(trained).LogUniform("fLearningRate", 1e-3, 1e-1);
   first.Run(events, 2, Short());
   second.Run(events, 2, Short());
   CHECK(Same(first, second));
}

void CheckRefusals()
{
   const auto events = Events("in", 200);
   RandomSearch search(Mlp({2, 4, 1}));
   Refuses("no models", [] { RandomSearch(std::vector<Model>{}); }, {"no models"});
   Refuses("an unknown option", [&] { search.Uniform("fLearningrate", 0, 1); }, {"fLearningrate", "fLearningRate, "});
   Refuses("an option twice", [&] { search.LogUniform("fL1", 1e-5, 1e-3).Uniform("fL1", 0, 1); }, {"fL1 is drawn already"});
   Refuses("a range the wrong way", [&] { search.Uniform("fMomentum", 0.9, 0.1); }, {"fMomentum from 0.9 to 0.1", "smaller one first"});
   Refuses("part of an integer", [&] { search.Choice("fBatchSize", {0.5}); }, {"fBatchSize = 0.5", "whole"});
   Refuses("the best of none", [&] { search.BestModel(); }, {"call Run()"});
   Refuses("no trials", [&] { search.Run(events, 0, Short()); }, {"0 trials"});
   Refuses("one fold", [&] { search.Run(events, 1, Short(), 1); }, {"1 folds"});
   auto options = Short();
   options.fValidation = 0;
   Refuses("no judges", [&] { search.Run(events, 1, options); }, {"fValidation", "folds"});
   options = Short();
   options.fCheckpoint = "x.ckpt";
   Refuses("a checkpoint", [&] { search.Run(events, 1, options); }, {"fCheckpoint"});
   Refuses("an option out of range", [&] { RandomSearch(Mlp({2, 4, 1})).Uniform("fMomentum", 0, 2).Run(events, 20, Short()); },
           {"fMomentum"});
   Refuses("another width", [&] { RandomSearch(Mlp({3, 4, 1})).Run(events, 1, Short()); }, {"2 numbers an event"});
   options = Short();
   options.fLoss = CladTorch::kQuantile;
   Refuses("quantiles without a metric", [&] { RandomSearch(Mlp({2, 4, 1})).Uniform("fQuantile", 0.1, 0.2).Run(events, 2, options); },
           {"kQuantile", "fMetrics"});
   search.Run(events, 1, Short());
   Refuses("an option after trials", [&] { search.Uniform("fMomentum", 0, 0.9); }, {"before Run()"});
   options = Short();
   options.fMetrics = {CladTorch::kAccuracy};
   Refuses("another metric", [&] { search.Run(events, 1, options); }, {"AUC", "accuracy"});
   options = Short();
   options.fSeed = 2;
   Refuses("another seed", [&] { search.Run(events, 1, options); }, {"fSeed = 1", "with 2"});
   Refuses("other folds", [&] { search.Run(events, 1, Short(), 3); }, {"folds = 0", "with 3"});
   Refuses("other events", [&] { search.Run(Events("in", 100), 1, Short()); }, {"events = 200", "with 100"});
   options = Short();
   options.fValidation = 0.5;
   Refuses("other judges", [&] { search.Run(events, 1, options); }, {"fValidation = 0.2", "with 0.5"});
}

void random_search()
{
   torch::manual_seed(1);
   CheckTrials();
   CheckFolds();
   CheckMetrics();
   CheckChoices();
   CheckFailures();
   CheckModules();
   CheckRefusals();
   Passed();
}
