/// \file torch/EventIndices.hxx
/// \brief Indices that count through all events of a batch, as indices in each event.

#ifndef CLADTORCH_TORCH_EVENTINDICES
#define CLADTORCH_TORCH_EVENTINDICES

#include <torch/csrc/jit/ir/ir.h>

namespace CladTorch {
namespace Internal {

/// Code for graphs joins the events of a batch, [N, P, ...] to [N P, ...], and takes elements by indices to which n P
/// was added for event n. If the operators do exactly that, the elements are taken within each event, so that events
/// are independent. Sizes are compared when the graph runs; if they differ, it takes elements from all events.
void TakeInEvents(torch::jit::Graph &graph);

} // namespace Internal
} // namespace CladTorch

#endif
