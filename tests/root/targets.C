/// \file targets.C
/// \brief Several targets: read by both readers, from frames and streams, learned, predicted and refused.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Label;
using CladTorch::Mlp;
using CladTorch::Stream;

constexpr int kRows = 6000;

/// Entries of x and y, and targets of several types; `a` is NaN in entry `bad`.
void WriteFile(const char *name, int first, int entries, int bad = -1)
{
   TFile file(name, "recreate");
   TTree tree("t", "");
   tree.SetAutoFlush(700);
   float x = 0, y = 0, w = 0;
   double a = 0;
   int b = 0;
   tree.Branch("x", &x);
   tree.Branch("y", &y);
   tree.Branch("w", &w);
   tree.Branch("a", &a);
   tree.Branch("b", &b);
   for (int i = first; i < first + entries; ++i) {
      x = (i * 7919 % 1000) / 500.f - 1;
      y = (i * 104729 % 997) / 500.f - 1;
      w = 0.5f + i % 3;
      a = i == bad ? std::numeric_limits<double>::quiet_NaN() : x + 0.5 * y * y;
      b = i;
      tree.Fill();
   }
   tree.Write();
}

void Write()
{
   WriteFile("t0.root", 0, 3500);
   WriteFile("t1.root", 3500, kRows - 3500);
   WriteFile("bad.root", 0, 900, 811);
}

bool SameBits(const CladTorch::FloatView &a, const CladTorch::FloatView &b)
{
   return a.Rows() == b.Rows() && a.Columns() == b.Columns() && std::equal(a.begin(), a.end(), b.begin());
}

bool Same(const Dataset &a, const Dataset &b)
{
   return SameBits(a.Features(), b.Features()) && SameBits(a.Labels(), b.Labels()) && SameBits(a.Weights(), b.Weights()) &&
          a.Targets() == b.Targets();
}

/// Whether each label of `data` is the result of `functions` for its event's number, which is the first feature.
bool HasTargets(const Dataset &data, const std::vector<std::function<double(int)>> &functions)
{
   const auto labels = data.Labels();
   bool holds = data.Rows() > 0 && labels.Columns() == functions.size() && labels.Rows() == data.Rows();
   for (std::size_t row = 0; holds && row < data.Rows(); ++row)
      for (std::size_t target = 0; target < functions.size(); ++target)
         holds = holds && labels(row, target) == static_cast<float>(functions[target](data.Features()(row, 0)));
   return holds;
}

/// Every list of targets: plain branches for the fast reader, expressions for ROOT's, and both in one row.
void CheckReaders()
{
   const std::vector<std::vector<std::string>> lists{
      {"a"}, {"a", "b"}, {"b", "a", "w"}, {"a", "2 * x"}, {"x * y", "b", "y - x", "a"}, {"y", "x"}};
   for (const auto &list : lists)
      for (const char *cut : {"", "x > 0.25"}) {
         const auto read = [&](CladTorch::EReader reader) {
            return Dataset({"b", "x"}).SetWeight("w").SetReader(reader).Add("t", "t*.root", list, cut);
         };
         const auto reference = read(CladTorch::kRootReader);
         CHECK(reference.Rows() > 1000 && reference.Rows() <= kRows && reference.Targets() == list);
         CHECK(reference.Labels().Rank() == (list.size() > 1 ? 2 : 1));
         CHECK(Same(read(CladTorch::kAutoReader), reference));
         ROOT::RDataFrame frame("t", "t*.root");
         CHECK(Same(Dataset({"b", "x"}).SetWeight("w").Add(frame, list, cut), reference));
      }
   CHECK(Same(Dataset({"x"}).SetReader(CladTorch::kFastReader).Add("t", "t*.root", {"b", "a"}),
              Dataset({"x"}).Add("t", "t*.root", {"b", "a"})));
}

