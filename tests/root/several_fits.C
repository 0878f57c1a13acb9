/// \file several_fits.C
/// \brief Cross-validation and ensembles: the same fits as one after the other, for any number of threads.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"
#include "with_clad.h"

#include <TRandom3.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <sstream>

using CladTorch::Dataset;
using CladTorch::Ensemble;
using CladTorch::FitOptions;
using CladTorch::Mlp;
using CladTorch::Model;

ROOT::RDF::RNode Frame(int entries)
{
   auto value = [](ULong64_t entry) { return float(TRandom3(entry + 1).Gaus()); };
   auto other = [](ULong64_t entry) { return float(TRandom3(entry + 700001).Gaus()); };
   return ROOT::RDataFrame(entries)
      .Define("x", value, {"rdfentry_"})
      .Define("y", other, {"rdfentry_"})
      .Define("in", "int(x * x + y * y < 0.4)")
      .Define("ring", "int(std::min(2.f, x * x + y * y))");
}

Dataset Events(const CladTorch::Label &label, int entries = 1501)
{
   return Dataset({"x", "y"}).Add(Frame(entries), label);
}

FitOptions Short(int threads = 0)
{
   FitOptions options;
   options.fEpochs = 3;
   options.fBatchSize = 64;
   options.fVerbose = 0;
   options.fThreads = threads;
   return options;
}

std::vector<float> Numbers(const Model &model)
{
   return {model.Parameters().begin(), model.Parameters().end()};
}

/// All members in one file, which is not mistaken for another kind.
void CheckEnsembleFile()
{
   const auto events = Events("in", 300);
   Ensemble ensemble({Mlp({2, 4, 1}), Mlp({2, 8, 8, 1}, CladTorch::kTanh), Model(torch::nn::Sequential(torch::nn::Linear(2, 1)), {2})});
   ensemble.Fit(events, Short());
   ensemble.Save("ensemble.ct");
   const auto loaded = Ensemble::Load("ensemble.ct");
   CHECK(loaded.Size() == 3 && loaded.Predict(events) == ensemble.Predict(events) && loaded.Spread(events) == ensemble.Spread(events));
   ensemble.Report("ensemble.pdf", events, events);
   Long_t id, flags, modified;
   Long64_t size = 0;
   CHECK(gSystem->GetPathInfo("ensemble.pdf", &id, &size, &flags, &modified) == 0 && size > 10000);
   Refuses("an ensemble as a model", [] { Model::Load("ensemble.ct"); }, {"ensemble of models", "Ensemble::Load"});
   ensemble.Members()[0].Save("member.ct");
   Refuses("a model as an ensemble", [] { Ensemble::Load("member.ct"); }, {"Model::Load"});
   Refuses("no file", [] { Ensemble::Load("nowhere.ct"); }, {"nowhere.ct"});
   Refuses("a report that is no PDF", [&] { ensemble.Report("ensemble.png", events); }, {".pdf"});
   std::string content;
   {
      std::ifstream file("ensemble.ct", std::ios::binary);
      content.assign(std::istreambuf_iterator<char>(file), {});
   }
   for (const auto at : {content.size() / 4, content.size() / 2, content.size() - 3}) {
      auto damaged = content;
      damaged[at] ^= 1;
      std::ofstream("damaged.ct", std::ios::binary) << damaged;
      Refuses("a damaged file", [] { Ensemble::Load("damaged.ct"); }, {"damaged.ct"});
   }
   std::ofstream("cut.ct", std::ios::binary) << content.substr(0, content.size() - 10);
   Refuses("a file that is cut", [] { Ensemble::Load("cut.ct"); }, {"cut.ct"});
}

