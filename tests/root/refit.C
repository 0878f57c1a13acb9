/// \file refit.C
/// \brief A fit continues from the model's present state, and a model filled by hand is equivalent to a trained one.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <ROOT/RDataFrame.hxx>

#include <algorithm>
#include <cmath>

using CladTorch::Dataset;
using CladTorch::ELoss;
using CladTorch::FitOptions;
using CladTorch::Mlp;
using CladTorch::Stream;

/// Columns on scales far from 1, labels 0 and 1 ("y"), 0 to 2 ("k") and values around 5000 ("v").
void WriteEvents()
{
   ROOT::RDataFrame(2000)
      .Define("a", "float(90 + 15 * sin(0.7 * rdfentry_))")
      .Define("b", "float(1e-3 * cos(1.3 * rdfentry_))")
      .Define("y", "float(a > 90)")
      .Define("k", "int(rdfentry_ % 3)")
      .Define("v", "float(5000 + 10 * a + 1e5 * b)")
      .Snapshot("events", "refit.root", {"a", "b", "y", "k", "v"});
}

const char *LabelOf(ELoss loss)
{
   return loss == CladTorch::kBinaryCrossEntropy ? "y" : loss == CladTorch::kSoftmaxCrossEntropy ? "k" : "v";
}

/// Largest difference over the largest magnitude of `before`.
double Change(const std::vector<float> &before, const std::vector<float> &after)
{
   double difference = 0, magnitude = 0;
   for (std::size_t i = 0; i < before.size(); ++i) {
      difference = std::max<double>(difference, std::fabs(before[i] - after[i]));
      magnitude = std::max<double>(magnitude, std::fabs(before[i]));
   }
   return difference / magnitude;
}

/// An epoch with a rate too small to change a parameter changes nothing, whether features are standardised or not.
template <class Events>
void CheckGoesOn(const Events &events, const Dataset &data, ELoss loss)
{
   for (const bool before : {true, false}) {
      for (const bool after : {true, false}) {
         FitOptions options;
         options.fEpochs = 2;
         options.fVerbose = 0;
         options.fLoss = loss;
         options.fStandardise = before;
         Mlp model({2, 16, loss == CladTorch::kSoftmaxCrossEntropy ? 3u : 1u});
         model.Fit(events, options);
         const auto predicted = model.Predict(data);
         options.fEpochs = 1;
         options.fLearningRate = 1e-12;
         options.fStandardise = after;
         options.fSeed = 5;
         model.Fit(events, options);
         const double change = Change(predicted, model.Predict(data));
         if (change > 2e-4)
            std::printf("loss %d, fStandardise %d then %d: %g\n", loss, before, after, change);
         CHECK(change <= 2e-4);
      }
   }
}

void CheckRegression(const Dataset &data)
{
   FitOptions options;
   options.fVerbose = 0;
   options.fLoss = CladTorch::kMeanSquaredError;
   options.fLearningRate = 1e-2;
   Mlp model({2, 16, 1}, CladTorch::kTanh);
   const auto history = model.Fit(data, options);
   const auto values = model.Predict(data);
   double square = 0;
   for (std::size_t row = 0; row < data.Rows(); ++row)
      square += std::pow(values[row] - data.Labels()(row), 2) / data.Rows();
   CHECK(std::sqrt(square) < 10 && Near(history.ValidationLoss().back() / square, 1, 0.5)); // of a deviation of 130
   CHECK(model.Logits(data) == values);
   const auto row = data.Features();
   CHECK(Near(model.Functor<2>()(row(7, 0), row(7, 1)), values[7], 1e-2));
   auto defined = model.Define(ROOT::RDataFrame("events", "refit.root"), "p").Take<float>("p");
   CHECK(Change(values, *defined) < 1e-6);
   CHECK(model.TargetScaler().fMean.size() == 1 && Near(model.TargetScaler().fMean[0], 5900, 20));
   model.Save("regression.ct");
   CHECK(Mlp::Load("regression.ct").Predict(data) == values);
}

