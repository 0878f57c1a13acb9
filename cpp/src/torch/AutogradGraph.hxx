/// \file AutogradGraph.hxx
/// \brief Whether operators alone make LibTorch's graph of a function, and where it leads.

#ifndef CLADTORCH_AUTOGRADGRAPH
#define CLADTORCH_AUTOGRADGRAPH

#include <CladTorch/Torch/Compile.hxx>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace CladTorch {
namespace Internal {

/// For each output, the arguments that its gradient reaches.
using Reached = std::vector<std::vector<bool>>;

/// Follows the graph from each of `outputs` back to `arguments`. Throws Unobservable if it contains a node that is not
/// an operator's (a custom torch::autograd::Function), ends elsewhere or has a hook, or if one of the first `inputs`
/// arguments has a hook.
/// \param begin Autograd's sequence number before the function ran: older nodes belong to captured tensors.
Reached FollowAutogradGraph(const TensorList &arguments, std::size_t inputs, const TensorList &outputs, std::uint64_t begin);

/// Whether autograd computed `tensor`, which requires a gradient, from `other`.
bool DependsOn(const torch::Tensor &tensor, const torch::Tensor &other);

} // namespace Internal
} // namespace CladTorch

#endif
