/// \file CladTorch/Torch/Model.hxx
/// \brief Models of LibTorch's modules and functions: see CladTorch/Model.hxx.

#ifndef CLADTORCH_TORCH_MODEL
#define CLADTORCH_TORCH_MODEL

#include <CladTorch/Model.hxx>
#include <CladTorch/Torch/Compile.hxx>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

/// \param module Whose mode is switched; may be null.
/// \param shape Of one event.
std::shared_ptr<ModelData>
ObserveModel(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape);

/// The same for a function of several tensors, of one shape each.
std::shared_ptr<ModelData> ObserveModel(ListFunction function, std::shared_ptr<torch::nn::Module> module,
                                        const std::vector<std::vector<std::size_t>> &shapes);

/// `loss` takes outputs [events, outputs] and labels [events, labels].
std::shared_ptr<LossData> ObserveLoss(ListFunction loss, std::size_t outputs, std::size_t labels);

/// The loss that Model::Fit minimises instead of a built-in one.
template <class F, class = std::enable_if_t<std::is_invocable_v<F &, const torch::Tensor &, const torch::Tensor &>>>
std::shared_ptr<LossData> MakeLoss(F loss, std::size_t outputs, std::size_t labels, FromTorch)
{
   auto ofList = [loss = std::move(loss)](const TensorList &tensors) mutable { return Unpacked<F, 2, 2>(loss, tensors); };
   return ObserveLoss(std::move(ofList), outputs, labels);
}

/// What a Model of `function` points to.
template <class F>
std::shared_ptr<ModelData> MakeModel(F function, const std::vector<std::vector<std::size_t>> &shapes, FromTorch)
{
   if constexpr (IsModule<F>::value) {
      const auto module = ModulePointer(function);
      const auto forward = [module](const auto &...inputs) -> decltype(module->forward(inputs...)) {
         return module->forward(inputs...);
      };
      return ObserveModel(AsListFunction(forward), module, shapes);
   } else {
      return ObserveModel(AsListFunction(std::move(function)), nullptr, shapes);
   }
}

/// The same of a function of one tensor.
template <class F>
std::shared_ptr<ModelData> MakeModel(F function, const std::vector<std::size_t> &shape, FromTorch)
{
   if constexpr (IsModule<F>::value) {
      const auto module = ModulePointer(function);
      return ObserveModel([module](const TensorList &inputs) { return AsList(module->forward(inputs.at(0))); }, module, shape);
   } else {
      static_assert(std::is_invocable_v<F &, const torch::Tensor &>,
                    "a Model is made of a module of torch::nn, not a reference to it, or of a function of one torch::Tensor");
      const auto call = [function = std::move(function)](const TensorList &inputs) mutable {
         return AsList(function(inputs.at(0)));
      };
      return ObserveModel(call, nullptr, shape);
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