/// The meaning of a list in braces, in every place that allows one.
void CheckSpelling()
{
   const std::vector<std::function<double(int)>> both{[](int i) { return i; }, [](int i) { return 2. * i; }};
   const std::string tree = "t", first = "b", second = "2 * b";
   TFile file("t0.root");
   auto *t = file.Get<TTree>("t");
   ROOT::RDataFrame frame("t", "t0.root");
   const auto small = [](int b) { return b < 900; };
   CHECK(HasTargets(Dataset({"b"}).Add("t", "t0.root", {"b", "2 * b"}), both));
   CHECK(HasTargets(Dataset({"b"}).Add(tree, "t0.root", {first, second}, "b > 5"), both));
   CHECK(HasTargets(Dataset({"b"}).Add({"t", "t0.root"}, {"b", "2 * b"}), both));
   CHECK(HasTargets(Dataset({"b"}).Add({"t", "t0.root"}, {"b", "2 * b"}, small, {"b"}), both));
   CHECK(HasTargets(Dataset({"b"}).Add(frame, {"b", "2 * b"}), both));
   CHECK(HasTargets(Dataset({"b"}).Add(t, {"b", "2 * b"}, "b > 5"), both));
   CHECK(HasTargets(Dataset({"b"}).Add(frame, {"b", "2 * b"}, small, {"b"}), both));
   CHECK(HasTargets(Dataset({"b"}).Add(frame.Define("twice", "2 * b"), Label{"b", "twice"}), both));
   CHECK(HasTargets(Dataset({"b"}).Add(frame.Alias("twice", "x").Define("d", "2 * b"), {"b", "d"}), both));
   const std::vector<std::function<double(int)>> one{[](int i) { return i; }}, zero{[](int) { return 0; }};
   CHECK(HasTargets(Dataset({"b"}).Add("t", "t0.root", {"b"}), one) && HasTargets(Dataset({"b"}).Add(frame, "b"), one));
   CHECK(HasTargets(Dataset({"b"}).Add(frame, 0), zero) && HasTargets(Dataset({"b"}).Add("t", "t0.root", 0), zero));
   CHECK(HasTargets(Dataset({"b"}).Add(frame, 0., "b > 5"), zero) && HasTargets(Dataset({"b"}).Add(t, false), zero));
   CHECK(HasTargets(Dataset({"b"}).Add(frame, 0u, small, {"b"}), zero));
}

void CheckTables()
{
   auto data = Dataset({"b"}).Add("t", "t0.root", {"b", "b + 0.5"});
   const std::vector<std::function<double(int)>> both{[](int i) { return i; }, [](int i) { return i + 0.5; }};
   data.Add(ROOT::RDataFrame("t", "t1.root"), {"b", "b + 0.5"});
   CHECK(data.Rows() == kRows && HasTargets(data, both));
   const auto parts = data.Split(0.3, 7);
   CHECK(HasTargets(parts.first, both) && HasTargets(parts.second, both));
   CHECK(parts.first.Rows() + parts.second.Rows() == kRows && parts.second.Targets() == data.Targets());
   auto copy = data;
   copy.Add("t", "t0.root", {"b", "b + 0.5"});
   CHECK(data.Rows() == kRows && copy.Rows() == kRows + 3500 && HasTargets(copy, both));
   CHECK(Dataset({"x"}).Add("t", "t0.root", "a").Targets() == std::vector<std::string>{"a"});
   CHECK(Dataset({"x"}).Add("t", "t0.root", "a").Add("t", "t1.root", "b").Targets().empty());
   CHECK(Dataset({"x"}).Add("t", "t0.root", 1).Targets().empty() && Dataset({"x"}).Targets().empty());
   data.Print();
}

FitOptions Options()
{
   FitOptions options;
   options.fEpochs = 6;
   options.fLearningRate = 3e-3;
   options.fBatchSize = 100;
   options.fVerbose = 0;
   return options;
}

/// Every event of a stream, with its number as the first feature, against a dataset of the same events.
void CheckStream(const Stream &stream, const Dataset &data)
{
   CHECK(stream.Targets() == data.Targets());
   std::map<float, std::vector<float>> expected;
   const auto labels = data.Labels();
   for (std::size_t row = 0; row < data.Rows(); ++row)
      for (std::size_t target = 0; target < labels.Columns(); ++target)
         expected[data.Features()(row, 0)].push_back(labels(row, target));
   bool same = true;
   std::size_t seen = 0;
   for (const auto part : {CladTorch::kTraining, CladTorch::kValidation}) {
      auto batches = stream.Batches(Options(), 1, part);
      while (batches.Next()) {
         const auto batch = batches.Labels();
         same = same && batch.Rows() == batches.Rows() && batch.Rank() == 2 && batch.Columns() == labels.Columns();
         for (std::size_t row = 0; same && row < batch.Rows(); ++row, ++seen) {
            const auto *first = batch.Data() + row * batch.Columns();
            same = expected[batches.Features()(row, 0)] == std::vector<float>(first, first + batch.Columns());
         }
      }
   }
   CHECK(same && seen == data.Rows());
}

