/// \file watching.C
/// \brief Fits that are watched: figures of each epoch, callbacks, curves on a canvas, and all of that in a fit that resumes.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TCanvas.h>
#include <TROOT.h>
#include <TRandom3.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

using CladTorch::Dataset;
using CladTorch::Epoch;
using CladTorch::Evaluation;
using CladTorch::FitOptions;
using CladTorch::Metric;
using CladTorch::Mlp;

/// Events of two numbers; `in` is 1 inside a circle, `ring` counts 0, 1, 2 outwards.
ROOT::RDF::RNode Frame(int entries)
{
   auto value = [](ULong64_t entry) { return float(TRandom3(entry + 1).Gaus()); };
   auto other = [](ULong64_t entry) { return float(TRandom3(entry + 700001).Gaus()); };
   auto weight = [](ULong64_t entry) { return 0.5f + float(entry % 3); };
   return ROOT::RDataFrame(entries)
      .Define("x", value, {"rdfentry_"})
      .Define("y", other, {"rdfentry_"})
      .Define("w", weight, {"rdfentry_"})
      .Define("in", "int(x * x + y * y < 1)")
      .Define("ring", "int(std::min(2.f, x * x + y * y))");
}

Dataset Events(const CladTorch::Label &label, int entries = 3000)
{
   Dataset events({"x", "y"});
   events.SetWeight("w").Add(Frame(entries), label);
   return events;
}

FitOptions Short(int epochs = 4)
{
   FitOptions options;
   options.fEpochs = epochs;
   options.fVerbose = 0;
   return options;
}

/// With a validation dataset, the figures of the last epoch are those of the model on it.
void CheckFigures(const char *label, int outputs, CladTorch::ELoss loss, const std::vector<CladTorch::EMetric> &metrics,
                  std::function<double(const Evaluation &, CladTorch::EMetric)> expected,
                  const std::vector<double> &classWeights = {})
{
   auto [judges, train] = Events(label).Split(0.3);
   Mlp model({2, 12, std::size_t(outputs)});
   auto options = Short();
   options.fLoss = loss;
   options.fClassWeights = classWeights; // belong to the loss, not to the figures
   for (const auto metric : metrics)
      options.fMetrics.emplace_back(metric);
   options.fMetrics.emplace_back("events", [](const Evaluation &e) { return double(e.Predictions().size()) / double(e.Outputs()); });
   const auto history = model.Fit(train, judges, options);
   const auto evaluation = model.Evaluate(judges);
   CHECK(history.MetricNames().size() == metrics.size() + 1);
   for (const auto metric : metrics) {
      const auto &values = history.Metric(Metric(metric).Name());
      CHECK(values.size() == 4);
      std::printf("%s %g %g\n", Metric(metric).Name().c_str(), values.back(), expected(evaluation, metric));
      CHECK(Near(values.back(), expected(evaluation, metric), 1e-9 * std::fabs(values.back())));
   }
   CHECK(history.Metric("events").back() == double(judges.Rows()));
}

void CheckAllFigures()
{
   const auto ofSignal = [](const Evaluation &e, CladTorch::EMetric metric) {
      return metric == CladTorch::kAuc ? e.Auc() : metric == CladTorch::kAccuracy ? e.Accuracy() : e.BestCut().second;
   };
   const auto ofClasses = [](const Evaluation &e, CladTorch::EMetric metric) {
      return metric == CladTorch::kAccuracy ? e.Accuracy() : (e.Auc(0) + e.Auc(1) + e.Auc(2)) / 3;
   };
   for (const std::vector<double> &weights : {std::vector<double>(), std::vector<double>{1, 20, 0.1}}) {
      const std::vector<double> ofTwo(weights.begin(), weights.begin() + std::min<std::size_t>(2, weights.size()));
      CheckFigures("in", 1, CladTorch::kAuto, {CladTorch::kAuc, CladTorch::kAccuracy, CladTorch::kSignificance}, ofSignal, ofTwo);
      CheckFigures("ring", 3, CladTorch::kAuto, {CladTorch::kAuc, CladTorch::kAccuracy}, ofClasses, weights);
   }
   CheckFigures("x * y", 1, CladTorch::kMeanSquaredError, {CladTorch::kRmse},
                [](const Evaluation &e, CladTorch::EMetric) { return e.Rmse(); });
}

/// The event weights that figures use, for the split, a validation dataset and streams.
void CheckWeights()
{
   auto options = Short(2);
   options.fClassWeights = {1, 20};
   options.fMetrics = {{"largest weight", [](const Evaluation &e) { return *std::max_element(e.Weights().begin(), e.Weights().end()); }}};
   auto [judges, train] = Events("in").Split(0.3);
   Frame(3000).Snapshot("events", "weights.root");
   CladTorch::Dataset columns({"x", "y"});
   columns.SetWeight("w");
   auto stream = columns.Stream();
   stream.Add("events", "weights.root", "in");
   for (const auto &history : {Mlp({2, 12, 1}).Fit(train, options), Mlp({2, 12, 1}).Fit(train, judges, options),
                               Mlp({2, 12, 1}).Fit(stream, options), Mlp({2, 12, 1}).Fit(stream, judges, options)})
      CHECK(history.Metric("largest weight") == std::vector<double>(2, 2.5));
   unlink("weights.root");
}

