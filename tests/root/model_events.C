/// \file model_events.C
/// \brief A model predicts each event independently: networks that do not are refused, naming the responsible operator.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <functional>

using CladTorch::Model;
using torch::Tensor;
namespace nn = torch::nn;

constexpr int kWidth = 8;

Tensor gWeights, gVector, gOrder;

/// A network for events of 8 numbers, and the operator that combines events, if there is one.
struct Case {
   std::string fName;
   std::function<Tensor(Tensor)> fFunction;
   const char *fMixer = nullptr;
};

Tensor Last(const Tensor &x)
{
   return torch::tanh(x).matmul(gVector);
}

/// [N, 4, 2]
Tensor Parts(const Tensor &x)
{
   return x.reshape({-1, 4, 2});
}

std::vector<Case> Functions()
{
   return {
      {"product", [](Tensor x) { return Last(x.matmul(gWeights)); }},
      {"mean of the batch", [](Tensor x) { return Last(x - x.mean(0)); }, "aten::mean at operator 1 of function"},
      {"mean of the event", [](Tensor x) { return Last(x - x.mean(1, true)); }},
      {"mean of everything", [](Tensor x) { return Last(x - x.mean()); }, "aten::mean"},
      {"variance of the batch", [](Tensor x) { return Last(x / (x.var(0) + 1).sqrt()); }, "aten::var"},
      {"variance of the event", [](Tensor x) { return Last(x / (x.var(1, false, true) + 1).sqrt()); }},
      {"greatest of the batch", [](Tensor x) { return Last(x - x.amax(0)); }, "aten::amax"},
      {"greatest of the event", [](Tensor x) { return Last(x - x.amax(1, true)); }},
      {"softmax over events", [](Tensor x) { return Last(x.softmax(0)); }, "aten::softmax"},
      {"softmax over the event", [](Tensor x) { return Last(x.softmax(1)); }},
      {"softmax over what was transposed", [](Tensor x) { return Last(x.t().softmax(0).t()); }},
      {"first event for all", [](Tensor x) { return Last(x - x.select(0, 0)); }, "aten::sub"},
      {"neighbours",
       [](Tensor x) { return Last(x + torch::cat({x.slice(0, 1), x.slice(0, 0, 1)}, 0)); },
       "aten::add"},
      {"another order",
       [](Tensor x) { return Last(torch::cat({x.slice(0, 1), x.slice(0, 0, 1)}, 0)); },
       "function returns the events in another order"},
      {"events as a sequence",
       [](Tensor x) { return Last(at::scaled_dot_product_attention(x.unsqueeze(0), x.unsqueeze(0), x.unsqueeze(0)).squeeze(0)); },
       "aten::scaled_dot_product_attention"},
      {"parts as a sequence",
       [](Tensor x) {
          const auto p = Parts(x);
          return Last(at::scaled_dot_product_attention(p, p, p).flatten(1));
       }},
      {"parts as a sequence, events last",
       [](Tensor x) {
          const auto p = Parts(x).permute({1, 2, 0}); // [4, 2, N]
          return Last((p.softmax(0) * p.sum(1, true)).permute({2, 0, 1}).reshape({-1, kWidth}));
       }},
      {"products of events", [](Tensor x) { return Last(x.matmul(x.t()).matmul(x)); }, "aten::matmul"},
      {"products of parts", [](Tensor x) { return Last(torch::bmm(Parts(x), Parts(x).transpose(1, 2)).flatten(1).slice(1, 0, kWidth)); }},
      {"parts as events", [](Tensor x) { return Last(torch::tanh(x.reshape({-1, 2}).matmul(gWeights.slice(0, 0, 2).slice(1, 0, 2))).reshape({-1, kWidth})); }},
      {"number of events", [](Tensor x) { return Last(x / x.size(0)); }, "aten::div at operator 1 of function computes with the number"},
      {"where", [](Tensor x) { return Last(torch::where(x > 0, x, x * x)); }},
      {"where of the batch", [](Tensor x) { return Last(torch::where(x > x.mean(0), x, x * x)); }, "aten::mean"},
      {"layer normalisation", [](Tensor x) { return Last(torch::layer_norm(x, {kWidth})); }},
      {"layer normalisation of the batch", [](Tensor x) { return Last(torch::layer_norm(x.t().contiguous().t(), {kWidth}) + x.sum(0)); }, "aten::sum"},
      {"unused mean", [](Tensor x) { return Last(x + 0 * x.sum(1, true)); }},
      {"the first event by its place",
       [](Tensor x) {
          auto y = x * 1;
          y.select(0, 0).zero_();
          return Last(y);
       },
       "by their place"},
      {"all but the last event",
       [](Tensor x) {
          auto y = x * 1;
          y.slice(0, 0, -1).mul_(2);
          return Last(y);
       },
       "by their place"},
      {"another first event", [](Tensor x) { return Last(torch::cat({x.slice(0, 0, 1) * 2, x.slice(0, 1)}, 0)); },
       "by their place"},
      {"constant elements", [](Tensor x) { return Last(x.index_select(1, gOrder)); }},
   };
}