void CheckFolds()
{
   const auto events = Events("in");
   const Mlp model({2, 16, 1});
   const auto found = model.CrossValidate(events, 4, Short());
   CHECK(found.Folds() == 4 && found.Models().size() == 4 && found.Histories().size() == 4);
   const auto &foldOf = found.FoldOf();
   CHECK(foldOf.size() == events.Rows());
   int signal = 0;
   const auto labels = events.Labels();
   for (std::uint32_t fold = 0; fold < 4; ++fold) {
      int size = 0, in = 0;
      for (std::size_t i = 0; i < foldOf.size(); ++i) {
         size += foldOf[i] == fold;
         in += foldOf[i] == fold && labels.begin()[i] == 1;
      }
      CHECK(size == 375 || size == 376);
      CHECK(fold == 0 || std::abs(in - signal) <= 1); // each class evenly
      signal = in;
      // Out of fold: the predictions of the fold's model.
      const auto predicted = found.Models()[fold].Predict(events);
      bool alike = true;
      for (std::size_t i = 0; i < foldOf.size(); ++i)
         alike &= foldOf[i] != fold || predicted[i] == found.Predictions()[i];
      CHECK(alike);
      CHECK(found.Evaluate(fold).Events() == std::size_t(size));
   }
   CHECK(found.Evaluate().Events() == events.Rows() && found.Evaluate().Auc() > 0.6);
   const auto printed = Printed(found);
   CHECK(printed.find("\n    0  ") != std::string::npos && printed.find("\n    4  ") == std::string::npos);
   auto said = Short();
   said.fVerbose = 1;
   std::ostringstream screen;
   auto *before = std::cout.rdbuf(screen.rdbuf());
   model.CrossValidate(events, 4, said);
   std::cout.rdbuf(before);
   for (int fold = 0; fold < 4; ++fold)
      CHECK(screen.str().find("fold " + std::to_string(fold) + " of 4  ") != std::string::npos);
   // A copy of the model was trained in each fold, from its present state.
   CHECK(Numbers(model) == Numbers(Mlp({2, 16, 1})));
   for (int threads : {1, 2, 3}) {
      const auto again = model.CrossValidate(events, 4, Short(threads));
      CHECK(again.Predictions() == found.Predictions());
      CHECK(again.Histories()[2].ValidationLoss() == found.Histories()[2].ValidationLoss());
   }
   auto other = Short();
   other.fSplitSeed = 5;
   CHECK(model.CrossValidate(events, 4, other).FoldOf() != foldOf);
}

/// A trained model knows the events: folds start from its state before its first fit, and are refused if that is
/// unknown.
void CheckFreshStart()
{
   const auto events = Events("in", 600);
   auto net = torch::nn::Sequential(torch::nn::Linear(2, 8), torch::nn::ReLU(), torch::nn::Linear(8, 1));
   for (const Model &fresh : {Model(Mlp({2, 16, 1})), Model(net, {2})}) {
      const auto expected = fresh.CrossValidate(events, 3, Short()).Predictions();
      auto trained = fresh;
      trained.Fit(events, Short());
      CHECK(trained.CrossValidate(events, 3, Short()).Predictions() == expected);
      trained.Fit(events, Short());
      CHECK(trained.CrossValidate(events, 3, Short()).Predictions() == expected);
      auto fold = trained.CrossValidate(events, 3, Short()).Models()[0];
      CHECK(fold.CrossValidate(events, 3, Short()).Predictions() == expected);
      // Parameters given by the user are a starting point.
      const auto numbers = Numbers(trained);
      trained.SetParameters(numbers);
      CHECK(trained.CrossValidate(events, 3, Short()).Predictions() != expected);
   }
   Mlp trained({2, 16, 1});
   const auto expected = trained.CrossValidate(events, 3, Short()).Predictions();
   trained.Save("untrained.ct");
   CHECK(Mlp::Load("untrained.ct").CrossValidate(events, 3, Short()).Predictions() == expected);
   trained.Fit(events, Short());
   trained.Save("trained.ct");
   const auto loaded = Mlp::Load("trained.ct");
   Refuses("folds of a trained file", [&] { loaded.CrossValidate(events, 3, Short()); }, {"file", "trained", "SetParameters"});
}

