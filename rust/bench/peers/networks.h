/// \file networks.h
/// \brief The networks of `cargo xtask bench train` as modules of LibTorch; networks.py has the same.

#ifndef CLADTORCH_BENCH_NETWORKS
#define CLADTORCH_BENCH_NETWORKS

#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nn = torch::nn;

/// x + two linear layers with batch normalisation between them.
struct ResidualBlockImpl : nn::Module {
   nn::Linear fFirst, fSecond;
   nn::BatchNorm1d fNorm;

   explicit ResidualBlockImpl(std::int64_t width) : fFirst(width, width), fSecond(width, width), fNorm(width)
   {
      register_module("first", fFirst);
      register_module("norm", fNorm);
      register_module("second", fSecond);
   }

   torch::Tensor forward(const torch::Tensor &x) { return x + fSecond(torch::relu(fNorm(fFirst(x)))); }
};
TORCH_MODULE(ResidualBlock);

/// A set of particles: a network on each, their sum, a network on it.
struct DeepSetsImpl : nn::Module {
   nn::Sequential fEach, fAll;

   DeepSetsImpl()
      : fEach(nn::Linear(8, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU()),
        fAll(nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 1))
   {
      register_module("each", fEach);
      register_module("all", fAll);
   }

   torch::Tensor forward(const torch::Tensor &x) { return fAll->forward(fEach->forward(x).sum(1)); }
};
TORCH_MODULE(DeepSets);

/// A transformer's layer, normalised before attention and before the network on each token.
struct TransformerBlockImpl : nn::Module {
   std::int64_t fHeads;
   nn::LayerNorm fBefore, fBetween;
   nn::Linear fParts, fMixed, fWide, fNarrow;

   TransformerBlockImpl(std::int64_t width, std::int64_t heads)
      : fHeads(heads), fBefore(nn::LayerNormOptions({width})), fBetween(nn::LayerNormOptions({width})),
        fParts(width, 3 * width), fMixed(width, width), fWide(width, 2 * width), fNarrow(2 * width, width)
   {
      register_module("before", fBefore);
      register_module("parts", fParts);
      register_module("mixed", fMixed);
      register_module("between", fBetween);
      register_module("wide", fWide);
      register_module("narrow", fNarrow);
   }

   torch::Tensor forward(torch::Tensor x)
   {
      const auto rows = x.size(0), tokens = x.size(1), width = x.size(2);
      std::vector<torch::Tensor> parts;
      for (const auto &part : fParts(fBefore(x)).chunk(3, 2))
         parts.push_back(part.reshape({rows, tokens, fHeads, width / fHeads}).transpose(1, 2));
      const auto attention = torch::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
      x = x + fMixed(attention.transpose(1, 2).reshape({rows, tokens, width}));
      return x + fNarrow(torch::gelu(fWide(fBetween(x))));
   }
};
TORCH_MODULE(TransformerBlock);

struct TransformerImpl : nn::Module {
   nn::Linear fEmbedding, fLast;
   TransformerBlock fFirst, fSecond;

   TransformerImpl() : fEmbedding(8, 32), fLast(32, 1), fFirst(32, 4), fSecond(32, 4)
   {
      register_module("embedding", fEmbedding);
      register_module("first", fFirst);
      register_module("second", fSecond);
      register_module("last", fLast);
   }

   torch::Tensor forward(const torch::Tensor &x) { return fLast(fSecond(fFirst(fEmbedding(x))).mean(1)); }
};
TORCH_MODULE(Transformer);

/// A block of ParticleNet (Qu and Gouskos 2020): a convolution over the edges to the nearest neighbours in the first two
/// features, the mean over them, the mean over all particles.
struct ParticleNetImpl : nn::Module {
   static constexpr std::int64_t kNeighbours = 7;
   nn::Sequential fEdges, fAll;

   ParticleNetImpl()
      : fEdges(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 32), nn::ReLU()),
        fAll(nn::Linear(32, 32), nn::ReLU(), nn::Linear(32, 1))
   {
      register_module("edges", fEdges);
      register_module("all", fAll);
   }

   torch::Tensor forward(const torch::Tensor &x)
   {
      const auto rows = x.size(0), particles = x.size(1), features = x.size(2);
      const auto place = x.narrow(2, 0, 2);
      const auto distance = (place.unsqueeze(1) - place.unsqueeze(2)).square().sum(3);
      const auto nearest = std::get<1>(distance.topk(kNeighbours + 1, 2, /*largest=*/false)).narrow(2, 1, kNeighbours);
      const auto index = nearest.reshape({rows, particles * kNeighbours, 1}).expand({-1, -1, features});
      const auto neighbour = x.gather(1, index).reshape({rows, particles, kNeighbours, features});
      const auto centre = x.unsqueeze(2).expand_as(neighbour);
      return fAll->forward(fEdges->forward(torch::cat({centre, neighbour - centre}, 3)).mean(2).mean(1));
   }
};
TORCH_MODULE(ParticleNet);

