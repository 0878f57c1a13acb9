/// \file loss_function.C
/// \brief A user's own loss in Mlp::Fit; with `hangs` a compiler that must be interrupted.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include "check.h"
#include "with_clad.h"

#include <ROOT/RDataFrame.hxx>

using namespace CladTorch;

/// The quantile of a distribution (Koenker and Bassett 1978), made smooth.
const char *kQuantileText = R"(
double loss(double output, double label)
{
   const double d = label - output;
   const double s = d / 0.02;
   return 0.9 * d + 0.02 * (s > 0 ? std::log1p(std::exp(-s)) : -s + std::log1p(std::exp(s)));
})";

void CheckFit(const Dataset &data, FitOptions options)
{
   Mlp model({1, 8, 1});
   const auto history = model.Fit(data, options);
   CHECK(history.TrainLoss().back() < 0.5 * history.TrainLoss().front());
   // Nine of ten labels are below the quantile.
   const auto outputs = model.Predict(data);
   int below = 0;
   for (std::size_t i = 0; i < outputs.size(); ++i)
      below += double(i * 37 % 2000) / 2000 < outputs[i];
   CHECK(Near(below / 2000., 0.9, 0.03));
   options.fLossFunction = "double loss(double output, double label) { return output - nothing; }";
   Refuses("a name that nobody knows", [&] { Mlp({1, 1}).Fit(data, options); }, {"fLossFunction", "'nothing'"});
   options.fLossFunction = kQuantileText;
   options.fLoss = kHuber;
   Refuses("two losses", [&] { Mlp({1, 1}).Fit(data, options); }, {"fLossFunction beside fLoss"});
}

void loss_function(bool hangs = false)
{
   auto frame = ROOT::RDataFrame(2000).Define("x", "float(rdfentry_ % 50) / 50").Define("y", "double(rdfentry_ * 37 % 2000) / 2000");
   Dataset data({"x"});
   data.Add(frame, "y");
   FitOptions options;
   options.fVerbose = 0;
   options.fEpochs = 40;
   options.fLearningRate = 0.01;
   options.fLossFunction = kQuantileText;
   if (hangs)
      Refuses("a compiler that was interrupted", [&] { Mlp({1, 1}).Fit(data, options); }, {"interrupted"});
   else if (HasClad("a loss of one's own"))
      CheckFit(data, options);
   Passed();
}