/// All parts of a trained model, put into a new one, make it equal.
void CheckFilledByHand(const Dataset &data)
{
   FitOptions options;
   options.fVerbose = 0;
   options.fEpochs = 2;
   options.fLoss = CladTorch::kHuber;
   options.fDevice = "cpu";
   Mlp trained({2, 8, 1});
   trained.Fit(data, options);

   Mlp filled({2, 8, 1});
   const auto parameters = trained.Parameters();
   filled.SetParameters({parameters.Data(), parameters.Data() + parameters.Size()});
   filled.SetScaler(trained.Scaler().fMean, trained.Scaler().fDeviation);
   filled.SetOptions(trained.Options());
   filled.SetTargetScaler(trained.TargetScaler().fMean, trained.TargetScaler().fDeviation);
   CHECK(filled.Predict(data) == trained.Predict(data));
   CHECK(filled.Columns().empty());
   filled.SetColumns(trained.Columns());
   CHECK(filled.Columns() == trained.Columns());
   filled.Save("filled.ct");
   trained.Save("trained.ct");
   CHECK(Mlp::Load("filled.ct").Predict(data) == trained.Predict(data));

   const auto recorded = Mlp::Load("trained.ct").Options();
   CHECK(recorded.fEpochs == 2 && recorded.fLoss == CladTorch::kHuber && recorded.fLearningRate == options.fLearningRate);
   CHECK(recorded.fBatchSize == options.fBatchSize && recorded.fSeed == options.fSeed && recorded.fDevice == "cpu");
   CHECK(recorded.fOptimiser == options.fOptimiser && recorded.fGradient == options.fGradient && recorded.fStandardise);

   const Mlp copy = filled; // copies keep what they have
   const auto functor = filled.Functor();
   const float before = functor(ROOT::RVecF{90, 0});
   filled.SetScaler({}, {});
   filled.SetTargetScaler({}, {});
   CHECK(filled.Scaler().fMean.empty() && copy.Scaler().fMean.size() == 2 && copy.TargetScaler().fMean.size() == 1);
   CHECK(copy.Functor()(ROOT::RVecF{90, 0}) == before && functor(ROOT::RVecF{90, 0}) == before);
   CHECK(filled.Functor()(ROOT::RVecF{90, 0}) != before);
}

/// A model that was never trained takes the columns of Define.
void CheckDefine()
{
   auto frame = ROOT::RDataFrame(10).Define("x", "float(rdfentry_)").Define("n", "int(2 * rdfentry_)").Define(
      "list", [](float x, int n) { return ROOT::RVecD{x, double(n)}; }, {"x", "n"});
   Mlp model({2, 1});
   model.SetParameters({0.5, 0.25, -1});
   const auto expected = [](double x) { return 1 / (1 + std::exp(1 - 0.5 * x - 0.25 * 2 * x)); };
   Mlp named = model;
   named.SetColumns({"x", "n"});
   Mlp listed = model;
   listed.SetColumns(Dataset().Column("list", 2));
   for (auto scores : {*model.Define(frame, "p", {"x", "n"}).Take<float>("p"),
                       *model.Define(frame, "p", {"x", "2 * x"}).Take<float>("p"),
                       *model.Define(frame, "p", {"list"}).Take<float>("p"), *named.Define(frame, "p").Take<float>("p"),
                       *listed.Define(frame, "p").Take<float>("p")})
      for (std::size_t i = 0; i < 10; ++i)
         CHECK(Near(scores[i], expected(i), 1e-6));
   Refuses("no columns at all", [&] { model.Define(frame, "p"); }, {"no columns", "SetColumns"});
   Refuses("columns that are too many", [&] { model.Define(frame, "p", {"x", "n", "x"}); }, {"takes 2", "3 columns"});
   Refuses("a scalar for all inputs", [&] { model.Define(frame, "p", {"x"}); }, {"'x'", "scalar"});
   auto ofNumbers = model.Define(frame, "p", {"list", "x"}).Take<ROOT::RVecF>("p"); // a score for each number of the list
   CHECK(ofNumbers->size() == 10 && ofNumbers->front().size() == 2 && ofNumbers->back().size() == 2);
}

/// Columns of `frame` named "a" with a list of one kind each, in which the first number is a scalar's.
std::vector<std::pair<const char *, ROOT::RDF::RNode>> FramesWithLists()
{
   auto frame = ROOT::RDataFrame(10).Define("b", "0.1 * rdfentry_").Define("s", "float(rdfentry_)");
   std::vector<std::pair<const char *, ROOT::RDF::RNode>> frames;
   for (const char *list : {"ROOT::RVecF{s, 1}", "std::vector<double>{s, 1}", "std::array<float, 2>{s, 1}",
                            "ROOT::RVecI{int(s)}", "std::vector<float>{}"})
      frames.emplace_back(list, frame.Define("a", list));
   frame.Define("a", "ROOT::RVecF{s, 1}").Snapshot("t", "lists.root", {"a", "b"});
   frames.emplace_back("a tree", ROOT::RDataFrame("t", "lists.root"));
   return frames;
}