/// A network on events of a shape.
struct Network {
   std::shared_ptr<nn::Module> fModule;
   std::vector<std::int64_t> fShape;
   std::function<torch::Tensor(const torch::Tensor &)> fForward;
   std::function<CladTorch::Model()> fModel;
};

template <class Holder>
Network Of(Holder net, const std::vector<std::int64_t> &shape)
{
   return {net.ptr(), shape, [net](const torch::Tensor &x) mutable { return net->forward(x); },
           [net, shape] { return CladTorch::Model(net, std::vector<std::size_t>(shape.begin(), shape.end())); }};
}

inline Network MakeNetwork(const std::string &name)
{
   if (name == "residual-mlp")
      return Of(nn::Sequential(nn::Linear(28, 64), ResidualBlock(64), ResidualBlock(64), ResidualBlock(64),
                               nn::Linear(64, 1)),
                {28});
   if (name == "deep-sets")
      return Of(DeepSets(), {30, 8});
   if (name == "strain-cnn")
      return Of(nn::Sequential(nn::Conv1d(1, 16, 16), nn::ReLU(), nn::MaxPool1d(4), nn::Conv1d(16, 32, 8), nn::ReLU(),
                               nn::MaxPool1d(4), nn::Conv1d(32, 32, 8), nn::ReLU(), nn::MaxPool1d(4), nn::Flatten(),
                               nn::Linear(416, 64), nn::ReLU(), nn::Linear(64, 1)),
                {1, 1024});
   if (name == "gw-search") // as root_macros/gw_network.h
      return Of(nn::Sequential(nn::BatchNorm1d(2), nn::Conv1d(2, 4, 64), nn::BatchNorm1d(4), nn::ELU(), nn::Conv1d(4, 4, 32),
                               nn::MaxPool1d(4), nn::BatchNorm1d(4), nn::ELU(), nn::Conv1d(4, 8, 32), nn::BatchNorm1d(8),
                               nn::ELU(), nn::Conv1d(8, 8, 16), nn::MaxPool1d(3), nn::BatchNorm1d(8), nn::ELU(),
                               nn::Conv1d(8, 16, 16), nn::BatchNorm1d(16), nn::ELU(), nn::Conv1d(16, 16, 16),
                               nn::MaxPool1d(4), nn::BatchNorm1d(16), nn::ELU(), nn::Flatten(), nn::Linear(464, 32),
                               nn::ELU(), nn::Linear(32, 16), nn::ELU(), nn::Linear(16, 1)),
                {2, 2048});
   if (name == "map-cnn") {
      const auto convolution = [](int from, int to) { return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1)); };
      return Of(nn::Sequential(convolution(1, 16), nn::ReLU(), nn::MaxPool2d(2), convolution(16, 32), nn::ReLU(),
                               nn::MaxPool2d(2), convolution(32, 32), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                               nn::Linear(2048, 64), nn::ReLU(), nn::Linear(64, 1)),
                {1, 64, 64});
   }
   if (name == "transformer")
      return Of(Transformer(), {16, 8});
   if (name == "particle-net")
      return Of(ParticleNet(), {24, 8});
   throw std::invalid_argument("no network '" + name + "'");
}

/// A sine of the place, the same in every party.
inline torch::Tensor Wave(std::int64_t number, const std::vector<std::int64_t> &shape)
{
   std::int64_t count = 1;
   for (const auto extent : shape)
      count *= extent;
   const auto phase = (torch::arange(count, torch::kDouble) + 0.4) * (0.7 + 0.1 * number);
   return phase.sin().to(torch::kFloat).reshape(shape);
}

/// Weights that are the same in every party: matrices and filters within 1/sqrt(inputs), scales 1, biases 0.
inline void Initialise(nn::Module &net)
{
   torch::NoGradGuard guard;
   std::int64_t number = 0;
   for (auto &parameter : net.named_parameters()) {
      auto &value = parameter.value();
      if (value.dim() > 1)
         value.copy_(Wave(number, value.sizes().vec()) * std::sqrt(double(value.size(0)) / value.numel()));
      else
         value.fill_(parameter.key().find("bias") == std::string::npos ? 1 : 0);
      ++number;
   }
}

/// [N, ...] features and [N, 1] labels that depend on them.
inline std::pair<torch::Tensor, torch::Tensor> Events(std::int64_t rows, std::vector<std::int64_t> shape)
{
   shape.insert(shape.begin(), rows);
   const auto wave = Wave(1, shape);
   const auto x = wave + 0.7 * (wave * 12347).sin(); // as good as random, and the same in PyTorch
   const auto flat = x.flatten(1);
   const auto score = flat.select(1, 0) + flat.select(1, 3) * flat.select(1, 1);
   const auto wrong = flat.select(1, 2) > 1; // about one in eight
   return {x, ((score > 0) != wrong).to(torch::kFloat).unsqueeze(1)};
}

#endif
