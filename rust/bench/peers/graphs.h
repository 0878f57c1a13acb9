/// \file graphs.h
/// \brief The graphs of `cargo xtask bench graph` in LibTorch's C++; graph.py has the same ones in Python.

#ifndef CLADTORCH_BENCH_GRAPHS
#define CLADTORCH_BENCH_GRAPHS

#include <CladTorch/Torch.hxx>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

using Tensors = std::vector<torch::Tensor>;

/// An input: numbers, or indices below `fClasses`.
struct Input {
   std::vector<std::int64_t> fShape;
   std::int64_t fClasses = 0;

   torch::Tensor Make(std::size_t number) const
   {
      const auto count = c10::multiply_integers(fShape);
      if (fClasses)
         return (torch::arange(count) * 7919).remainder(fClasses).reshape(fShape);
      const auto phase = (torch::arange(count, torch::kFloat64) + 0.4) * (0.7 + 0.1 * number);
      return (phase.sin() * 0.6).to(torch::kFloat).reshape(fShape);
   }
};

/// A function of tensors that returns one number, and its inputs for N rows.
struct Graph {
   std::function<std::vector<Input>(std::int64_t)> fInputs;
   torch::Tensor (*fFunction)(const Tensors &);
};

inline torch::Tensor LogisticRegression(const Tensors &t)
{
   return torch::binary_cross_entropy_with_logits(torch::linear(t[0], t[1], t[2]), t[3]);
}

inline torch::Tensor Perceptron(const Tensors &t)
{
   auto h = torch::linear(t[0], t[1], t[2]).relu();
   h = torch::linear(h, t[3], t[4]).relu();
   return torch::binary_cross_entropy_with_logits(torch::linear(h, t[5], t[6]), t[7]);
}

inline torch::Tensor Residual(const Tensors &t)
{
   auto x = t[0];
   for (std::size_t block = 1; block < t.size(); block += 6) {
      auto h = torch::layer_norm(x, {x.size(1)}, t[block], t[block + 1]);
      h = torch::silu(torch::linear(h, t[block + 2], t[block + 3]));
      x = x + torch::linear(h, t[block + 4], t[block + 5]);
   }
   return x.square().mean();
}

inline torch::Tensor StrainNetwork(const Tensors &t)
{
   auto x = torch::max_pool1d(torch::conv1d(t[0], t[1], t[2], 1, 3).relu(), 4, 4);
   x = torch::avg_pool1d(torch::conv1d(x, t[3], t[4], 1, 2).relu(), 4, 4);
   return torch::cross_entropy_loss(torch::linear(x.flatten(1), t[5], t[6]), t[7]);
}

inline torch::Tensor Transformer(const Tensors &t)
{
   const auto rows = t[0].size(0), tokens = t[0].size(1), width = t[0].size(2), heads = std::int64_t(4);
   const auto qkv = torch::linear(torch::layer_norm(t[0], {width}, t[1], t[2]), t[3], t[4]).chunk(3, 2);
   Tensors parts;
   for (const auto &part : qkv)
      parts.push_back(part.reshape({rows, tokens, heads, width / heads}).transpose(1, 2));
   const auto attention = torch::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
   auto x = t[0] + torch::linear(attention.transpose(1, 2).reshape({rows, tokens, width}), t[5], t[6]);
   const auto h = torch::gelu(torch::linear(torch::layer_norm(x, {width}, t[7], t[8]), t[9], t[10]));
   x = x + torch::linear(h, t[11], t[12]);
   return x.square().mean();
}

/// -log likelihood of y = (x1, x2 exp(s(x1)) + t(x1)) under a Gaussian, but for a constant.
inline torch::Tensor Coupling(const Tensors &t)
{
   const auto halves = t[0].chunk(2, 1);
   const auto st = torch::linear(torch::linear(halves[0], t[1], t[2]).tanh(), t[3], t[4]).chunk(2, 1);
   const auto s = st[0].tanh();
   const auto y = torch::cat({halves[0], halves[1] * s.exp() + st[1]}, 1);
   return (0.5 * y.square().sum(1) - s.sum(1)).mean();
}

inline torch::Tensor Mixture(const Tensors &t)
{
   const auto z = (t[0] - t[2]) * (-t[3]).exp();
   return -torch::logsumexp(-0.5 * z.square() + torch::log_softmax(t[1], 0) - t[3], {1}).mean();
}

/// Mean squared distance of the mass of two particles from a resonance, with an energy scale.
inline torch::Tensor InvariantMass(const Tensors &t)
{
   const auto pt = (t[0].exp() * t[6]) * (t[3].exp() * t[6]);
   const auto eta = t[1] - t[4];
   const auto mass = (2 * pt * (0.5 * (eta.exp() + (-eta).exp()) - (t[2] - t[5]).cos()) + 1e-3).sqrt();
   return (mass - t[7]).square().mean();
}

