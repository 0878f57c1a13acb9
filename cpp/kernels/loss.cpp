/// \file loss.cpp
/// The weighted loss of a tile and, in the same pass, its gradient with the derivatives that Clad made.
#include "generated/derivatives.hpp"
#include "kernels.hpp"
#include "losses.hpp"

namespace CladTorch::Kernels {
namespace {

/// A loss that is the mean of F over the columns of z[R,C] and y[R,C]; D is F's derivative by z.
template <typename T, T F(T, T), T D(T, T)>
double MeanLoss(size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz)
{
   const double columns = static_cast<double>(C);
   double sum = 0;
   for (size_t r = 0; r < R; ++r) {
      const T factor = static_cast<T>(scale * w[r] / columns);
      double row = 0;
      for (size_t i = r * C; i < (r + 1) * C; ++i) {
         row += F(z[i], y[i]);
         if (dz) // In the same round, so that the compiler computes an exponential once for both.
            dz[i] = factor * D(z[i], y[i]);
      }
      sum += w[r] * (row / columns);
   }
   return sum;
}

/// Sum of exp(z[c] - top) over the C logits of a row but number `left_out`.
template <typename T>
T SumExp(size_t C, const T *z, T top, size_t left_out)
{
   T sum = 0;
   for (size_t c = 0; c < C; ++c)
      if (c != left_out)
         sum += std::exp(z[c] - top);
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
      const T others = SumExp(C, z, top, target);
      sum += static_cast<double>(w[r]) * SoftmaxCrossEntropy(z[target] - top, others, T(1));
      if (!dz)
         continue;
      const T factor = static_cast<T>(scale * w[r]);
      const T total = others + std::exp(z[target] - top);
      for (size_t c = 0; c < C; ++c) {
         const T shifted = z[c] - top;
         const T without = total - std::exp(shifted); // may come out below zero
         const T rest = c == target ? others : without > 0 ? without : T(0);
         dz[c] = factor * SoftmaxCrossEntropy_darg0(shifted, rest, T(c == target));
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
