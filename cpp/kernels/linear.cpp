/// \file linear.cpp
/// The linear layer and its pullback, the only derivative written by hand, using BLAS: the reference against which
/// packed.cpp is tested.
#include "blas.hpp"
#include "elementwise.hpp"
#include "kernels.hpp"

#include <algorithm>

namespace CladTorch::Kernels {

/// z[R,O] = x[R,I] w[O,I]^T + b[O]
template <typename T>
void Linear(size_t R, size_t I, size_t O, const T *x, const T *w, const T *b, T *z)
{
   for (size_t r = 0; r < R; ++r)
      std::copy_n(b, O, z + r * O);
   Multiply<T>(R, O, I, {x, I}, {w, I, true}, 1, z, O);
}

/// db[O] += column sums of dz[R,O]
template <typename T>
void BiasPullback(size_t R, size_t O, const T *dz, T *db)
{
   for (size_t r = 0; r < R; ++r) {
      CT_ELEMENTWISE
      for (size_t o = 0; o < O; ++o)
         db[o] += dz[r * O + o];
   }
}

/// dw[O,I] += dz[R,O]^T x[R,I]; dx[R,I] = dz w[O,I] unless dx is null
template <typename T>
void LinearPullback(size_t R, size_t I, size_t O, const T *x, const T *w, const T *dz, T *dx, T *dw, T *db)
{
   BiasPullback(R, O, dz, db);
   Multiply<T>(O, I, R, {dz, O, true}, {x, I}, 1, dw, I);
   if (dx)
      Multiply<T>(R, I, O, {dz, O}, {w, I}, 0, dx, I);
}

template void Linear(size_t, size_t, size_t, const float *, const float *, const float *, float *);
template void Linear(size_t, size_t, size_t, const double *, const double *, const double *, double *);
template void LinearPullback(size_t, size_t, size_t, const float *, const float *, const float *, float *, float *, float *);
template void LinearPullback(size_t, size_t, size_t, const double *, const double *, const double *, double *, double *, double *);

} // namespace CladTorch::Kernels