/// For the split, and for a stream, both judged on the events whose loss is recorded.
void CheckOtherSources()
{
   auto options = Short(3);
   options.fBatchSize = 32;
   options.fLearningRate = 0.02;
   options.fMetrics = {CladTorch::kAccuracy};
   auto always = [](const Evaluation &e) { return -e.Predictions()[0]; };
   options.fMetrics.emplace_back("first", always);
   Mlp model({2, 12, 1});
   const auto history = model.Fit(Events("in"), options);
   CHECK(history.Metric("accuracy").back() > 0.6 && history.Metric("first").back() < 0);
   CladTorch::Stream stream({"x", "y"});
   Frame(3000).Snapshot("events", "watching.root");
   stream.Add("events", "watching.root", "in");
   Mlp other({2, 12, 1});
   const auto streamed = other.Fit(stream, options);
   CHECK(streamed.Metric("accuracy").size() == 3 && streamed.Metric("accuracy").back() > 0.6);
   auto [judges, train] = Events("in").Split(0.3);
   Mlp third({2, 12, 1});
   const auto judged = third.Fit(stream, judges, options);
   CHECK(Near(judged.Metric("accuracy").back(), third.Evaluate(judges).Accuracy(), 1e-12));
   unlink("watching.root");
}

void CheckCallbacks()
{
   const auto events = Events("in");
   auto options = Short(9);
   options.fMetrics = {CladTorch::kAuc};
   std::vector<Epoch> seen;
   options.fCallback = [&](const Epoch &epoch) {
      seen.push_back(epoch);
      return epoch.fNumber == 4;
   };
   Mlp model({2, 12, 1});
   const auto history = model.Fit(events, options);
   CHECK(seen.size() == 4 && history.Epochs() == 4 && !history.Interrupted() && seen[1].fEpochs == 9);
   for (std::size_t i = 0; i < 4; ++i)
      CHECK(seen[i].fNumber == i + 1 && seen[i].fTrainLoss == history.TrainLoss()[i] &&
            seen[i].fValidationLoss == history.ValidationLoss()[i] && seen[i].fLearningRate == history.LearningRate()[i] &&
            seen[i].fMetrics == std::vector<double>{history.Metric("AUC")[i]});
   CHECK(model.Options().fEpochs == 4);

   const std::vector<float> before(model.Parameters().begin(), model.Parameters().end());
   options.fCallback = [](const Epoch &) -> bool { throw std::out_of_range("no such bin"); };
   Refuses("a callback that throws", [&] { model.Fit(events, options); }, {"fCallback threw after epoch 1", "no such bin"});
   options.fCallback = nullptr;
   options.fMetrics = {Metric("mine", [](const Evaluation &) -> double { throw std::out_of_range("empty"); })};
   Refuses("a metric that throws", [&] { model.Fit(events, options); }, {"mine", "epoch 1", "empty"});
   CHECK(before == std::vector<float>(model.Parameters().begin(), model.Parameters().end()));
}

void CheckResume()
{
   const auto events = Events("in");
   const std::string path = "watching.ckpt";
   auto options = Short(6);
   const Metric own("efficiency", [](const Evaluation &e) { return e.Recall(0.5); });
   options.fMetrics = {CladTorch::kAuc, own};
   Mlp whole({2, 12, 1});
   const auto expected = whole.Fit(events, options);
   options.fCheckpoint = path;
   options.fCallback = [](const Epoch &epoch) { return epoch.fNumber == 3; };
   Mlp half({2, 12, 1});
   CHECK(half.Fit(events, options).Epochs() == 3);

   FitOptions resumed;
   resumed.fVerbose = 0;
   Mlp model({2, 12, 1});
   Refuses("a function that no file holds", [&] { model.Resume(events, path, resumed); }, {"efficiency", "fMetrics"});
   resumed.fMetrics = {CladTorch::kAuc};
   Refuses("other metrics", [&] { model.Resume(events, path, resumed); }, {"{AUC}", "{AUC, efficiency}"});
   resumed.fMetrics = options.fMetrics;
   resumed.fBatchSize = 32;
   Refuses("another option", [&] { model.Resume(events, path, resumed); }, {"fBatchSize = 32", "256"});
   resumed.fBatchSize = 256;
   Mlp other({2, 12, 1}, CladTorch::kTanh);
   Refuses("another network of as many parameters", [&] { other.Resume(events, path, resumed); }, {"network"});
   std::size_t calls = 0;
   resumed.fCallback = [&](const Epoch &) { return ++calls == 100; };
   std::ostringstream printed;
   auto *old = std::cout.rdbuf(printed.rdbuf());
   const auto history = model.Resume(events, path, resumed);
   std::cout.rdbuf(old);
   CHECK(calls == 3 && printed.str().empty());
   CHECK(history.ValidationLoss() == expected.ValidationLoss());
   CHECK(history.Metric("AUC") == expected.Metric("AUC") && history.Metric("efficiency") == expected.Metric("efficiency"));
   auto said = resumed;
   said.fVerbose = 2; // 1, the default, would count as not given
   Mlp ended({2, 12, 1});
   old = std::cout.rdbuf(printed.rdbuf());
   CHECK(ended.Resume(events, path, said).Metric("efficiency") == expected.Metric("efficiency"));
   std::cout.rdbuf(old);
   CHECK(calls == 3 && printed.str().find("has reached its last epoch") != std::string::npos);
   Refuses("a checkpoint as a model", [&] { CladTorch::Model::Load(path); }, {"checkpoint", "Resume"});
   unlink(path.c_str());
}

