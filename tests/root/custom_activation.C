/// \file custom_activation.C
/// \brief An activation of one's own in Mlp::Fit, in model files and in data frames.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include "check.h"
#include "with_clad.h"

#include <ROOT/RDataFrame.hxx>

using namespace CladTorch;

const char *kSoftsign = "double activation(double x) { return x > 0 ? x / (1 + x) : x / (1 - x); }";

void CheckUse(const Dataset &data, ROOT::RDF::RNode frame)
{
   Mlp model({1, 16, 1}, kSoftsign, kXavier);
   FitOptions options;
   options.fVerbose = 0;
   options.fEpochs = 60;
   options.fLearningRate = 0.01;
   options.fLoss = kMeanSquaredError;
   const auto history = model.Fit(data, options);
   CHECK(history.TrainLoss().back() < 0.1 * history.TrainLoss().front());
   model.Save("own.ct");
   const auto expected = model.Predict(data);
   CHECK(Mlp::Load("own.ct", kSoftsign).Predict(data) == expected);
   auto scored = model.Define(frame, "score").Take<float>("score");
   CHECK(scored->size() == 2000 && Near(scored->at(100), expected[100], 1e-6));
   Refuses("a file without its activation", [] { Mlp::Load("own.ct"); }, {"own.ct", "the user's own", kSoftsign});
   options.fGradient = kAutograd;
   Refuses("LibTorch's autograd", [&] { model.Fit(data, options); }, {"activation of the user's own"});
}

void custom_activation()
{
   auto frame = ROOT::RDataFrame(2000).Define("x", "float(rdfentry_) / 1000 - 1").Define("y", "double(sin(3 * x))");
   Dataset data({"x"});
   data.Add(frame, "y");
   Refuses("no function", [] { Mlp({1, 4, 1}, "double f(double x) { return x; }"); }, {"double activation(double x)"});
   if (HasClad("an activation of one's own"))
      CheckUse(data, frame);
   Passed();
}
