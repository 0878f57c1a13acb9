/// \file saved_models_write.C
/// \brief Models of many networks, fitted and saved; the result of a second fit is beside each file.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "saved_models.h"

#include <functional>
#include <map>

using CladTorch::Model;
using torch::Tensor;
namespace nn = torch::nn;

/// The operations of `forward` on the parts, which are registered.
struct NetImpl : nn::Module {
   std::function<Tensor(Tensor)> fForward;
   NetImpl(std::vector<std::shared_ptr<nn::Module>> parts, std::function<Tensor(Tensor)> forward) : fForward(std::move(forward))
   {
      for (std::size_t i = 0; i < parts.size(); ++i)
         register_module("part" + std::to_string(i), parts[i]);
   }
   Tensor forward(Tensor x) { return fForward(x); }
};

template <class... Parts>
std::shared_ptr<NetImpl> Make(std::function<Tensor(Tensor)> forward, const Parts &...parts)
{
   return std::make_shared<NetImpl>(std::vector<std::shared_ptr<nn::Module>>{parts.ptr()...}, std::move(forward));
}

/// Uses tensors that it does not train.
struct BufferImpl : nn::Module {
   nn::Linear fOut{kWidth / 2, 1};
   Tensor fIndex = torch::arange(0, kWidth, 2), fMask = torch::arange(kWidth / 2) % 3 == 0;
   BufferImpl()
   {
      register_module("out", fOut);
      register_buffer("index", fIndex);
      register_buffer("mask", fMask);
   }
   Tensor forward(Tensor x)
   {
      return fOut(x.index_select(1, fIndex).masked_fill(fMask, 0.5));
   }
};

/// Particles with a mask, beside four numbers.
struct SetImpl : nn::Module {
   nn::Linear fParticle{4, 16}, fOut{16 + 4, 1};
   SetImpl()
   {
      register_module("particle", fParticle);
      register_module("out", fOut);
   }
   Tensor forward(Tensor particles, Tensor mask, Tensor scalars)
   {
      const auto present = (mask > 0).unsqueeze(2);
      const auto zero = torch::zeros({1});
      const auto sum = torch::where(present, torch::silu(fParticle(particles)), zero).sum(1);
      return fOut(torch::cat({sum, scalars}, 1));
   }
};

std::map<std::string, std::function<Model()>> Networks()
{
   const std::vector<std::size_t> flat{kWidth};
   return {
      {"linear", [=] { return Model(nn::Sequential(nn::Linear(kWidth, 16), nn::ReLU(), nn::Linear(16, 1)), flat); }},
      {"residual", [=] {
         nn::Linear in(kWidth, 16), inner(16, 16), out(16, 1);
         return Model(Make([=](Tensor x) mutable { x = in(x); return out(x + torch::gelu(inner(x))).squeeze(-1); }, in, inner, out), flat);
      }},
      {"batch_norm", [=] {
         return Model(nn::Sequential(nn::Linear(kWidth, 16), nn::BatchNorm1d(16), nn::Tanh(), nn::Linear(16, 1)), flat);
      }},
      {"layer_norm", [=] {
         return Model(nn::Sequential(nn::LayerNorm(nn::LayerNormOptions({kWidth})), nn::Linear(kWidth, 8), nn::ELU(), nn::Linear(8, 1)), flat);
      }},
      {"dropout", [=] {
         return Model(nn::Sequential(nn::Linear(kWidth, 16), nn::SiLU(), nn::Dropout(0.3), nn::Linear(16, 1)), flat);
      }},
      {"cnn", [=] {
         return Model(nn::Sequential(nn::Conv1d(nn::Conv1dOptions(2, 4, 3).padding(1)), nn::ReLU(), nn::MaxPool1d(2),
                                     nn::Conv1d(nn::Conv1dOptions(4, 4, 3).stride(2)), nn::AvgPool1d(2), nn::Flatten(), nn::Linear(4, 1)),
                      {2, kWidth / 2});
      }},
      {"attention", [=] {
         nn::MultiheadAttention attention(nn::MultiheadAttentionOptions(4, 2));
         nn::Linear out(4, 1);
         return Model(Make([=](Tensor x) mutable {
            x = x.transpose(0, 1);
            return out((x + std::get<0>(attention(x, x, x))).mean(0));
         }, attention, out), {kWidth / 4, 4});
      }},
      {"function", [=] {
         const auto w = torch::full({kWidth, 3}, 0.1, torch::requires_grad()), b = torch::zeros({3}, torch::requires_grad());
         const auto v = torch::ones({3}, torch::requires_grad());
         return Model([=](Tensor x) { return torch::tanh(x.matmul(w) + b).matmul(v); }, flat);
      }},
      {"outputs", [=] { return Model(nn::Sequential(nn::Linear(kWidth, 8), nn::Softplus(), nn::Linear(8, 3)), flat); }},
      {"several_inputs", [=] { return Model(std::make_shared<SetImpl>(), {{4, 4}, {4}, {4}}); }},
      {"buffer", [=] { return Model(std::make_shared<BufferImpl>(), flat); }},
   };
}

void saved_models_write()
{
   const auto data = Events();
   auto networks = Networks();
   CHECK(networks.size() == kNetworks.size());
   for (const auto &name : kNetworks) {
      torch::manual_seed(5);
      auto model = networks.at(name)();
      model.Fit(data, Options(1));
      model.Save(name + ".ct");
      Write(name + ".before", Numbers(model, data));
      model.Fit(data, Options(2));
      Write(name + ".after", Numbers(model, data));
   }
   Passed();
}
