/// \file loss.cpp
/// The weighted loss of a tile and, in the same pass, its gradient with the derivatives that Clad made.
#include "elementwise.hpp"
#include "exponential.hpp"
#include "generated/derivatives.hpp"
#include "kernels.hpp"
#include "losses.hpp"

#include <algorithm>

namespace CladTorch::Kernels {
namespace {

/// Losses that are computed in one pass.
constexpr size_t kBlock = 256;

/// A loss that is the mean of `value(z, y)` over the columns of z[R,C] and y[R,C]; `slope` is its derivative by z.
template <typename T, class F, class D>
double MeanLoss(size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz, F value, D slope)
{
   const double columns = static_cast<double>(C);
   T values[kBlock], slopes[kBlock];
   double sum = 0, row = 0;
   size_t r = 0, c = 0;
   for (size_t first = 0; first < R * C; first += kBlock) {
      const size_t count = std::min(kBlock, R * C - first);
      CT_ELEMENTWISE
      for (size_t i = 0; i < count; ++i) { // In one round, so that an exponential is computed once for both.
         values[i] = value(z[first + i], y[first + i]);
         slopes[i] = slope(z[first + i], y[first + i]);
      }
      if (C == 1) {
         for (size_t i = 0; i < count; ++i)
            sum += w[first + i] * static_cast<double>(values[i]);
         if (dz)
            CT_ELEMENTWISE
            for (size_t i = 0; i < count; ++i)
               dz[first + i] = static_cast<T>(scale * w[first + i]) * slopes[i];
         continue;
      }
      for (size_t i = 0; i < count; ++i) {
         row += values[i];
         if (dz)
            dz[first + i] = static_cast<T>(scale * w[r] / columns) * slopes[i];
         if (++c < C)
            continue;
         sum += w[r++] * (row / columns);
         row = 0;
         c = 0;
      }
   }
   return sum;
}

/// Sum of exp(z[c] - top) over the C logits of a row except number `left_out`; with `each`, every exponential too.
template <typename T>
T SumExp(size_t C, const T *z, T top, size_t left_out, T *each)
{
   T sum = 0;
   for (size_t first = 0; first < C; first += kBlock) {
      const size_t count = std::min(kBlock, C - first);
      T block[kBlock];
      CT_ELEMENTWISE
      for (size_t i = 0; i < count; ++i)
         block[i] = ExpOfAny(z[first + i] - top);
      for (size_t i = 0; i < count; ++i)
         sum += first + i == left_out ? T(0) : block[i];
      if (each)
         std::copy_n(block, count, each + first);
   }
   return sum;
}

template <typename T>
T Max(size_t C, const T *z)
{
   T top = z[0];
   for (size_t c = 1; c < C; ++c)
      top = z[c] > top ? z[c] : top;
   return top;
}

/// The mean of z[C] - top.
template <typename T>
T MeanBelow(size_t C, const T *z, T top)
{
   T sum = 0;
   for (size_t c = 0; c < C; ++c)
      sum += z[c] - top;
   return sum / static_cast<T>(C);
}

/// Softmax cross-entropy of z[R,C] with the classes y[R]; each class distributes the share `smoothing` equally over all
/// classes (Szegedy et al. 2016, section 7).
template <typename T>
double SoftmaxLoss(size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz, T smoothing)
{
   const T share = smoothing / static_cast<T>(C), own = 1 - smoothing + share;
   double sum = 0;
   for (size_t r = 0; r < R; ++r, z += C) {
      const size_t target = static_cast<size_t>(y[r]);
      const T top = Max(C, z);
      // Summed without the class itself: the difference of two sums would lose a confident row's small loss.
      const T others = SumExp(C, z, top, target, dz);
      T loss = SoftmaxCrossEntropy(z[target] - top, others, T(1));
      if (smoothing != 0)
         loss += smoothing * (z[target] - top - MeanBelow(C, z, top));
      sum += static_cast<double>(w[r]) * loss;
      if (!dz)
         continue;
      const T factor = static_cast<T>(scale * w[r]);
      const T total = others + dz[target];
      CT_ELEMENTWISE
      for (size_t c = 0; c < C; ++c) {
         const T without = total - dz[c]; // may be below zero after rounding
         const T rest = c == target ? others : without > 0 ? without : T(0);
         dz[c] = factor * SoftmaxCrossEntropy_darg0(z[c] - top, rest, c == target ? own : share);
      }
      dz += C;
   }
   return sum;
}

/// The loss of T means followed by the logarithms of T variances, z[R,2T], for y[R,T]: the sum over the targets.
template <typename T>
double GaussianLoss(size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz, T least)
{
   const size_t targets = C / 2;
   T values[kBlock], mean_slopes[kBlock], spread_slopes[kBlock];
   double sum = 0;
   for (size_t t = 0; t < targets; ++t)
      for (size_t first = 0; first < R; first += kBlock) {
         const size_t count = std::min(kBlock, R - first);
         const T *mean = z + first * C + t, *spread = mean + targets, *label = y + first * targets + t;
         CT_ELEMENTWISE
         for (size_t i = 0; i < count; ++i) {
            const T a = mean[i * C], s = spread[i * C], b = label[i * targets];
            values[i] = Gaussian(a, s, b, least);
            mean_slopes[i] = Gaussian_darg0(a, s, b, least);
            spread_slopes[i] = Gaussian_darg1(a, s, b, least);
         }
         for (size_t i = 0; i < count; ++i)
            sum += w[first + i] * static_cast<double>(values[i]);
         for (size_t i = 0; dz && i < count; ++i) {
            const T factor = static_cast<T>(scale * w[first + i]);
            T *row = dz + (first + i) * C + t;
            row[0] = factor * mean_slopes[i];
            row[targets] = factor * spread_slopes[i];
         }
      }
   return sum;
}

} // namespace

template <typename T>
double Loss(int kind, double parameter, size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz)
{
   const T p = static_cast<T>(parameter);
   const auto mean = [&](auto value, auto slope) { return MeanLoss(R, C, z, y, w, scale, dz, value, slope); };
   switch (kind) {
   case CT_BINARY_CROSS_ENTROPY:
      if (p == 0)
         return mean([](T a, T b) { return BinaryCrossEntropy(a, b); },
                     [](T a, T b) { return BinaryCrossEntropy_darg0(a, b); });
      return mean([p](T a, T b) { return BinaryCrossEntropy(a, (1 - p) * b + p / 2); },
                  [p](T a, T b) { return BinaryCrossEntropy_darg0(a, (1 - p) * b + p / 2); });
   case CT_SOFTMAX_CROSS_ENTROPY: return SoftmaxLoss(R, C, z, y, w, scale, dz, p);
   case CT_MEAN_SQUARED_ERROR:
      return mean([](T a, T b) { return SquaredError(a, b); }, [](T a, T b) { return SquaredError_darg0(a, b); });
   case CT_HUBER: return mean([](T a, T b) { return Huber(a, b); }, [](T a, T b) { return Huber_darg0(a, b); });
   case CT_FOCAL:
      return mean([p](T a, T b) { return Focal(a, b, p); }, [p](T a, T b) { return Focal_darg0(a, b, p); });
   case CT_QUANTILE:
      return mean([p](T a, T b) { return Quantile(a, b, p); }, [p](T a, T b) { return Quantile_darg0(a, b, p); });
   case CT_GAUSSIAN: return GaussianLoss(R, C, z, y, w, scale, dz, p);
   }
   return 0;
}

template double Loss(int, double, size_t, size_t, const float *, const float *, const float *, double, float *);
template double Loss(int, double, size_t, size_t, const double *, const double *, const double *, double, double *);

} // namespace CladTorch::Kernels