void CheckCanvas()
{
   auto options = Short(3);
   options.fLive = true;
   options.fMetrics = {CladTorch::kAuc};
   Mlp model({2, 12, 1});
   gPad = nullptr;
   const auto history = model.Fit(Events("in"), options);
   CHECK(gPad == nullptr);
   auto *canvas = dynamic_cast<TCanvas *>(gROOT->GetListOfCanvases()->FindObject("cladtorch_live_1"));
   CHECK(canvas && canvas->GetListOfPrimitives()->GetSize() >= 2);
   options.fCallback = [](const Epoch &epoch) {
      if (auto *shown = gROOT->GetListOfCanvases()->FindObject("cladtorch_live_2"))
         delete shown; // the user closes it
      return epoch.fNumber == 3;
   };
   model.Fit(Events("in"), options);
   auto *drawn = history.Draw("AUC");
   CHECK(std::string(drawn->GetTitle()) == "AUC");
   Refuses("a figure that was not recorded", [&] { history.Draw("F1"); }, {"F1", "AUC"});
   history.Print();
}

int gErrors = 0;

/// An exception in a metric is reported once, by the fit.
void CheckMessages()
{
   const auto before = SetErrorHandler([](int level, Bool_t stop, const char *where, const char *what) {
      gErrors += level == kError;
      DefaultErrorHandler(level, stop, where, what);
   });
   auto options = Short(1);
   options.fMetrics = {{"mine", [](const Evaluation &e) { return e.Auc(7); }}};
   Refuses("a metric that throws", [&] { Mlp({2, 4, 1}).Fit(Events("in"), options); }, {"the metric \"mine\"", "no output 7"});
   CHECK(gErrors == 1);
   Refuses("the same alone", [] { Evaluation::Classifier({0, 1}, {0, 1}).Auc(7); }, {"no output 7"});
   CHECK(gErrors == 2);
   SetErrorHandler(before);
}

void CheckMistakes()
{
   const auto events = Events("in");
   Mlp model({2, 12, 1});
   auto fit = [&](std::vector<Metric> metrics, CladTorch::ELoss loss = CladTorch::kAuto, double validation = 0.2) {
      auto options = Short(1);
      options.fMetrics = std::move(metrics);
      options.fLoss = loss;
      options.fValidation = validation;
      model.Fit(events, options);
   };
   Refuses("no validation events", [&] { fit({CladTorch::kAuc}, CladTorch::kAuto, 0); }, {"fMetrics", "validation"});
   Refuses("an AUC of values", [&] { fit({CladTorch::kAuc}, CladTorch::kMeanSquaredError); },
           {"kAuc does not judge a regression", "take one of kRmse, a function"});
   Refuses("an RMSE of scores", [&] { fit({CladTorch::kAuc, CladTorch::kRmse}); },
           {"kRmse does not judge a classifier", "kAuc, kAccuracy, kSignificance"});
   Refuses("a likelihood of values", [&] { fit({CladTorch::kLogLikelihood}, CladTorch::kHuber); }, {"kLogLikelihood", "kRmse"});
   CHECK(model.LastFit().Epochs() == 0); // all before the first epoch
   Refuses("one metric twice", [&] { fit({CladTorch::kAuc, CladTorch::kAuc}); }, {"AUC", "twice"});
   Refuses("a metric without a name", [] { Metric("", [](const Evaluation &) { return 0.; }); }, {"name"});
   Refuses("a metric without a function", [] { Metric("mine", nullptr); }, {"mine", "function"});
   Refuses("an unknown metric", [] { Metric(CladTorch::EMetric(77)); }, {"77"});
   FitOptions options;
   options.fWarmUp = 30;
   Refuses("a warm-up that never ends", [&] { model.Fit(events, options); }, {"fWarmUp = 30", "fEpochs = 20"});
   Refuses("no shuffles", [&] { model.Importance(events, -1); }, {"-1"});
   Refuses("a report that is no PDF", [&] { model.Report("report.png", events); }, {".pdf"});
}

void watching()
{
   gROOT->SetBatch();
   CheckAllFigures();
   CheckWeights();
   CheckOtherSources();
   CheckCallbacks();
   CheckResume();
   CheckCanvas();
   CheckMessages();
   CheckMistakes();
   Passed();
}
