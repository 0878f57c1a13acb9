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

/// Losses that are computed in one go.
constexpr size_t kBlock = 256;

/// A loss that is the mean of F over the columns of z[R,C] and y[R,C]; D is F's derivative by z.
template <typename T, T F(T, T), T D(T, T)>
double MeanLoss(size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz)
{
   const double columns = static_cast<double>(C);
   T values[kBlock], slopes[kBlock];
   double sum = 0, row = 0;
   size_t r = 0, c = 0;
   for (size_t first = 0; first < R * C; first += kBlock) {
      const size_t count = std::min(kBlock, R * C - first);
      CT_ELEMENTWISE
      for (size_t i = 0; i < count; ++i) { // In one round, so that an exponential is computed once for both.
         values[i] = F(z[first + i], y[first + i]);
         slopes[i] = D(z[first + i], y[first + i]);
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

/// Sum of exp(z[c] - top) over the C logits of a row but number `left_out`; with `each`, every exponential too.
template <typename T>
T SumExp(size_t C, const T *z, T top, size_t left_out, T *each)
{
   T sum = 0;
   for (size_t first = 0; first < C; first += kBlock) {
      const size_t count = std::min(kBlock, C - first);
      T block[kBlock];
      CT_ELEMENTWISE
      for (size_t i = 0; i < count; ++i)
         block[i] = Exp(z[first + i] - top);
      for (size_t i = 0; i < count; ++i)
         sum += first + i == left_out ? T(0) : block[i];
      if (each)
         std::copy_n(block, count, each + first);
   }
   return sum;
}

template <typename T>
T Greatest(size_t C, const T *z)
{
   T top = z[0];
   for (size_t c = 1; c < C; ++c)
      top = z[c] > top ? z[c] : top;
   return top;
}

/// Softmax cross-entropy of z[R,C] with the classes y[R].
template <typename T>
double SoftmaxLoss(size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz)
{
   double sum = 0;
   for (size_t r = 0; r < R; ++r, z += C) {
      const size_t target = static_cast<size_t>(y[r]);
      const T top = Greatest(C, z);
      // Summed without the class itself: the difference of two sums would lose a confident row's small loss.
      const T others = SumExp(C, z, top, target, dz);
      sum += static_cast<double>(w[r]) * SoftmaxCrossEntropy(z[target] - top, others, T(1));
      if (!dz)
         continue;
      const T factor = static_cast<T>(scale * w[r]);
      const T total = others + dz[target];
      CT_ELEMENTWISE
      for (size_t c = 0; c < C; ++c) {
         const T without = total - dz[c]; // may come out below zero
         const T rest = c == target ? others : without > 0 ? without : T(0);
         dz[c] = factor * SoftmaxCrossEntropy_darg0(z[c] - top, rest, c == target ? T(1) : T(0));
      }
      dz += C;
   }
   return sum;
}

} // namespace

template <typename T>
double Loss(int kind, size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz)
{
   switch (kind) {
   case CT_BINARY_CROSS_ENTROPY:
      return MeanLoss<T, BinaryCrossEntropy<T>, BinaryCrossEntropy_darg0>(R, C, z, y, w, scale, dz);
   case CT_SOFTMAX_CROSS_ENTROPY: return SoftmaxLoss(R, C, z, y, w, scale, dz);
   case CT_MEAN_SQUARED_ERROR: return MeanLoss<T, SquaredError<T>, SquaredError_darg0>(R, C, z, y, w, scale, dz);
   case CT_HUBER: return MeanLoss<T, Huber<T>, Huber_darg0>(R, C, z, y, w, scale, dz);
   }
   return 0;
}

template double Loss(int, size_t, size_t, const float *, const float *, const float *, double, float *);
template double Loss(int, size_t, size_t, const double *, const double *, const double *, double, double *);

} // namespace CladTorch::Kernels
