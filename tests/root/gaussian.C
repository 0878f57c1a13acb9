/// \file gaussian.C
/// \brief Regressions with an uncertainty: means and standard deviations are learned, predicted, judged and written.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TH1.h>
#include <TInterpreter.h>
#include <TMath.h>
#include <TRandom3.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Mlp;
using CladTorch::Model;

/// Energies whose resolution is that of a calorimeter: 10 % / sqrt(E / 100) in quadrature with 2 %.
double Sigma(double energy)
{
   return energy * std::hypot(1 / std::sqrt(energy), 0.02);
}

/// The truth `E` from the measured `m`: for a flat spectrum in `truth` E is normal around m with the resolution at m, nearly.
ROOT::RDF::RNode Frame(int entries, int first = 0)
{
   const auto measured = [first](ULong64_t entry) { return float(TRandom3(2 * (entry + first) + 1).Uniform(40, 400)); };
   const auto truth = [first](ULong64_t entry, float m) { return m + Sigma(m) * TRandom3(2 * (entry + first) + 2).Gaus(); };
   return ROOT::RDataFrame(entries)
      .Define("m", measured, {"rdfentry_"})
      .Define("E", truth, {"rdfentry_", "m"})
      .Define("half", "0.5 * E - 3")
      .Define("w", "float(1 + rdfentry_ % 2)");
}

FitOptions Options()
{
   FitOptions options;
   options.fLoss = CladTorch::kGaussian;
   options.fEpochs = 20;
   options.fLearningRate = 5e-3;
   options.fVerbose = 0;
   return options;
}

/// The width of the pulls of N events is known to 1 / sqrt(2 N), by quantiles to 1.3 times as much; five of these
/// errors, and the uncertainty of the network itself: sigma(x) has some ten effective parameters, so that ln sigma is
/// off by sqrt(10 / (2 N)).
double Tolerance(double train, double test)
{
   return 5 * 1.3 / std::sqrt(2 * test) + 2 * std::sqrt(10 / (2 * train));
}

void CheckToy()
{
   const int train = 20000, test = 20000;
   const auto events = Dataset({"m"}).Add(Frame(train), "E"), others = Dataset({"m"}).Add(Frame(test, train), "E");
   Mlp model({1, 32, 32, 2}, CladTorch::kSiLU);
   auto options = Options();
   options.fMetrics = {CladTorch::kRmse, CladTorch::kLogLikelihood};
   const auto history = model.Fit(events, options);
   const auto found = model.Predict(others);
   double ratio = 0, bias = 0, squares = 0;
   for (int i = 0; i < test; ++i) {
      const double m = others.Features()(i, 0), sigma = Sigma(m);
      ratio += std::pow(std::log(found[2 * i + 1] / sigma), 2) / test;
      bias += std::pow((found[2 * i] - m) / sigma, 2) / test;
      squares += std::pow(found[2 * i] - others.Labels().Data()[i], 2) / test;
   }
   const auto evaluation = model.Evaluate(others);
   std::printf("means %.4f sigma off, log sigma %.4f off, pulls %.4f +- %.4f\n", std::sqrt(bias), std::sqrt(ratio),
               evaluation.PullMean(), evaluation.PullWidth());
   // As many parameters as the data determine, some ten each, of 16000 events: 3 sqrt(10 / 16000) and 3 sqrt(10 / (2 *
   // 16000)).
   CHECK(std::sqrt(bias) < 0.075 && std::sqrt(ratio) < 0.053);
   CHECK(Near(evaluation.PullWidth(), 1, Tolerance(0.8 * train, test)));
   CHECK(Near(evaluation.PullMean(), 0, 5 / std::sqrt(test) + 2 * std::sqrt(10 / (0.8 * train))));
   CHECK(evaluation.Outputs() == 1 && evaluation.Predictions().size() == test && evaluation.Sigmas().size() == test);
   CHECK(Near(evaluation.Rmse(), std::sqrt(squares), 1e-3));
   // The likelihood in nats, and the loss without its constant.
   const auto last = history.Epochs() - 1;
   CHECK(Near(history.Metric("log-likelihood")[last], -history.ValidationLoss()[last] - 0.5 * std::log(TMath::TwoPi()), 1e-3));
   CHECK(evaluation.LogLikelihood() > history.Metric("log-likelihood")[0]);
   std::unique_ptr<TH1> pulls(evaluation.Pulls()), residuals(evaluation.Residuals());
   CHECK(Near(pulls->GetStdDev(), 1, Tolerance(0.8 * train, test)) && Near(pulls->Integral(), 1, 1e-3));
   CHECK(residuals->GetStdDev() > 5);
   evaluation.Print();
   evaluation.DrawPulls()->SaveAs("pulls.png");
   model.Report("gaussian.pdf", others);
}

float Largest(const std::vector<float> &a, const std::vector<float> &b)
{
   float largest = a.size() == b.size() ? 0 : INFINITY;
   for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      largest = std::max(largest, std::fabs(a[i] - b[i]) / std::max(1.f, std::fabs(b[i])));
   return largest;
}