/// A model trained on scalars does not take the first number of a list, unless it was trained on that: it scores each
/// number.
void CheckDefineOfLists(const Dataset &data)
{
   FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   Mlp model({2, 1});
   model.Fit(data, options);
   model.Save("scalars.ct");
   Mlp named({2, 1});
   named.SetColumns({"a", "b"});
   for (auto &[list, frame] : FramesWithLists()) {
      std::cout << list << std::endl;
      auto lengths = frame.Define("length", "int(std::size(a))").Take<int>("length");
      for (const Mlp &trained : {model, Mlp::Load("scalars.ct"), named}) {
         auto scores = trained.Define(frame, "p").Take<ROOT::RVecF>("p");
         std::size_t wrong = 0;
         for (std::size_t i = 0; i < 10; ++i)
            wrong += (*scores)[i].size() != static_cast<std::size_t>((*lengths)[i]);
         CHECK(scores->size() == 10 && wrong == 0);
      }
      CHECK(model.Define(frame, "p", {"Sum$(a)", "b"}).Take<float>("p")->size() == 10);
   }
   Mlp first({2, 1});
   first.SetColumns(Dataset().Column("a", 1).Column("b"));
   CHECK(first.Define(FramesWithLists().front().second, "p").Take<float>("p")->size() == 10);
}

void CheckRefusals()
{
   Mlp model({2, 1});
   Refuses("too few means", [&] { model.SetScaler({1}, {1}); }, {"a scaler of 1", "2 inputs"});
   Refuses("means without deviations", [&] { model.SetScaler({1, 2}, {}); }, {"2 means", "0 deviations"});
   Refuses("a deviation of 0", [&] { model.SetScaler({1, 2}, {1, 0}); }, {"deviation 0", "column 1"});
   Refuses("a negative deviation", [&] { model.SetScaler({1, 2}, {1, -1}); }, {"deviation -1"});
   Refuses("a mean of NaN", [&] { model.SetScaler({NAN, 2}, {1, 1}); }, {"column 0"});
   Refuses("two targets", [&] { model.SetTargetScaler({1, 2}, {1, 1}); }, {"target of 2", "1 outputs"});
   Refuses("three columns", [&] { model.SetColumns({"a", "b", "c"}); }, {"columns of 3", "2 inputs"});
   Refuses("options of no fit", [&] { model.Options(); }, {"not trained"});
   FitOptions options;
   options.fLearningRate = -1;
   Refuses("a negative rate", [&] { model.SetOptions(options); }, {"fLearningRate"});
   options = FitOptions();
   options.fLoss = CladTorch::kSoftmaxCrossEntropy;
   Refuses("a loss of many outputs", [&] { model.SetOptions(options); }, {"kSoftmaxCrossEntropy"});
   options.fLoss = CladTorch::kBinaryCrossEntropy;
   model.SetOptions(options);
   Refuses("a classifier with a scale", [&] { model.SetTargetScaler({1}, {1}); }, {"regression"});
   CHECK(model.Scaler().fMean.empty() && model.Columns().empty() && model.TargetScaler().fMean.empty());
}

void refit()
{
   WriteEvents();
   for (const auto loss : {CladTorch::kBinaryCrossEntropy, CladTorch::kSoftmaxCrossEntropy,
                           CladTorch::kMeanSquaredError, CladTorch::kHuber}) {
      const Dataset data = Dataset({"a", "b"}).Add("events", "refit.root", LabelOf(loss));
      CheckGoesOn(data, data, loss);
      CheckGoesOn(Stream({"a", "b"}).Add("events", "refit.root", LabelOf(loss)), data, loss);
   }
   const Dataset data = Dataset({"a", "b"}).Add("events", "refit.root", "v");
   CheckRegression(data);
   CheckFilledByHand(data);
   CheckDefine();
   CheckDefineOfLists(Dataset({"a", "b"}).Add("events", "refit.root", "y"));
   CheckRefusals();
   Passed();
}
