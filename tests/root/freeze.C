/// \file freeze.C
/// \brief Frozen parameters keep their bits in fits of every kind, the others change, and tensors that cannot be frozen
/// are refused.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TRandom3.h>

#include <string>
#include <vector>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::FloatView;
using CladTorch::Mlp;
using CladTorch::Model;
namespace nn = torch::nn;

Dataset Events(double scale = 1)
{
   TRandom3 random(7);
   std::vector<float> x, y;
   for (int i = 0; i < 200; ++i) {
      double sum = 0;
      for (int k = 0; k < 3; ++k)
         sum += x.emplace_back(scale * random.Gaus());
      y.push_back(sum > 0);
   }
   return Dataset({"a", "b", "c"}).Add(FloatView(x).Reshape(3), FloatView(y));
}

std::vector<FitOptions> AllOptions()
{
   std::vector<FitOptions> all;
   for (const auto optimiser : {CladTorch::kAdam, CladTorch::kAdamW, CladTorch::kSGD})
      for (const auto gradient : {CladTorch::kClad, CladTorch::kAutograd})
         for (const auto clip : {0., 0.5}) {
            FitOptions options;
            options.fEpochs = 2;
            options.fVerbose = 0;
            options.fSeed = 1;
            options.fOptimiser = optimiser;
            options.fGradient = gradient;
            options.fWeightDecay = 0.01;
            options.fL1 = 0.001;
            options.fClipNorm = clip;
            all.push_back(options);
         }
   return all;
}

std::vector<float> Parameters(const Model &model)
{
   return {model.Parameters().begin(), model.Parameters().end()};
}

/// Of the flat parameters, `from` to `to` stay unchanged and each of the others changes.
void OnlyThese(const char *what, const std::vector<float> &before, const std::vector<float> &after, std::size_t from, std::size_t to)
{
   bool stay = true, move = true;
   for (std::size_t i = 0; i < before.size(); ++i)
      (i >= from && i < to ? stay : move) &= (before[i] == after[i]) == (i >= from && i < to);
   Check(stay, what, __FILE__, __LINE__);
   Check(move, "the others move", __FILE__, __LINE__);
}

/// layers.0: 3 x 20 and 20; layers.1: 20 x 20 and 20; layers.2: 20 and 1.
void mlps()
{
   struct {
      const char *fName;
      std::size_t fFrom, fTo;
   } const cases[] = {{"layers.0", 0, 80}, {"layers.1.weight", 80, 480}, {"layers.1.bias", 480, 500}, {"layers.2", 500, 521}};
   for (const auto &options : AllOptions())
      for (const auto &[name, from, to] : cases) {
         Mlp model({3, 20, 20, 1}, CladTorch::kTanh);
         model.Freeze(name);
         const auto before = Parameters(model);
         model.Fit(Events(), options);
         OnlyThese(name, before, Parameters(model), from, to);
         const auto first = Parameters(model);
         model.Fit(Events(3), options); // of another scale
         OnlyThese(name, first, Parameters(model), from, to);
         auto copy = model;
         copy.Unfreeze("layers");
         copy.Fit(Events(), options);
         OnlyThese("none", first, Parameters(copy), 0, 0);
         CHECK(Printed(model).find("frozen: ") != std::string::npos && Printed(copy).find("frozen: ") == std::string::npos);
      }
}

/// The modules' own names, on kernels and on LibTorch, where running statistics change.
void modules()
{
   for (const auto &options : AllOptions()) {
      auto net = nn::Sequential(nn::Linear(3, 8), nn::BatchNorm1d(8), nn::Tanh(), nn::Linear(8, 1));
      Model model(net, {3});
      model.Freeze("0");
      const auto before = Parameters(model);
      const auto mean = net->named_buffers()["1.running_mean"].clone();
      model.Fit(Events(), options);
      const auto after = Parameters(model);
      CHECK(std::equal(before.begin(), before.begin() + 32, after.begin()));
      CHECK(!std::equal(before.begin() + 32, before.end(), after.begin() + 32));
      CHECK(!torch::equal(mean, net->named_buffers()["1.running_mean"]));
      CHECK(Printed(model).find("frozen: 0.weight, 0.bias") != std::string::npos);
   }
}

/// The PyTorch way: requires_grad_(false) for a layer, and an optimiser of the rest.
void as_libtorch()
{
   auto make = [] {
      torch::manual_seed(2);
      return nn::Sequential(nn::Linear(3, 8), nn::Tanh(), nn::Linear(8, 1));
   };
   auto net = make(), theirs = make();
   Model model(net, {3});
   model.Freeze("0");
   const auto data = Events();
   FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   options.fBatchSize = 200;
   options.fValidation = 0;
   options.fShuffle = options.fStandardise = false;
   options.fLoss = CladTorch::kBinaryCrossEntropy;
   options.fClipNorm = 0.01;
   options.fSchedule = CladTorch::kConstant;
   options.fLearningRate = 0.01;
   model.Fit(data, options);
   auto last = theirs[2]->as<nn::Linear>()->parameters();
   torch::optim::Adam adam(last, torch::optim::AdamOptions(0.01));
   const auto x = torch::from_blob(const_cast<float *>(data.Features().Data()), {200, 3}), y = torch::from_blob(const_cast<float *>(data.Labels().Data()), {200, 1});
   torch::binary_cross_entropy_with_logits(theirs->forward(x), y).backward();
   nn::utils::clip_grad_norm_(last, 0.01);
   adam.step();
   for (const auto &named : theirs->named_parameters())
      CHECK(torch::allclose(named.value(), net->named_parameters()[named.key()], 1e-5, 1e-6));
}

void refusals()
{
   Mlp model({3, 20, 1});
   Refuses("no such layer", [&] { model.Freeze("layers.7"); }, {"'layers.7'", "layers.0.weight, layers.0.bias"});
   Refuses("half a name", [&] { model.Freeze("layers.0.wei"); }, {"'layers.0.wei'"});
   Refuses("another one's name", [&] { model.Unfreeze("0"); }, {"'0'"});
   model.Freeze("");
   const auto before = Parameters(model);
   FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   model.Fit(Events(), options);
   CHECK(Parameters(model) == before);
   model.Unfreeze();
   model.Save("thawed.ct");
   CHECK(Printed(Mlp::Load("thawed.ct")).find("frozen: ") == std::string::npos);
}

void freeze()
{
   mlps();
   modules();
   as_libtorch();
   refusals();
   Passed();
}
