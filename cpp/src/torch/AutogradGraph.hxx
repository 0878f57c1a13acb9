/// \file AutogradGraph.hxx
/// \brief Whether LibTorch's graph of a function is made by operators alone.

#ifndef CLADTORCH_AUTOGRADGRAPH
#define CLADTORCH_AUTOGRADGRAPH

#include "Observe.hxx"

#include <cstdint>

namespace CladTorch {
namespace Internal {

/// Throws Unobservable where the graph from `outputs` back to `inputs` has a node that is no operator's (a custom
/// torch::autograd::Function), a hook, or a hook was put on an input.
/// \param begin Autograd's sequence number before the function ran: older nodes belong to captured tensors.
void CheckAutogradGraph(const TensorList &inputs, const TensorList &outputs, std::uint64_t begin);

} // namespace Internal
} // namespace CladTorch

#endif