/// -log likelihood of a resonance on an exponential background.
inline torch::Tensor Resonance(const Tensors &t)
{
   const auto width = t[2].exp(), slope = t[3].exp(), share = t[4].sigmoid();
   const auto signal = width / (M_PI * ((t[0] - t[1]).square() + width.square()));
   const auto background = slope * (-slope * (t[0] + 1)).exp();
   return -(share * signal + (1 - share) * background).log().mean();
}

inline torch::Tensor WeightedRegression(const Tensors &t)
{
   const auto z = torch::linear(torch::linear(t[0], t[1], t[2]).tanh(), t[3], t[4]);
   return (torch::huber_loss(z, t[5], at::Reduction::None, 0.5) * t[6].exp()).mean();
}

inline torch::Tensor Categories(const Tensors &t)
{
   const auto x = torch::cat({torch::embedding(t[1], t[0]).flatten(1), t[2]}, 1);
   return torch::cross_entropy_loss(torch::linear(torch::gelu(torch::linear(x, t[3], t[4])), t[5], t[6]), t[7]);
}

/// A network on each member of a set, those that count added up, and one on the sum.
inline torch::Tensor DeepSets(const Tensors &t)
{
   const auto there = (t[0].slice(2, 0, 1) > -0.3).to(torch::kFloat);
   auto h = torch::linear(torch::linear(t[0], t[1], t[2]).relu(), t[3], t[4]).relu();
   h = (h * there).sum(1);
   return torch::softplus(torch::linear(torch::elu(torch::linear(h, t[5], t[6])), t[7], t[8])).mean();
}

inline torch::Tensor Call(const Tensors &t)
{
   return t[0] * 2;
}

inline const std::map<std::string, Graph> &Graphs()
{
   using List = std::vector<Input>;
   static const std::map<std::string, Graph> graphs = {
      {"logistic", {[](auto n) { return List{{{n, 28}}, {{1, 28}}, {{1}}, {{n, 1}}}; }, LogisticRegression}},
      {"mlp",
       {[](auto n) {
           return List{{{n, 28}}, {{64, 28}}, {{64}}, {{64, 64}}, {{64}}, {{1, 64}}, {{1}}, {{n, 1}}};
        },
        Perceptron}},
      {"residual",
       {[](auto n) {
           List inputs{{{n, 64}}};
           for (int block = 0; block < 2; ++block)
              for (const auto &shape : std::vector<std::vector<std::int64_t>>{{64}, {64}, {128, 64}, {128}, {64, 128}, {64}})
                 inputs.push_back({shape});
           return inputs;
        },
        Residual}},
      {"strain-cnn",
       {[](auto n) {
           return List{{{n, 1, 128}}, {{8, 1, 7}}, {{8}}, {{16, 8, 5}}, {{16}}, {{2, 128}}, {{2}}, {{n}, 2}};
        },
        StrainNetwork}},
      {"transformer",
       {[](auto n) {
           return List{{{n, 8, 32}}, {{32}}, {{32}}, {{96, 32}}, {{96}}, {{32, 32}}, {{32}}, {{32}}, {{32}}, {{64, 32}},
                       {{64}}, {{32, 64}}, {{32}}};
        },
        Transformer}},
      {"flow", {[](auto n) { return List{{{n, 8}}, {{32, 4}}, {{32}}, {{8, 32}}, {{8}}}; }, Coupling}},
      {"mixture", {[](auto n) { return List{{{n, 1}}, {{8}}, {{8}}, {{8}}}; }, Mixture}},
      {"mass", {[](auto n) { return List{{{n}}, {{n}}, {{n}}, {{n}}, {{n}}, {{n}}, {{1}}, {{1}}}; }, InvariantMass}},
      {"resonance", {[](auto n) { return List{{{n}}, {{1}}, {{1}}, {{1}}, {{1}}}; }, Resonance}},
      {"huber",
       {[](auto n) { return List{{{n, 16}}, {{64, 16}}, {{64}}, {{1, 64}}, {{1}}, {{n, 1}}, {{n, 1}}}; },
        WeightedRegression}},
      {"categories",
       {[](auto n) {
           return List{{{n, 4}, 50}, {{50, 8}}, {{n, 16}}, {{64, 48}}, {{64}}, {{5, 64}}, {{5}}, {{n}, 5}};
        },
        Categories}},
      {"deep-sets",
       {[](auto n) {
           return List{{{n, 10, 8}}, {{32, 8}}, {{32}}, {{32, 32}}, {{32}}, {{32, 32}}, {{32}}, {{1, 32}}, {{1}}};
        },
        DeepSets}},
      {"call", {[](auto) { return List{{{}}}; }, Call}},
   };
   return graphs;
}

#endif
