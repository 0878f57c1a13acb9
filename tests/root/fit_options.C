/// \file fit_options.C
/// \brief Options of fits as users write them: early stopping, a dataset for validation, checkpoints, mistakes.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TRandom3.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <sstream>
#include <thread>
#include <unistd.h>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Mlp;

Dataset Events(int entries, UInt_t seed)
{
   ROOT::RDataFrame frame(entries);
   auto value = [seed](ULong64_t entry) { return float(TRandom3(seed * 100003 + entry + 1).Gaus()); };
   auto other = [seed](ULong64_t entry) { return float(TRandom3(seed * 700001 + entry + 7).Gaus()); };
   auto label = [](float x, float y) { return int(x * y > 0); };
   auto events = frame.Define("x", value, {"rdfentry_"}).Define("y", other, {"rdfentry_"}).Define("in", label, {"x", "y"});
   return Dataset({"x", "y"}).Add(events, "in");
}

std::vector<float> Numbers(const Mlp &model)
{
   const auto view = model.Parameters();
   return {view.begin(), view.end()};
}

void CheckStopping(const Dataset &train, const Dataset &judges)
{
   FitOptions options;
   options.fEpochs = 300;
   options.fBatchSize = 16;
   options.fLearningRate = 0.03;
   options.fSchedule = CladTorch::kConstant;
   options.fPatience = 6;
   Mlp model({2, 64, 64, 1});
   const auto history = model.Fit(train, judges, options);
   CHECK(history.Epochs() < 300 && history.Epochs() == history.BestEpoch() + 6);
   CHECK(history.RestoredEpoch() == history.BestEpoch() && history.LearningRate().size() == history.Epochs());
   CHECK(history.LearningRate().back() == 0.03 && !history.Interrupted());
   options.fEpochs = int(history.BestEpoch());
   options.fPatience = 0;
   Mlp same({2, 64, 64, 1});
   CHECK(same.Fit(train, judges, options).RestoredEpoch() == 0);
   CHECK(Numbers(model) == Numbers(same));
   CHECK(model.Options().fPatience == 6 && model.Options().fValidation == 0);
   history.Print();
}

void CheckLosses(const Dataset &train)
{
   for (auto loss : {CladTorch::kBinaryCrossEntropy, CladTorch::kFocal, CladTorch::kQuantile}) {
      FitOptions options;
      options.fLoss = loss;
      options.fEpochs = 2;
      options.fWarmUp = 0.5;
      options.fClipNorm = 1;
      options.fL1 = 1e-5;
      options.fSplitSeed = 5;
      if (loss != CladTorch::kQuantile)
         options.fClassWeights = {1, 2};
      Mlp model({2, 8, 1});
      const auto history = model.Fit(train, options);
      CHECK(history.Epochs() == 2 && history.TrainLoss()[1] < history.TrainLoss()[0]);
      model.Save("model.ct");
      const auto read = Mlp::Load("model.ct").Options();
      CHECK(read.fLoss == loss && read.fClipNorm == 1 && read.fWarmUp == 0.5 && read.fSplitSeed == 5);
      CHECK(read.fClassWeights == options.fClassWeights);
   }
}

/// A resumed fit prints as much as before, unless told otherwise.
void CheckVerbosity(const Dataset &train, const Dataset &judges, FitOptions options)
{
   FitOptions loud;
   loud.fVerbose = 2;
   const auto printed = [&](const FitOptions &resumed) {
      Mlp model({2, 16, 1});
      std::ostringstream text;
      auto *screen = std::cout.rdbuf(text.rdbuf());
      model.Resume(train, judges, "run.ckpt", resumed);
      std::cout.rdbuf(screen);
      return text.str();
   };
   for (const int verbose : {0, 1}) {
      options.fVerbose = verbose;
      Mlp model({2, 16, 1});
      model.Fit(train, judges, options);
      CHECK(printed(FitOptions()).empty() == (verbose == 0));
      CHECK(!printed(loud).empty() && model.Options().fVerbose == 1);
   }
}