/// The best epoch is restored in fits side by side as in a fit alone.
void CheckRestored()
{
   const auto events = Events("in", 600);
   auto options = Short();
   options.fEpochs = 40;
   options.fLearningRate = 0.05;
   options.fPatience = 3;
   const auto folds = Mlp({2, 16, 1}).CrossValidate(events, 3, options);
   Ensemble ensemble({Mlp({2, 16, 1}), Mlp({2, 8, 1})});
   auto histories = ensemble.Fit(events, options);
   histories.insert(histories.end(), folds.Histories().begin(), folds.Histories().end());
   for (const auto &model : ensemble.Members())
      histories.push_back(model.LastFit());
   for (const auto &history : histories)
      CHECK(history.RestoredEpoch() > 0 && history.RestoredEpoch() == history.BestEpoch());
}

/// A class with few events: in every fold's validation events, or named before anything is trained.
void CheckRareClass()
{
   auto frame = Frame(600).Define("rare", "int(rdfentry_ % 60 == 7)"); // 10 events
   auto options = Short(1);
   options.fMetrics = {CladTorch::kAuc, CladTorch::kSignificance};
   const auto found = Mlp({2, 4, 1}).CrossValidate(Dataset({"x", "y"}).Add(frame, "rare"), 5, options);
   for (const auto &history : found.Histories())
      CHECK(history.Metric("AUC").size() == 3);
   options.fEpochs = 1000000000; // not before
   auto few = Frame(600).Define("rare", "int(rdfentry_ % 300 == 7)");
   const auto events = Dataset({"x", "y"}).Add(few, "rare");
   for (const auto metric : {CladTorch::kAuc, CladTorch::kSignificance}) {
      options.fMetrics = {metric};
      Refuses("a fold without signal", [&] { Mlp({2, 4, 1}).CrossValidate(events, 2, options); }, {"fold 0", "label 1", "fMetrics"});
      Refuses("a fold without a class", [&] { Mlp({2, 4, 3}).CrossValidate(events, 2, options); }, {"fold 0", "label", "fMetrics"});
   }
   options = Short(1);
   options.fMetrics = {CladTorch::kAccuracy};
   CHECK(Mlp({2, 4, 1}).CrossValidate(events, 2, options).Folds() == 2);
   // Two of five folds have signal, and an AUC.
   const auto scarce = Mlp({2, 4, 1}).CrossValidate(events, 5, Short(1));
   const auto printed = Printed(scarce);
   std::vector<double> areas;
   for (std::size_t fold = 0; fold < 5; ++fold) {
      const auto evaluation = scarce.Evaluate(fold);
      const auto labels = evaluation.Labels();
      const bool has = std::find(labels.begin(), labels.end(), 1.f) != labels.end();
      if (has)
         areas.push_back(evaluation.Auc());
      CHECK((printed.find("no AUC of fold " + std::to_string(fold) + ": ") != std::string::npos) == !has);
   }
   CHECK(areas.size() == 2);
   CHECK(printed.find(TString::Format("AUC %.5f +- %.5f over the folds", (areas[0] + areas[1]) / 2, std::fabs(areas[0] - areas[1]) / 2).Data()) != std::string::npos);
   if (!HasClad("a loss of several outputs"))
      return;
   // Labels that cannot judge: also reported before the fits.
   options.fMetrics = {CladTorch::kRmse};
   options.fEpochs = 1000000000;
   options.fLossFunction = "double loss(const double *outputs, double label) { return (outputs[0] - label) * (outputs[0] - label); }";
   const auto judged = [&](const auto &fit) { Refuses("two outputs for one label", fit, {"1 label", "2 outputs"}); };
   judged([&] { Mlp({2, 4, 2}).CrossValidate(events, 2, options); });
   judged([&] { Mlp({2, 4, 2}).Fit(events, options); });
   judged([&] { Ensemble({Mlp({2, 4, 2}), Mlp({2, 4, 2})}).Fit(events, options); });
}

