/// \file InPlace.hxx
/// \brief Recorded functions whose own tensors are changed part by part.

#ifndef CLADTORCH_INPLACE
#define CLADTORCH_INPLACE

#include <torch/csrc/jit/ir/ir.h>

namespace CladTorch {
namespace Internal {

/// Replaces operators that change memory which the function made (`y.select(1, 0).mul_(2)`) by operators that make a
/// new tensor: every later use of the memory, or of a view of it, becomes one of the new tensor. An operator stays, to
/// be refused later, if the memory may be shared in a way that the record does not show, or if no out-of-place form of
/// it is known.
void ReplaceChangesInPlace(torch::jit::Graph &graph);

/// `aten::add` of `aten::add_`; an empty symbol for all others.
c10::Symbol WithoutUnderscore(const torch::jit::Node &node);

/// Whether the tensors that the operator takes have one type.
bool HaveOneType(const torch::jit::Node &node);

} // namespace Internal
} // namespace CladTorch

#endif