void CheckResume(const Dataset &train, const Dataset &judges)
{
   FitOptions options;
   options.fEpochs = 6;
   options.fCheckpoint = "run.ckpt";
   options.fCheckpointEpochs = 4; // after the fourth, and at the end
   options.fVerbose = 0;
   Mlp whole({2, 16, 1});
   const auto history = whole.Fit(train, judges, options);
   // For a finished fit: its model.
   for (const bool early : {false, true}) {
      Mlp ended({2, 16, 1}), again({2, 16, 1}, CladTorch::kReLU, CladTorch::kUniform, 77);
      auto finite = options;
      if (early) {
         finite.fEpochs = 1000;
         finite.fPatience = 2;
      }
      const auto before = ended.Fit(train, judges, finite), after = again.Resume(train, judges, "run.ckpt");
      CHECK(Numbers(again) == Numbers(ended) && after.ValidationLoss() == before.ValidationLoss());
      CHECK(after.RestoredEpoch() == before.RestoredEpoch() && (early ? after.RestoredEpoch() > 0 : after.Epochs() == 6));
      CHECK(again.Options().fEpochs == ended.Options().fEpochs && again.LastFit().Epochs() == before.Epochs());
   }
   CheckVerbosity(train, judges, options);
   whole.Fit(train, judges, options);
   CHECK(whole.Options().fCheckpoint.empty());
   Mlp stopped({2, 16, 1});
   options.fEpochs = 1;
   stopped.Fit(train, judges, options);
   Refuses("no validation", [&] { stopped.Resume(train, "run.ckpt"); }, {"run.ckpt", "validation"});
   Refuses("no file", [&] { whole.Resume(train, "nowhere.ckpt"); }, {"nowhere.ckpt"});
   Refuses("no path", [&] { whole.Resume(train, ""); }, {"empty"});
   Refuses("a model file", [&] { whole.Save("model.ct"), whole.Resume(train, "model.ct"); }, {"model.ct", "checkpoint"});
}

/// Presses Ctrl-C in the middle of a fit and resumes with a model of other weights.
void CheckInterrupted(const Dataset &train)
{
   FitOptions options;
   options.fEpochs = 5000;
   options.fVerbose = 0;
   Mlp whole({2, 16, 1});
   const auto history = whole.Fit(train, options);
   options.fCheckpoint = "stopped.ckpt";
   options.fCheckpointEpochs = 100;
   Mlp stopped({2, 16, 1});
   std::thread user([] {
      while (gSystem->AccessPathName("stopped.ckpt"))
         std::this_thread::sleep_for(std::chrono::milliseconds(1));
      kill(getpid(), SIGINT);
   });
   try {
      stopped.Fit(train, options);
   } catch (const CladTorch::Error &) {
   }
   user.join();
   const auto before = stopped.LastFit().Epochs();
   CHECK(stopped.LastFit().Interrupted() && before < 5000);
   Mlp other({2, 16, 1}, CladTorch::kReLU, CladTorch::kUniform, 77);
   const auto again = other.Resume(train, "stopped.ckpt");
   CHECK(again.Epochs() == 5000 && Numbers(other) == Numbers(whole));
   CHECK(again.TrainLoss() == history.TrainLoss() && again.ValidationLoss() == history.ValidationLoss());
   std::printf("interrupted after epoch %zu\n", before);
}

