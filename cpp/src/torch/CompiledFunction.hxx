/// \file CompiledFunction.hxx
/// \brief A compiled function as a node of LibTorch's autograd graph.

#ifndef CLADTORCH_COMPILEDFUNCTION
#define CLADTORCH_COMPILEDFUNCTION

#include "Specialisation.hxx"

#include <memory>

namespace CladTorch {
namespace Internal {

/// `apply(arguments, specialisation)`: `arguments` are the inputs and the captured tensors, as an at::TensorList, the one
/// list in which LibTorch looks for what requires a gradient.
struct CompiledFunction : torch::autograd::Function<CompiledFunction> {
   static TensorList forward(torch::autograd::AutogradContext *context, at::TensorList arguments,
                             const std::shared_ptr<const Specialisation> &specialisation);
   static TensorList backward(torch::autograd::AutogradContext *context, TensorList adjoints);
};

} // namespace Internal
} // namespace CladTorch

#endif