/// Members that predict different quantities have no mean.
void CheckMeanings()
{
   auto frame = Frame(200);
   auto trained = [&](const CladTorch::Label &label, const FitOptions &options) {
      Mlp model({2, 4, 1});
      model.Fit(Dataset({"x", "y"}).Add(frame, label), options);
      return Model(model);
   };
   auto options = Short(1);
   auto kinds = std::vector<Model>{trained("in", options)};
   options.fLoss = CladTorch::kMeanSquaredError;
   for (const char *label : {"x * y", "x + y"})
      kinds.push_back(trained(label, options));
   options.fLoss = CladTorch::kQuantile;
   for (const double quantile : {0.1, 0.9}) {
      options.fQuantile = quantile;
      kinds.push_back(trained("x * y", options));
   }
   const auto events = Events("in", 200);
   for (std::size_t i = 0; i < kinds.size(); ++i) {
      CHECK(Ensemble({kinds[i], kinds[i]}).Predict(events).size() == 200);
      for (std::size_t j = 0; j < kinds.size(); ++j)
         if (i != j)
            Refuses("members of two kinds", [&] { Ensemble({kinds[i], kinds[j]}); }, {"member 1 predicts", "member 0"});
      Ensemble half({kinds[i], Mlp({2, 4, 1})});
      Refuses("a member that was not trained", [&] { half.Predict(events); }, {"member 1 predicts nothing yet"});
   }
   // Differences that do not change what is predicted.
   options = Short(1);
   options.fLoss = CladTorch::kFocal;
   CHECK(Ensemble({kinds[0], trained("in", options)}).Predict(events).size() == 200);
}

/// A fold's model is that of a fit to the other folds: labels of its own events do not matter.
void CheckNothingLeaks()
{
   auto frame = Frame(600);
   Mlp model({2, 8, 1});
   auto options = Short();
   options.fLoss = CladTorch::kMeanSquaredError;
   const auto found = model.CrossValidate(Dataset({"x", "y"}).Add(frame, "x * y"), 3, options);
   const auto foldOf = found.FoldOf();
   auto changed = frame.Define("spoilt", [foldOf](ULong64_t i, float x, float y) { return foldOf[i] == 1 ? 1e3 : double(x * y); },
                               {"rdfentry_", "x", "y"});
   const auto spoilt = model.CrossValidate(Dataset({"x", "y"}).Add(changed, "spoilt"), 3, options);
   CHECK(spoilt.FoldOf() == foldOf);
   CHECK(Numbers(spoilt.Models()[1]) == Numbers(found.Models()[1]));
   CHECK(Numbers(spoilt.Models()[0]) != Numbers(found.Models()[0]));
}

void CheckKinds()
{
   Mlp classes({2, 16, 3});
   auto options = Short();
   options.fMetrics = {CladTorch::kAccuracy};
   const auto found = classes.CrossValidate(Events("ring"), 3, options);
   CHECK(found.Predictions().size() == 3 * found.FoldOf().size() && found.Histories()[0].Metric("accuracy").size() == 3);
   CHECK(Near(found.Predictions()[0] + found.Predictions()[1] + found.Predictions()[2], 1, 1e-5));
   found.Print();
   Mlp targets({2, 16, 2});
   const auto values = targets.CrossValidate(Dataset({"x", "y"}).Add(Frame(900), {"x * y", "100 + 10 * x"}), 3, Short());
   CHECK(values.Evaluate().Rmse(1) < 30);
   values.Print();
   // A module, by kernels and by LibTorch: it keeps its parameters.
   auto net = torch::nn::Sequential(torch::nn::Linear(2, 8), torch::nn::ReLU(), torch::nn::Linear(8, 1));
   Model module(net, {2});
   const auto before = net->parameters()[0].clone();
   auto autograd = Short();
   autograd.fGradient = CladTorch::kAutograd;
   const auto byKernels = module.CrossValidate(Events("in", 600), 3, Short());
   const auto byLibTorch = module.CrossValidate(Events("in", 600), 3, autograd);
   CHECK(torch::equal(before, net->parameters()[0]));
   CHECK(Near(byKernels.Evaluate().Auc(), byLibTorch.Evaluate().Auc(), 2e-3));
   // Figures that are functions run in the caller's thread.
   auto own = Short();
   own.fMetrics = {{"events", [](const CladTorch::Evaluation &e) { return double(e.Events()); }}};
   CHECK(classes.CrossValidate(Events("ring"), 3, own).Histories()[1].Metric("events")[0] > 0);
}

