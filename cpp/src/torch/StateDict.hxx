/// \file torch/StateDict.hxx
/// \brief The tensors of a module under all their names.

#ifndef CLADTORCH_TORCH_STATEDICT
#define CLADTORCH_TORCH_STATEDICT

#include "ModuleCalls.hxx"

#include "cladtorch/src/bridge/state_dict.rs.h"

namespace CladTorch {
namespace Internal {

/// The parameters and buffers of `module`, including those that do not train or that the network does not use. `placed`
/// are the tensors that a model knows, with their places; `knowsAll`: it computes with no others.
rust::Vec<Core::StateSpec> StateDict(const torch::nn::Module &module, const PlacedTensors &placed, bool knowsAll);

} // namespace Internal
} // namespace CladTorch

#endif
