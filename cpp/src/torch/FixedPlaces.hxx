/// \file torch/FixedPlaces.hxx
/// \brief Elements that are put where constant indices or a mask say.

#ifndef CLADTORCH_TORCH_FIXEDPLACES
#define CLADTORCH_TORCH_FIXEDPLACES

#include <torch/csrc/jit/ir/ir.h>

namespace CladTorch {
namespace Internal {

/// `x.index_put(indices, values)`, with constant indices for neighbouring dimensions that choose no place twice,
/// becomes `x` with those places taken from `values`: operators that read elements. With a mask and one number it
/// becomes `where`. Others stay: if several elements have one place, LibTorch takes any of them.
void TakeFixedPlaces(torch::jit::Graph &graph);

} // namespace Internal
} // namespace CladTorch

#endif