/// One column of a data frame after the other, row by row.
std::vector<float> Flat(ROOT::RDF::RNode frame, const char *name)
{
   std::vector<float> flat;
   auto rows = frame.Take<ROOT::RVecF>(name);
   for (const auto &row : *rows)
      flat.insert(flat.end(), row.begin(), row.end());
   return flat;
}

/// Two targets through everything that saves or applies a model: means first, then standard deviations.
void CheckPaths()
{
   const auto data = Dataset({"m"}).SetWeight("w").Add(Frame(3000), {"E", "half"});
   auto options = Options();
   options.fEpochs = 4;
   options.fCheckpoint = "gaussian.ckpt";
   const auto single = [] { return Mlp({1, 16, 4}, CladTorch::kTanh); };
   auto model = single();
   auto stopped = options;
   stopped.fCallback = [](const CladTorch::Epoch &epoch) -> bool {
      if (epoch.fNumber == 2)
         throw std::runtime_error("power");
      return false;
   };
   auto resumed = single();
   Refuses("a fit that breaks off", [&] { resumed.Fit(data, stopped); }, {"power"});
   resumed.Resume(data, "gaussian.ckpt");
   options.fCheckpoint.clear();
   model.Fit(data, options);
   const auto expected = model.Predict(data), raw = model.Logits(data);
   CHECK(resumed.Predict(data) == expected);
   CHECK(model.Targets() == (std::vector<std::string>{"E", "half"}) && model.Outputs() == 4);
   // Means are values, variances are logarithms, in the units of the labels; the second target has half the scale.
   bool holds = true;
   for (std::size_t i = 0; i < expected.size(); ++i)
      holds = holds && (i % 4 < 2 ? expected[i] == raw[i] : Near(std::log(expected[i]), 0.5 * raw[i], 1e-4));
   CHECK(holds);
   const auto scaler = model.TargetScaler();
   CHECK(scaler.fMean.size() == 2 && Near(scaler.fDeviation[0] / scaler.fDeviation[1], 2, 1e-3));
   auto copy = model;
   copy.SetTargetScaler(scaler.fMean, scaler.fDeviation);
   CHECK(Largest(copy.Predict(data), expected) < 1e-6f);
   model.Save("gaussian.ct");
   const auto loaded = Model::Load("gaussian.ct");
   CHECK(loaded.Predict(data) == expected && loaded.Evaluate(data).PullWidth(1) == model.Evaluate(data).PullWidth(1));
   auto frame = Frame(3000);
   CHECK(Largest(Flat(model.Define(frame, "E_and_sigma"), "E_and_sigma"), expected) < 1e-5f);
   frame.Snapshot("t", "gaussian.root", {"m", "E", "half"});
   model.WriteScores(CladTorch::Source("t", "gaussian.root"), "gaussian_scores.root");
   CHECK(Largest(Flat(ROOT::RDataFrame("cladtorch", "gaussian_scores.root"), "score"), expected) < 1e-5f);
   model.ExportOnnx("gaussian.onnx");
   model.ExportCpp("exported.hpp");
   gInterpreter->Declare("#include \"exported.hpp\"");
   gInterpreter->Declare("float GaussianOf(float m, int i) { float out[4]; exported::predict(&m, out); return out[i]; }");
   std::vector<float> exported;
   auto *of = reinterpret_cast<float (*)(float, int)>(gInterpreter->ProcessLine("(long)&GaussianOf;"));
   for (std::size_t i = 0; i < expected.size(); ++i)
      exported.push_back(of(data.Features()(i / 4, 0), i % 4));
   CHECK(Largest(exported, expected) < 1e-5f);
   // Early stopping, folds and streams.
   options.fPatience = 1;
   options.fMetrics = {CladTorch::kRmse, CladTorch::kLogLikelihood};
   CHECK(single().Fit(data, options).Metric("RMSE").size() >= 2);
   options.fPatience = 0;
   const auto folds = single().CrossValidate(data, 3, options);
   CHECK(folds.Evaluate().Sigmas().size() == 2 * data.Rows() && folds.Evaluate(1).PullWidth(1) > 0.5);
   folds.Print();
   auto streamed = single();
   const auto stream = CladTorch::Stream({"m"}).Add("t", "gaussian.root", {"E", "half"});
   CHECK(streamed.Fit(stream, options).Metric("log-likelihood").back() > -20);
   // As far as the dataset's few epochs came, in another order of the events.
   CHECK(Near(streamed.Evaluate(data).PullWidth(), model.Evaluate(data).PullWidth(), 0.25));
   std::unique_ptr<TH1> importance(model.Importance(data));
   CHECK(importance->GetBinContent(1) > 0.5);
}

