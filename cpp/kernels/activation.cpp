/// \file activation.cpp
/// The pullback of an activation that ran inside a layer, if it does not run inside the pullback of the next layer.
#include "activations.hpp"
#include "elementwise.hpp"
#include "generated/derivatives.hpp"
#include "kernels.hpp"

namespace CladTorch::Kernels {
namespace {

/// d[n] *= D(a[n]), where D is the derivative of the activation
template <typename T, T D(T)>
void ApplyPullback(size_t n, const T *a, T *d)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      d[i] *= D(a[i]);
}

} // namespace

template <typename T>
void ActivationPullback(int kind, size_t n, const T *a, T *d)
{
   switch (kind) {
   case CT_IDENTITY: return;
   case CT_RELU: return ApplyPullback<T, Relu_darg0>(n, a, d);
   case CT_LEAKY_RELU: return ApplyPullback<T, LeakyRelu_darg0>(n, a, d);
   }
}

template void ActivationPullback(int, size_t, const float *, float *);
template void ActivationPullback(int, size_t, const double *, double *);

} // namespace CladTorch::Kernels