/// Whether LibTorch's own answer for the second event changes with the others, or with its place among them.
bool Mixes(const std::function<Tensor(Tensor)> &function)
{
   const torch::NoGradGuard noGradients;
   const auto x = torch::randn({5, kWidth});
   const auto other = torch::cat({torch::randn({1, kWidth}), x.slice(0, 1, 2), 3 * torch::randn({6, kWidth})}, 0);
   const auto differs = [&](const Tensor &answer) { return (function(x)[1] - answer).abs().max().item<double>() > 1e-5; };
   return differs(function(other)[1]) || differs(function(x.slice(0, 1))[0]) || differs(function(x.slice(0, 0, 2))[1]);
}

CladTorch::Dataset Data(int rows)
{
   CladTorch::Dataset data;
   auto frame = ROOT::RDataFrame(rows).Define("y", "int(rdfentry_ % 2)").Define(
      "x",
      [](ULong64_t entry) {
         ROOT::RVecF x(kWidth);
         for (int i = 0; i < kWidth; ++i)
            x[i] = std::sin(entry * 1.7 + i * i);
         return x;
      },
      {"rdfentry_"});
   return data.Column("x", kWidth).Add(frame, "y");
}

void CheckApart(const Model &model)
{
   const auto all = model.Logits(Data(3001)), few = model.Logits(Data(3));
   const auto event = Data(3).Features();
   bool same = true;
   for (int row = 0; row < 3; ++row) {
      const ROOT::RVecF features(event.Data() + row * kWidth, event.Data() + (row + 1) * kWidth);
      const float probability = 1 / (1 + std::exp(-all[row]));
      same = same && Near(all[row], few[row], 1e-5) && Near(model.Functor()(features), probability, 1e-5);
   }
   CHECK(same);
}

void CheckFunctions()
{
   for (const auto &[name, function, mixer] : Functions()) {
      std::printf("%s\n", name.c_str());
      CHECK(Mixes(function) == (mixer != nullptr));
      if (mixer)
         Refuses(name.c_str(), [&, f = function] { Model(f, {kWidth}); }, {mixer, "depend on its neighbours", "the first dimension counts events"});
      else
         CheckApart(Model(function, {kWidth}));
   }
}


/// Mixing events in training alone is allowed.
void CheckModules()
{
   const auto statistics = nn::BatchNorm1dOptions(4);
   Model tracked(nn::Sequential(nn::Linear(kWidth, 4), nn::BatchNorm1d(statistics), nn::Dropout(0.3), nn::Linear(4, 1)), {kWidth});
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   tracked.Fit(Data(500), options);
   CheckApart(tracked);
   Refuses("batch normalisation without running statistics", [&] {
      Model(nn::Sequential(nn::Linear(kWidth, 4), nn::BatchNorm1d(nn::BatchNorm1dOptions(4).track_running_stats(false)), nn::Linear(4, 1)), {kWidth});
   }, {"aten::batch_norm at operator", "of Sequential, part 1 (BatchNorm1d) mixes the events", "in evaluation", "with running statistics"});
   Refuses("softmax over events", [&] {
      Model(nn::Sequential(nn::Linear(kWidth, 4), nn::Softmax(0), nn::Linear(4, 1)), {kWidth});
   }, {"aten::softmax at operator 3 of Sequential mixes the events"});
   // Numbers that are not finite hide no dependence.
   auto broken = nn::Sequential(nn::Linear(kWidth, 4), nn::Linear(4, 1));
   {
      const torch::NoGradGuard noGradients;
      broken->parameters()[0].fill_(std::nanf(""));
   }
   CHECK(Model(broken, {kWidth}).Inputs() == kWidth);
}

void model_events()
{
   torch::manual_seed(1);
   gWeights = torch::randn({kWidth, kWidth}, torch::requires_grad());
   gVector = torch::randn({kWidth, 1}, torch::requires_grad());
   gOrder = torch::arange(kWidth - 1, -1, -1);
   CheckFunctions();
   CheckModules();
   Passed();
}