void CheckEnsemble()
{
   const auto events = Events("in");
   std::vector<Model> members;
   for (std::uint64_t seed = 1; seed <= 3; ++seed)
      members.push_back(Mlp({2, 8 * seed, 1}, CladTorch::kReLU, CladTorch::kUniform, seed));
   Ensemble ensemble(members);
   const auto histories = ensemble.Fit(events, Short());
   CHECK(ensemble.Size() == 3 && histories.size() == 3);
   // Each as if it had been trained alone.
   for (std::size_t i = 0; i < 3; ++i) {
      auto options = Short();
      options.fSeed = 1 + i;
      options.fSplitSeed = 1;
      auto alone = members[i];
      CHECK(alone.Fit(events, options).ValidationLoss() == histories[i].ValidationLoss());
      CHECK(Numbers(alone) == Numbers(ensemble.Members()[i]));
   }
   const auto mean = ensemble.Predict(events), spread = ensemble.Spread(events);
   std::vector<std::vector<float>> each;
   for (const auto &member : ensemble.Members())
      each.push_back(member.Predict(events));
   for (std::size_t i : {0, 7, 1500}) {
      const double m = (double(each[0][i]) + each[1][i] + each[2][i]) / 3;
      double variance = 0;
      for (const auto &predictions : each)
         variance += std::pow(predictions[i] - m, 2) / 2;
      CHECK(Near(mean[i], m, 1e-6) && Near(spread[i], std::sqrt(variance), 1e-6));
   }
   CHECK(Near(ensemble.Evaluate(events).Auc(), CladTorch::Evaluation::Classifier(mean, {events.Labels().begin(), events.Labels().end()}).Auc(), 1e-12));
   auto scored = ensemble.Define(Frame(1501), "score");
   auto column = scored.Take<float>("score");
   CHECK(Near((*column)[7], mean[7], 1e-6) && scored.HasColumn("score_2"));
   Mlp other({2, 8, 3});
   Ensemble classes({other, Mlp({2, 4, 3})});
   classes.Fit(Events("ring"), Short());
   CHECK((*classes.Define(Frame(50), "p").Take<ROOT::RVecF>("p"))[3].size() == 3);
}

void CheckMistakes()
{
   const auto events = Events("in", 100);
   Mlp model({2, 4, 1});
   Refuses("one fold", [&] { model.CrossValidate(events, 1); }, {"1 folds", "2"});
   Refuses("a negative number of folds", [&] { model.CrossValidate(events, -3); }, {"folds"});
   Refuses("more folds than events", [&] { model.CrossValidate(events, 101); }, {"101 folds", "100 events"});
   auto options = Short();
   options.fCheckpoint = "several.ckpt";
   Refuses("one checkpoint of several fits", [&] { model.CrossValidate(events, 3, options); }, {"fCheckpoint"});
   options.fCheckpoint = "";
   options.fCallback = [](const CladTorch::Epoch &) { return true; };
   Ensemble ensemble({model, model});
   Refuses("one callback of several fits", [&] { ensemble.Fit(events, options); }, {"fCallback"});
   Refuses("no members", [] { Ensemble none({}); }, {"no models"});
   Refuses("members that differ", [&] { Ensemble differing({model, Mlp({3, 4, 1})}); }, {"member 1", "3"});
   options = Short();
   options.fLearningRate = 1e30;
   const auto before = Numbers(ensemble.Members()[0]);
   Refuses("a fit that diverges", [&] { ensemble.Fit(events, options); }, {"fLearningRate"});
   CHECK(Numbers(ensemble.Members()[0]) == before);
   const auto found = model.CrossValidate(events, 3, Short());
   Refuses("a fold that is not there", [&] { found.Evaluate(3); }, {"3"});
}

void several_fits()
{
   torch::manual_seed(1);
   CheckFolds();
   CheckNothingLeaks();
   CheckFreshStart();
   CheckRestored();
   CheckRareClass();
   CheckMeanings();
   CheckKinds();
   CheckEnsemble();
   CheckMistakes();
   CheckEnsembleFile();
   Passed();
}
