/// \file Composite.hxx
/// \brief Operators that LibTorch itself writes with others, taken apart.

#ifndef CLADTORCH_COMPOSITE
#define CLADTORCH_COMPOSITE

#include <CladTorch/Torch/LibTorch.hxx>

#include <torch/csrc/jit/ir/ir.h>

namespace CladTorch {
namespace Internal {

/// Replaces operators for which kernels have no rule, and which LibTorch runs by calling others (diff(), kron(),
/// hinge_embedding_loss()), by those others, whose derivatives are LibTorch's for the whole. An operator is not
/// replaced if kernels lack one of its parts, or if it does more than call operators: reads values, draws random
/// numbers.
void TakeCompositesApart(torch::jit::Graph &graph);

} // namespace Internal
} // namespace CladTorch

#endif
