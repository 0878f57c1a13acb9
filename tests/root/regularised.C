/// \file regularised.C
/// \brief An Mlp with normalisation and dropout is the torch::nn::Sequential of the same layers, with the same numbers.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TRandom3.h>

#include <algorithm>
#include <functional>
#include <unistd.h>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Mlp;
using CladTorch::MlpOptions;
using CladTorch::Model;

Dataset Events(int entries = 900)
{
   auto value = [](ULong64_t entry) { return float(TRandom3(entry + 1).Gaus()); };
   auto other = [](ULong64_t entry) { return float(TRandom3(entry + 700001).Gaus()); };
   auto frame = ROOT::RDataFrame(entries)
                   .Define("x", value, {"rdfentry_"})
                   .Define("y", other, {"rdfentry_"})
                   .Define("in", "int(x * x + y * y < 1)");
   return Dataset({"x", "y"}).Add(frame, "in");
}

std::vector<float> Numbers(const Model &model)
{
   return {model.Parameters().begin(), model.Parameters().end()};
}

FitOptions Short()
{
   FitOptions options;
   options.fEpochs = 3;
   options.fBatchSize = 64;
   options.fLearningRate = 0.01;
   options.fVerbose = 0;
   return options;
}

struct Layers {
   CladTorch::EActivation fActivation;
   std::function<torch::nn::AnyModule()> fModule;
};

std::vector<Layers> Activations()
{
   namespace nn = torch::nn;
   return {{CladTorch::kReLU, [] { return nn::AnyModule(nn::ReLU()); }},
           {CladTorch::kLeakyReLU, [] { return nn::AnyModule(nn::LeakyReLU()); }},
           {CladTorch::kTanh, [] { return nn::AnyModule(nn::Tanh()); }},
           {CladTorch::kSigmoid, [] { return nn::AnyModule(nn::Sigmoid()); }},
           {CladTorch::kSiLU, [] { return nn::AnyModule(nn::SiLU()); }},
           {CladTorch::kGELU, [] { return nn::AnyModule(nn::GELU()); }},
           {CladTorch::kSoftplus, [] { return nn::AnyModule(nn::Softplus()); }}};
}

void CheckAgainstSequential(const Dataset &events, const Layers &layers, CladTorch::ENormalisation normalisation, double dropout)
{
   namespace nn = torch::nn;
   MlpOptions options;
   options.fActivation = layers.fActivation;
   options.fNormalisation = normalisation;
   options.fDropout = dropout;
   options.fSeed = 3;
   Mlp mlp({2, 12, 8, 1}, options);
   nn::Sequential net;
   std::int64_t inputs = 2;
   for (std::int64_t width : {12, 8}) {
      net->push_back(nn::Linear(inputs, width));
      if (normalisation == CladTorch::kBatchNorm)
         net->push_back(nn::BatchNorm1d(width));
      else if (normalisation == CladTorch::kLayerNorm)
         net->push_back(nn::LayerNorm(nn::LayerNormOptions({width})));
      net->push_back(layers.fModule());
      if (dropout > 0)
         net->push_back(nn::Dropout(dropout));
      inputs = width;
   }
   net->push_back(nn::Linear(inputs, 1));
   Model model(net, {2});
   model.SetParameters(Numbers(mlp));
   const auto history = mlp.Fit(events, Short()), expected = model.Fit(events, Short());
   CHECK(history.TrainLoss() == expected.TrainLoss() && history.ValidationLoss() == expected.ValidationLoss());
   CHECK(Numbers(mlp) == Numbers(model) && mlp.Predict(events) == model.Predict(events));
   mlp.Save("regularised.ct");
   CHECK(Mlp::Load("regularised.ct").Predict(events) == mlp.Predict(events));
}

void CheckMistakes()
{
   MlpOptions options;
   options.fDropout = 1;
   Refuses("all numbers dropped", [&] { Mlp({2, 4, 1}, options); }, {"fDropout = 1", "[0, 1)"});
   options.fDropout = -0.1;
   Refuses("a negative probability", [&] { Mlp({2, 4, 1}, options); }, {"fDropout = -0.1"});
   options.fDropout = 0.1;
   Refuses("no outputs", [&] { Mlp({2, 4, 0}, options); }, {"0"});
   Refuses("one size", [&] { Mlp({2}, options); }, {"one size"});
   options.fNormalisation = CladTorch::ENormalisation(9);
   Refuses("an unknown normalisation", [&] { Mlp({2, 4, 1}, options); }, {"normalisation", "9"});
   options.fNormalisation = CladTorch::kBatchNorm;
   Mlp model({2, 4, 1}, options);
   auto fit = Short();
   fit.fGradient = CladTorch::kAutograd;
   Refuses("no module of LibTorch", [&] { model.Fit(Events(50), fit); }, {"kClad"});
   model.Print();
}

void regularised()
{
   torch::manual_seed(1);
   const auto events = Events();
   for (const auto &layers : Activations())
      CheckAgainstSequential(events, layers, CladTorch::kBatchNorm, 0);
   for (auto normalisation : {CladTorch::kNoNormalisation, CladTorch::kBatchNorm, CladTorch::kLayerNorm})
      CheckAgainstSequential(events, Activations().front(), normalisation, 0.25);
   CheckAgainstSequential(events, Activations().front(), CladTorch::kLayerNorm, 0);
   MlpOptions plain;
   plain.fSeed = 5;
   CHECK(Numbers(Mlp({2, 8, 1}, plain)) == Numbers(Mlp({2, 8, 1}, CladTorch::kReLU, CladTorch::kUniform, 5)));
   CheckMistakes();
   unlink("regularised.ct");
   Passed();
}
