/// \file activation.cpp
/// The activation of a layer over all its elements, and its pullback with the derivatives that Clad made.
#include "activations.hpp"
#include "elementwise.hpp"
#include "generated/derivatives.hpp"
#include "kernels.hpp"

namespace CladTorch::Kernels {
namespace {

/// a[n] = F(z[n])
template <typename T, T F(T)>
void Apply(size_t n, const T *z, T *a)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      a[i] = F(z[i]);
}

/// dz[n] = da[n] D(z[n]), D the derivative of the activation
template <typename T, T D(T)>
void ApplyPullback(size_t n, const T *z, const T *da, T *dz)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      dz[i] = da[i] * D(z[i]);
}

} // namespace

template <typename T>
void Activation(int kind, size_t n, const T *z, T *a)
{
   switch (kind) {
   case CT_IDENTITY: return Apply<T, Identity<T>>(n, z, a);
   case CT_RELU: return Apply<T, Relu<T>>(n, z, a);
   case CT_LEAKY_RELU: return Apply<T, LeakyRelu<T>>(n, z, a);
   case CT_TANH: return Apply<T, Tanh<T>>(n, z, a);
   case CT_SIGMOID: return Apply<T, Sigmoid<T>>(n, z, a);
   case CT_SILU: return Apply<T, Silu<T>>(n, z, a);
   case CT_GELU: return Apply<T, Gelu<T>>(n, z, a);
   case CT_SOFTPLUS: return Apply<T, Softplus<T>>(n, z, a);
   }
}

template <typename T>
void ActivationPullback(int kind, size_t n, const T *z, const T *da, T *dz)
{
   switch (kind) {
   case CT_IDENTITY: return ApplyPullback<T, Identity_darg0>(n, z, da, dz);
   case CT_RELU: return ApplyPullback<T, Relu_darg0>(n, z, da, dz);
   case CT_LEAKY_RELU: return ApplyPullback<T, LeakyRelu_darg0>(n, z, da, dz);
   case CT_TANH: return ApplyPullback<T, Tanh_darg0>(n, z, da, dz);
   case CT_SIGMOID: return ApplyPullback<T, Sigmoid_darg0>(n, z, da, dz);
   case CT_SILU: return ApplyPullback<T, Silu_darg0>(n, z, da, dz);
   case CT_GELU: return ApplyPullback<T, Gelu_darg0>(n, z, da, dz);
   case CT_SOFTPLUS: return ApplyPullback<T, Softplus_darg0>(n, z, da, dz);
   }
}

template void Activation(int, size_t, const float *, float *);
template void Activation(int, size_t, const double *, double *);
template void ActivationPullback(int, size_t, const float *, const float *, float *);
template void ActivationPullback(int, size_t, const double *, const double *, double *);

} // namespace CladTorch::Kernels