/// A module of LibTorch, and LibTorch's gradients.
void CheckModules()
{
   const auto data = Dataset({"m"}).Add(Frame(4000), "E");
   auto options = Options();
   for (const auto gradient : {CladTorch::kClad, CladTorch::kAutograd}) {
      options.fGradient = gradient;
      torch::manual_seed(1);
      Model model(torch::nn::Sequential(torch::nn::Linear(1, 16), torch::nn::SiLU(), torch::nn::Linear(16, 2)), {1});
      Mlp perceptron({1, 16, 2}, CladTorch::kSiLU);
      model.Fit(data, options);
      perceptron.Fit(data, options);
      CHECK(Near(model.Evaluate(data).PullWidth(), 1, 0.1) && Near(perceptron.Evaluate(data).PullWidth(), 1, 0.1));
   }
}

/// The mixture of the members' distributions.
void CheckEnsemble()
{
   const auto data = Dataset({"m"}).Add(Frame(2000), {"E", "half"});
   auto options = Options();
   options.fEpochs = 3;
   CladTorch::Ensemble ensemble({Mlp({1, 8, 4}, CladTorch::kSiLU, CladTorch::kUniform, 1), Mlp({1, 8, 4}, CladTorch::kSiLU, CladTorch::kUniform, 2),
                                 Mlp({1, 8, 4}, CladTorch::kSiLU, CladTorch::kUniform, 3)});
   ensemble.Fit(data, options);
   const auto found = ensemble.Predict(data);
   std::vector<float> expected(found.size());
   for (std::size_t row = 0; row < data.Rows(); ++row)
      for (std::size_t target = 0; target < 2; ++target) {
         double mean = 0, square = 0;
         for (const auto &member : ensemble.Members()) {
            static std::map<const Model *, std::vector<float>> predictions;
            auto &own = predictions[&member];
            if (own.empty())
               own = member.Predict(data);
            mean += own[4 * row + target] / 3.;
            square += (std::pow(own[4 * row + target], 2.) + std::pow(own[4 * row + 2 + target], 2.)) / 3;
         }
         expected[4 * row + target] = mean;
         expected[4 * row + 2 + target] = std::sqrt(square - mean * mean);
      }
   CHECK(Largest(found, expected) < 1e-4f);
   CHECK(ensemble.Evaluate(data).Sigmas()[3] == found[7]);
   CHECK(Largest(Flat(ensemble.Define(Frame(2000), "both"), "both"), found) < 1e-4f);
   options.fLoss = CladTorch::kMeanSquaredError;
   Mlp values({1, 8, 2});
   values.Fit(data, options);
   auto single = Dataset({"m"}).Add(Frame(100), "E");
   Mlp gaussian({1, 8, 2});
   gaussian.Fit(single, Options());
   Refuses("values beside normal distributions", [&] { CladTorch::Ensemble({values, gaussian}); }, {"standard deviations"});
}

void CheckRefusals()
{
   const auto data = Dataset({"m"}).Add(Frame(100), "E"), two = Dataset({"m"}).Add(Frame(100), {"E", "half"});
   const auto classes = Dataset({"m"}).Add(Frame(100), 1).Add(Frame(100, 100), 0);
   Refuses("one output", [&] { Mlp({1, 1}).Fit(data, Options()); }, {"kGaussian", "1 output(s)", "kGaussian two"});
   Refuses("outputs", [&] { Mlp({1, 2}).Fit(two, Options()); }, {"2 output(s)", "2 targets (E, half)", "give the model 4"});
   auto options = Options();
   options.fClassWeights = {1, 2};
   Refuses("weights of classes", [&] { Mlp({1, 2}).Fit(classes, options); }, {"fClassWeights", "kGaussian"});
   Mlp plain({1, 1});
   options = Options();
   options.fLoss = CladTorch::kMeanSquaredError;
   plain.Fit(data, options);
   Refuses("pulls without deviations", [&] { plain.Evaluate(data).Pulls(); }, {"standard deviations", "kGaussian"});
   Refuses("a likelihood without deviations", [&] { plain.Evaluate(data).LogLikelihood(); }, {"kGaussian"});
   Mlp model({1, 2});
   model.Fit(data, Options());
   const auto evaluation = model.Evaluate(data);
   Refuses("another target", [&] { evaluation.PullWidth(1); }, {"no target 1"});
   Refuses("AUC", [&] { evaluation.Auc(); }, {"regression"});
   Refuses("a functor", [&] { model.Functor(); }, {"2 outputs", "Define"});
   Refuses("deviations of 0",
           [&] { CladTorch::Evaluation::Regression({1, 2}, {1, 2}, {}, 1, {0.5, 0}); }, {"standard deviation 1 is 0"});
   Refuses("too few deviations",
           [&] { CladTorch::Evaluation::Regression({1, 2}, {1, 2}, {}, 1, {0.5}); }, {"1 standard deviation for 2 predictions"});
   Refuses("a scaler of the outputs", [&] { model.SetTargetScaler({1, 2}, {1, 2}); }, {"scaler"});
   const auto given = CladTorch::Evaluation::Regression({1, 2, 3}, {1, 1, 1}, {}, 1, {1, 1, 2});
   CHECK(Near(given.PullMean(), 2. / 3, 1e-6));
}

void gaussian()
{
   CheckToy();
   CheckPaths();
   CheckModules();
   CheckEnsemble();
   CheckRefusals();
   Passed();
}
