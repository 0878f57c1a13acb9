/// \file torch/EventIndices.hxx
/// \brief Indices that count through all events of a batch, as indices in each event.

#ifndef CLADTORCH_TORCH_EVENTINDICES
#define CLADTORCH_TORCH_EVENTINDICES

#include <torch/csrc/jit/ir/ir.h>

namespace CladTorch {
namespace Internal {

/// Code for graphs joins the events of a batch, [N, P, ...] to [N P, ...], and takes elements by indices to which n P was added for
/// event n. Where that is what the operators do, the elements are taken in each event, so that events do not know each other. Sizes are
/// compared when the graph runs, which takes them from all events where they are others.
void TakeInEvents(torch::jit::Graph &graph);

} // namespace Internal
} // namespace CladTorch

#endif
