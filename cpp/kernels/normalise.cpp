/// \file normalise.cpp
/// Rows normalised to mean 0 and variance 1, scaled and shifted (Ba, Kiros and Hinton 2016, eq. 3), and the pullbacks.
/// The pullbacks recompute mean and deviation: the row is then in the cache.
#include "kernels.hpp"
#include "view.hpp"

#include <cmath>

namespace CladTorch::Kernels {
namespace {

/// Mean and reciprocal deviation of a row x[C]; the variance is that of the C numbers themselves. The mean is computed
/// from the distances to the first number: numbers with a large offset keep their digits, and equal numbers have
/// distance 0.
template <typename T>
struct Moments {
   T fMean, fFactor;

   Moments(size_t C, T eps, const T *x)
   {
      const T first = C ? x[0] : T(0), mean = first + SumOf<T>(C, [=](auto at) { return at(x) - first; }) / static_cast<T>(C);
      fMean = mean;
      const T squares = SumOf<T>(C, [=](auto at) { return (at(x) - mean) * (at(x) - mean); });
      fFactor = 1 / std::sqrt(squares / static_cast<T>(C) + eps);
   }
};

/// dx[R,C] (Add: +)= the part of the pullback for x.
template <bool Add, typename T>
void PullbackOfRows(size_t R, size_t C, T eps, const T *x, const T *w, const T *dy, T *dx)
{
   for (size_t r = 0; r < R; ++r, x += C, dy += C, dx += C) {
      const Moments<T> moments(C, eps, x);
      const T mean = moments.fMean, factor = moments.fFactor;
      const T shift = SumOf<T>(C, [=](auto at) { return at(dy) * at(w); }) / static_cast<T>(C);
      const T slope = SumOf<T>(C, [=](auto at) { return at(dy) * at(w) * ((at(x) - mean) * factor); }) / static_cast<T>(C);
      CT_ELEMENTWISE
      for (size_t i = 0; i < C; ++i)
         dx[i] = (Add ? dx[i] : T(0)) + factor * (dy[i] * w[i] - shift - (x[i] - mean) * factor * slope);
   }
}

} // namespace

/// y[R,C] = (x[R,C] - mean) / sqrt(variance + eps) * w[C] + b[C], each row by its own mean and variance.
template <typename T>
void Normalise(size_t R, size_t C, T eps, const T *x, const T *w, const T *b, T *y)
{
   for (size_t r = 0; r < R; ++r, x += C, y += C) {
      const Moments<T> moments(C, eps, x);
      const T mean = moments.fMean, factor = moments.fFactor;
      CT_ELEMENTWISE
      for (size_t i = 0; i < C; ++i)
         y[i] = (x[i] - mean) * factor * w[i] + b[i];
   }
}

template <typename T>
void NormalisePullback(size_t R, size_t C, T eps, const T *x, const T *w, const T *dy, int add, T *dx)
{
   if (add)
      PullbackOfRows<true>(R, C, eps, x, w, dy, dx);
   else
      PullbackOfRows<false>(R, C, eps, x, w, dy, dx);
}

/// dw[C] += the part of the pullback for w.
template <typename T>
void NormaliseScalePullback(size_t R, size_t C, T eps, const T *x, const T *dy, T *dw)
{
   for (size_t r = 0; r < R; ++r, x += C, dy += C) {
      const Moments<T> moments(C, eps, x);
      const T mean = moments.fMean, factor = moments.fFactor;
      CT_ELEMENTWISE
      for (size_t i = 0; i < C; ++i)
         dw[i] += dy[i] * ((x[i] - mean) * factor);
   }
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Normalise(size_t, size_t, T, const T *, const T *, const T *, T *);                                   \
   template void NormalisePullback(size_t, size_t, T, const T *, const T *, const T *, int, T *);                      \
   template void NormaliseScalePullback(size_t, size_t, T, const T *, const T *, T *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
