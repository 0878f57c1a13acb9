/// \file torch/ScriptOf.hxx
/// \brief Networks of PyTorch, made of graphs in TorchScript's notation and of tensors.

#ifndef CLADTORCH_TORCH_SCRIPTOF
#define CLADTORCH_TORCH_SCRIPTOF

#include <CladTorch/Torch/LibTorch.hxx>

#include "cladtorch/src/bridge/state_dict.rs.h"

#include <torch/csrc/jit/api/module.h>

namespace CladTorch {
namespace Internal {

/// A network with the parameters and buffers of `spec`, under their names, whose `forward` is its graph. Throws, with
/// its own message or LibTorch's, if an operator is not one of LibTorch's or does not accept its arguments.
torch::jit::Module ScriptOf(const Core::ScriptSpec &spec);

/// Whether two results of one shape differ by no more than rounding does: by 1e-4 of the largest value of `b`, NaN for
/// NaN.
bool AreAlike(const torch::Tensor &a, const torch::Tensor &b);

} // namespace Internal
} // namespace CladTorch

#endif