void CheckStreams()
{
   const auto make = [] { return Dataset({"b", "x", "y"}).SetWeight("w").Stream(); };
   const auto read = [] { return Dataset({"b", "x", "y"}).SetWeight("w"); };
   CheckStream(make().Add("t", "t*.root", {"a", "b", "w"}).SetWindow(1500), read().Add("t", "t*.root", {"a", "b", "w"}));
   CheckStream(make().Add("t", "t0.root", {"a", "x * y"}, "x > 0").Add("t", "t1.root", {"a", "x * y"}).SetWindow(900),
               read().Add("t", "t0.root", {"a", "x * y"}, "x > 0").Add("t", "t1.root", {"a", "x * y"}));
   auto stream = Stream({"x", "y"}).Add("t", "t*.root", {"a", "x * y"});
   Mlp model({2, 24, 24, 2}, CladTorch::kSiLU);
   const auto history = model.Fit(stream, Options());
   CHECK(history.ValidationLoss().back() < 0.3 * history.ValidationLoss().front());
   CHECK(model.Targets() == (std::vector<std::string>{"a", "x * y"}));
   Refuses("other targets in a stream", [&] { stream.Add("t", "t0.root", {"x * y", "a"}); }, {"2 targets (x * y, a)"});
   Refuses("a label among targets", [&] { stream.Add("t", "t0.root", 1); }, {"one label", "2 targets (a, x * y)"});
   Refuses("NaN in a stream", [] { Mlp({1, 2}).Fit(Stream({"x"}).Add("t", "bad.root", {"x", "a"}), Options()); },
           {"label column 'a'", "entry 811"});
}

/// Root mean squares of prediction minus target.
std::vector<double> Errors(const Mlp &model, const Dataset &data)
{
   const auto values = model.Predict(data);
   const auto labels = data.Labels();
   std::vector<double> sums(labels.Columns());
   for (std::size_t i = 0; i < values.size(); ++i)
      sums[i % sums.size()] += std::pow(values[i] - labels.Data()[i], 2) / data.Rows();
   for (auto &sum : sums)
      sum = std::sqrt(sum);
   return sums;
}

void CheckDefine(const Mlp &model, const Dataset &data)
{
   ROOT::RDataFrame frame("t", "t*.root");
   auto defined = model.Define(frame, "values");
   CHECK(defined.GetColumnType("values") == "ROOT::VecOps::RVec<float>");
   const auto values = model.Predict(data);
   std::map<int, ROOT::RVecF> expected;
   for (std::size_t row = 0; row < data.Rows(); ++row)
      expected[row] = {values[2 * row], values[2 * row + 1]};
   auto rows = defined.Take<ROOT::RVecF>("values");
   auto entries = defined.Take<int>("b");
   double worst = rows->size() == kRows ? 0 : 1;
   for (std::size_t i = 0; i < rows->size(); ++i)
      worst = std::max<double>(worst, ROOT::VecOps::Max(abs((*rows)[i] - expected[(*entries)[i]])));
   CHECK(worst < 1e-5);
}

void CheckFits()
{
   const auto data = Dataset({"x", "y"}).SetWeight("w").Add("t", "t*.root", {"a", "x * y"});
   for (const auto loss : {CladTorch::kAuto, CladTorch::kMeanSquaredError, CladTorch::kHuber}) {
      auto options = Options();
      options.fLoss = loss;
      Mlp model({2, 24, 24, 2}, CladTorch::kSiLU), other = model, threaded = model;
      model.Fit(data, options);
      options.fGradient = CladTorch::kAutograd;
      other.Fit(data, options);
      options.fGradient = CladTorch::kClad;
      options.fThreads = 1;
      threaded.Fit(data, options);
      CHECK(SameBits(model.Parameters(), threaded.Parameters()));
      const auto errors = Errors(model, data), others = Errors(other, data);
      std::printf("a: %.4f (autograd %.4f), x * y: %.4f (%.4f)\n", errors[0], others[0], errors[1], others[1]);
      CHECK(errors[0] < 0.1 && errors[1] < 0.1);
      CHECK(Near(errors[0], others[0], 1e-3) && Near(errors[1], others[1], 1e-3));
      CHECK(model.Predict(data).size() == 2 * kRows && model.Predict(data) == model.Logits(data));
      CheckDefine(model, data);
      model.Save("targets.ct");
      const auto loaded = Mlp::Load("targets.ct");
      CHECK(loaded.Targets() == data.Targets() && loaded.Predict(data) == model.Predict(data));
      loaded.Print();
   }
}