/// For a stream, a validation dataset and the split alike: as if the column contained the effective weights.
void CheckNegativeWeights()
{
   auto frame = ROOT::RDataFrame(2000)
                   .Define("x", "float(sin(rdfentry_))")
                   .Define("y", "float(cos(3 * rdfentry_))")
                   .Define("in", "int(x * y > 0)")
                   .Define("w", "rdfentry_ % 7 ? 1.f : -0.5f")
                   .Define("a", "std::abs(w)");
   frame.Snapshot("events", "negative.root");
   const auto events = [](const char *weight) {
      Dataset data({"x", "y"});
      data.SetWeight(weight).Add("events", "negative.root", "in");
      return data;
   };
   FitOptions plain;
   plain.fEpochs = 2;
   plain.fVerbose = 0;
   auto absolute = plain;
   absolute.fNegativeWeights = CladTorch::kAbsoluteWeights;
   const auto fitted = [](const auto &fit) {
      Mlp model({2, 8, 1});
      fit(model);
      return Numbers(model);
   };
   const auto streamed = [&](const char *weight, const FitOptions &options) {
      Dataset columns({"x", "y"});
      columns.SetWeight(weight);
      auto stream = columns.Stream();
      stream.Add("events", "negative.root", "in");
      return fitted([&](Mlp &model) { model.Fit(stream, options); });
   };
   CHECK(streamed("w", absolute) == streamed("a", plain) && streamed("w", absolute) != streamed("w", plain));
   const auto signedOnes = events("w"), all = events("a");
   CHECK(fitted([&](Mlp &model) { model.Fit(signedOnes, absolute); }) == fitted([&](Mlp &model) { model.Fit(all, plain); }));
   Mlp one({2, 8, 1}), other({2, 8, 1});
   CHECK(one.Fit(signedOnes, signedOnes, absolute).ValidationLoss() == other.Fit(all, all, plain).ValidationLoss());
   one.Save("negative.ct");
   CHECK(Mlp::Load("negative.ct").Options().fNegativeWeights == CladTorch::kAbsoluteWeights);
}

/// Products in bfloat16: a different fit, equally good, whose record says so.
void CheckPrecision(const Dataset &train)
{
   FitOptions options;
   options.fEpochs = 30;
   options.fVerbose = 0;
   Mlp exact({2, 32, 32, 1}), rounded({2, 32, 32, 1});
   const auto expected = exact.Fit(train, options);
   options.fPrecision = CladTorch::kBF16;
   options.fGradient = CladTorch::kAutograd;
   Refuses("autograd", [&] { rounded.Fit(train, options); }, {"fPrecision = kBF16", "autograd"});
   options.fGradient = CladTorch::kClad;
   options.fPrecision = CladTorch::kTF32;
   Refuses("TF32 on the CPU", [&] { rounded.Fit(train, options); }, {"fPrecision = kTF32", "GPU"});
   options.fPrecision = CladTorch::kTF32x3;
   Refuses("TF32x3 on the CPU", [&] { rounded.Fit(train, options); }, {"fPrecision = kTF32x3", "GPU"});
   options.fPrecision = CladTorch::kBF16;
   try {
      const auto history = rounded.Fit(train, options);
      CHECK(Numbers(rounded) != Numbers(exact));
      CHECK(history.TrainLoss().back() < 1.2 * expected.TrainLoss().back() + 0.01);
      rounded.Save("rounded.ct");
      CHECK(Mlp::Load("rounded.ct").Options().fPrecision == CladTorch::kBF16);
      Mlp linear({2, 1});
      Refuses("one output", [&] { linear.Fit(train, options); }, {"fPrecision = kBF16", "no layer"});
   } catch (const CladTorch::Error &error) {
      CHECK(std::string(error.what()).find("AVX512-BF16") != std::string::npos);
      std::printf("NOT TESTED: products in bfloat16: %s\n", error.what());
   }
}

void CheckMistakes(const Dataset &train, const Dataset &judges)
{
   Mlp model({2, 8, 1});
   const auto refuses = [&](auto change, std::initializer_list<const char *> parts) {
      FitOptions options;
      change(options);
      Refuses(*parts.begin(), [&] { model.Fit(train, options); }, parts);
   };
   refuses([](FitOptions &o) { o.fPatience = -1; }, {"fPatience", "-1"});
   refuses([](FitOptions &o) { o.fPatience = 3, o.fValidation = 0; }, {"fPatience", "validation"});
   refuses([](FitOptions &o) { o.fClassWeights = {1}; }, {"fClassWeights", "2 classes"});
   refuses([](FitOptions &o) { o.fCheckpoint = "/proc/none/x.ckpt", o.fVerbose = 0; }, {"/proc/none"});
   Refuses("other columns", [&] { model.Fit(train, Dataset({"x", "z"})); }, {"validation dataset"});
}

void fit_options()
{
   const auto train = Events(300, 1), judges = Events(500, 2);
   CheckStopping(train, judges);
   CheckLosses(train);
   CheckResume(train, judges);
   CheckInterrupted(train);
   CheckNegativeWeights();
   CheckPrecision(train);
   CheckMistakes(train, judges);
   Passed();
}
