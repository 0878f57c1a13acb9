/// \file OnLibTorch.hxx
/// \brief Derivatives of a function that LibTorch's own autograd makes.

#ifndef CLADTORCH_ONLIBTORCH
#define CLADTORCH_ONLIBTORCH

#include <CladTorch/Torch/Compile.hxx>

namespace CladTorch {
namespace Internal {

/// The leaves of LibTorch's graph: `inputs`, those of floating point with a gradient.
TensorList Leaves(const TensorList &inputs);

/// For each of `leaves` that has a gradient, the gradient of the sum of `outputs` times `adjoints`, contiguous; for the
/// others an undefined tensor. The graph is kept.
TensorList GradientsOnLibTorch(const TensorList &leaves, const TensorList &outputs, const TensorList &adjoints);

/// See Compiled::HessianVector().
TensorList HessianVector(const ListFunction &function, const TensorList &inputs, const TensorList &directions);

} // namespace Internal
} // namespace CladTorch

#endif