void CheckRefusals()
{
   const auto data = Dataset({"x", "y"}).Add("t", "t0.root", {"a", "x * y"});
   const auto single = Dataset({"x", "y"}).Add("t", "t0.root", "a");
   const auto fit = [](const Dataset &data, std::size_t outputs, CladTorch::ELoss loss = CladTorch::kAuto) {
      auto options = Options();
      options.fLoss = loss;
      Mlp model({2, outputs});
      model.Fit(data, options);
      return model;
   };
   Refuses("outputs", [&] { fit(data, 3); }, {"3 output(s)", "2 targets (a, x * y)"});
   Refuses("classes", [&] { fit(data, 2, CladTorch::kSoftmaxCrossEntropy); }, {"kSoftmaxCrossEntropy", "2 targets (a, x * y)"});
   Refuses("outputs of one label", [&] { fit(single, 2, CladTorch::kHuber); }, {"2 output(s), the events have one label", "kHuber"});
   const auto model = fit(data, 2);
   Refuses("AUC", [&] { model.Auc(data); }, {"one label", "2 targets (a, x * y)"});
   Refuses("ROC", [&] { model.Roc(data); }, {"one label", "2 targets"});
   Refuses("scores", [&] { model.Scores(data); }, {"one label", "2 targets"});
   Refuses("AUC of one output", [&] { Mlp({2, 1}).Auc(data); }, {"one label", "2 targets"});
   Refuses("balance", [&] { Dataset(data).Balance(); }, {"Balance needs one label", "2 targets (a, x * y)"});
   Refuses("the order", [] { Dataset({"x"}).Add("t", "t0.root", {"a", "b"}).Add("t", "t1.root", {"b", "a"}); },
           {"t1.root", "2 targets (b, a)", "2 targets (a, b)"});
   Refuses("their number", [] { Dataset({"x"}).Add("t", "t0.root", {"a", "b"}).Add("t", "t1.root", "a"); },
           {"one label", "2 targets (a, b)"});
   Refuses("targets after a class", [] { Dataset({"x"}).Add("t", "t0.root", 1).Add("t", "t1.root", {"a", "b"}); },
           {"2 targets (a, b)", "one label"});
   Refuses("twice", [] { Dataset({"x"}).Add("t", "t0.root", {"a", "b", "a"}); }, {"\"a\" is listed twice"});
   Refuses("without a name", [] { Dataset({"x"}).Add("t", "t0.root", {"a", ""}); }, {"label column is empty"});
   Refuses("none", [] { Dataset({"x"}).Add("t", "t0.root", std::vector<std::string>()); }, {"list of label columns is empty"});
   Refuses("missing", [] { Dataset({"x"}).Add("t", "t0.root", {"a", "c"}); }, {"no column 'c'"});
   for (const auto reader : {CladTorch::kRootReader, CladTorch::kAutoReader})
      for (const char *cut : {"", "x < 2"})
         Refuses("NaN", [&] { Dataset({"x"}).SetReader(reader).Add("t", "bad.root", {"b", "a", "w"}, cut); },
                 {"label column 'a' holds nan in entry 811", "bad.root"});
   auto left = Dataset({"x", "y"}).Add("t", "t0.root", {"a", "b"});
   Refuses("NaN after events", [&] { left.Add("t", "bad.root", {"a", "b"}); }, {"entry 811"});
   CHECK(left.Rows() == 3500 && left.Labels().Rows() == 3500 && left.Labels().Columns() == 2);
   auto first = Dataset({"x", "y"});
   Refuses("NaN before events", [&] { first.Add("t", "bad.root", {"a", "b"}); }, {"entry 811"});
   CHECK(first.Add("t", "t0.root", 1).Labels().Rank() == 1 && first.Targets().empty());
}

void targets(int threads = 0)
{
   Write();
   if (threads)
      ROOT::EnableImplicitMT(threads);
   CheckReaders();
   CheckSpelling();
   CheckTables();
   CheckFits();
   CheckRefusals();
   if (!threads)
      CheckStreams();
   Passed();
}
