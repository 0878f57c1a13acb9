/// \file linear.cpp
/// The linear layer and its pullback, the one derivative written by hand: products of matrices belong to BLAS. One row
/// or one output is a product with a vector, where a plain loop is faster than a call into BLAS.
#include "blas.hpp"
#include "elementwise.hpp"
#include "kernels.h"

#include <algorithm>

namespace CladTorch::Kernels {
namespace {

/// Sum of a[n] b[n] in a fixed order that vectorises: lane l adds the elements l, l + 16, l + 32, ...
template <typename T>
T Dot(size_t n, const T *a, const T *b)
{
   constexpr size_t kLanes = 16;
   T lanes[kLanes] = {};
   size_t i = 0;
   for (; i + kLanes <= n; i += kLanes)
      for (size_t l = 0; l < kLanes; ++l)
         lanes[l] += a[i + l] * b[i + l];
   for (size_t l = 0; i < n; ++i, ++l)
      lanes[l] += a[i] * b[i];
   for (size_t width = kLanes / 2; width > 0; width /= 2)
      for (size_t l = 0; l < width; ++l)
         lanes[l] += lanes[l + width];
   return lanes[0];
}

/// y[n] += factor x[n]
template <typename T>
void AddScaled(size_t n, T factor, const T *x, T *y)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      y[i] += factor * x[i];
}

/// y[n] = factor x[n]
template <typename T>
void Scale(size_t n, T factor, const T *x, T *y)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      y[i] = factor * x[i];
}

/// z[R,O] = x[R,I] w[O,I]^T + b[O]
template <typename T>
void Linear(size_t R, size_t I, size_t O, const T *x, const T *w, const T *b, T *z)
{
   if (R == 1 || O == 1) {
      for (size_t r = 0; r < R; ++r)
         for (size_t o = 0; o < O; ++o)
            z[r * O + o] = Dot(I, x + r * I, w + o * I) + b[o];
      return;
   }
   for (size_t r = 0; r < R; ++r)
      std::copy_n(b, O, z + r * O);
   Multiply<T>(R, O, I, {x, I}, {w, I, true}, 1, z);
}

/// db[O] += column sums of dz[R,O]
template <typename T>
void BiasPullback(size_t R, size_t O, const T *dz, T *db)
{
   for (size_t r = 0; r < R; ++r)
      AddScaled(O, T(1), dz + r * O, db);
}

/// dw[O,I] += dz[R,O]^T x[R,I]
template <typename T>
void WeightPullback(size_t R, size_t I, size_t O, const T *x, const T *dz, T *dw)
{
   if (R > 1 && O > 1)
      return Multiply<T>(O, I, R, {dz, O, true}, {x, I}, 1, dw);
   for (size_t r = 0; r < R; ++r)
      for (size_t o = 0; o < O; ++o)
         AddScaled(I, dz[r * O + o], x + r * I, dw + o * I);
}

/// dx[R,I] = dz[R,O] w[O,I]
template <typename T>
void InputPullback(size_t R, size_t I, size_t O, const T *w, const T *dz, T *dx)
{
   if (O > 1)
      return Multiply<T>(R, I, O, {dz, O}, {w, I}, 0, dx);
   for (size_t r = 0; r < R; ++r)
      Scale(I, dz[r], w, dx + r * I);
}

template <typename T>
void LinearPullback(size_t R, size_t I, size_t O, const T *x, const T *w, const T *dz, T *dx, T *dw, T *db)
{
   BiasPullback(R, O, dz, db);
   WeightPullback(R, I, O, x, dz, dw);
   if (dx)
      InputPullback(R, I, O, w, dz, dx);
}

} // namespace
} // namespace CladTorch::Kernels

#define CT_DEFINE(T, S)                                                                                                \
   void ct_linear_##S(size_t R, size_t I, size_t O, const T *x, const T *w, const T *b, T *z)                          \
   {                                                                                                                   \
      CladTorch::Kernels::Linear(R, I, O, x, w, b, z);                                                                 \
   }                                                                                                                   \
   void ct_linear_pullback_##S(size_t R, size_t I, size_t O, const T *x, const T *w, const T *dz, T *dx, T *dw, T *db) \
   {                                                                                                                   \
      CladTorch::Kernels::LinearPullback(R, I, O, x, w, dz, dx, dw, db);                                               \
   }

CT_DEFINE(float, f32)
CT_DEFINE(double, f64)
