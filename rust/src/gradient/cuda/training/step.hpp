/// \file step.hpp
/// What a training step needs beside a network: the loss of a row with its derivative, and the update of a parameter.
#pragma once
#include "device.hpp"
#include "generated/derivatives.hpp"
#include "losses.hpp"

namespace CladTorch::Device {

/// Rows of a tile: those from `fFirst` to `fEnd` of the order.
struct Tile {
   uint32_t fFirst, fEnd;
};

/// What the host says of one batch. The rates are those of cpp/kernels/update.cpp, computed in double.
struct Batch {
   double fScale; ///< of the loss: the scale of the weights over the number of rows
   float fRate, fRescale, fShrink;
   uint32_t fFirst, fCount; ///< rows, as places in the order
   uint32_t fStep;          ///< updates before this one

   /// From its row number `row` on.
   Tile From(uint32_t row) const { return {fFirst + row, fFirst + fCount}; }
};

/// Activations with Clad's derivatives of them.
#define CT_ACTIVATION(F)                                                                                               \
   struct F##Activation {                                                                                              \
      static float Value(float z) { return Kernels::F(z); }                                                            \
      static float Slope(float z) { return Kernels::F##_pushforward(z, 1.f).pushforward; }                             \
   };
CT_ACTIVATION(Identity) CT_ACTIVATION(Relu) CT_ACTIVATION(Tanh) CT_ACTIVATION(Sigmoid) CT_ACTIVATION(Silu)
CT_ACTIVATION(Gelu) CT_ACTIVATION(Softplus)
#undef CT_ACTIVATION
struct LeakyReluActivation {
   static float Value(float z) { return Kernels::LeakyRelu(z); }
   static float Slope(float z) { return Kernels::LeakyRelu_darg0(z); }
};

/// Losses that are means over the columns of a row. `p` is the loss's parameter.
struct BinaryCrossEntropyTerm {
   template <typename T> static T Label(T y, T p) { return p == 0 ? y : (1 - p) * y + p / 2; }
   template <typename T> static T Value(T z, T y, T p) { return Kernels::BinaryCrossEntropy(z, Label(y, p)); }
   template <typename T> static T Slope(T z, T y, T p) { return Kernels::BinaryCrossEntropy_darg0(z, Label(y, p)); }
};
struct SquaredErrorTerm {
   template <typename T> static T Value(T z, T y, T) { return Kernels::SquaredError(z, y); }
   template <typename T> static T Slope(T z, T y, T) { return Kernels::SquaredError_darg0(z, y); }
};
struct HuberTerm {
   template <typename T> static T Value(T z, T y, T) { return Kernels::Huber(z, y); }
   template <typename T> static T Slope(T z, T y, T) { return Kernels::Huber_darg0(z, y); }
};
struct FocalTerm {
   template <typename T> static T Value(T z, T y, T p) { return Kernels::Focal(z, y, p); }
   template <typename T> static T Slope(T z, T y, T p) { return Kernels::Focal_darg0(z, y, p); }
};
struct QuantileTerm {
   template <typename T> static T Value(T z, T y, T p) { return Kernels::Quantile(z, y, p); }
   template <typename T> static T Slope(T z, T y, T p) { return Kernels::Quantile_darg0(z, y, p); }
};

/// Each has `double Row(C, p, z, y, scale, dz)`: the loss of one row z[C] with the label y, where dz[C], which may be z, gets
/// `scale` times its derivative. The formulas are those of cpp/kernels/loss.cpp.
template <typename Loss>
struct MeanLoss {
   template <typename T>
   static double Row(unsigned C, T p, const T *z, const T *y, double scale, T *dz)
   {
      const T factor = static_cast<T>(scale / double(C));
      double sum = 0;
      for (unsigned c = 0; c < C; ++c) {
         const T at = z[c];
         sum += double(Loss::Value(at, y[c], p));
         dz[c] = factor * Loss::Slope(at, y[c], p);
      }
      return sum / double(C);
   }
};

struct SoftmaxLoss {
   template <typename T>
   static double Row(unsigned C, T p, const T *z, const T *y, double scale, T *dz)
   {
      const unsigned target = static_cast<unsigned>(y[0]);
      const T share = p / static_cast<T>(C), own = 1 - p + share, factor = static_cast<T>(scale);
      T top = z[0];
      for (unsigned c = 1; c < C; ++c)
         top = z[c] > top ? z[c] : top;
      // Summed without the class itself: the difference of two sums would lose a confident row's small loss.
      T others = 0, below = 0;
      for (unsigned c = 0; c < C; ++c) {
         others += c == target ? T(0) : Kernels::ExpOfAny(z[c] - top);
         below += z[c] - top;
      }
      const T chosen = z[target] - top, total = others + Kernels::ExpOfAny(chosen);
      T loss = Kernels::SoftmaxCrossEntropy(chosen, others, T(1));
      if (p != 0)
         loss += p * (chosen - below / static_cast<T>(C));
      for (unsigned c = 0; c < C; ++c) {
         const T at = z[c] - top, without = total - Kernels::ExpOfAny(at); // may come out below zero
         const T rest = c == target ? others : without > 0 ? without : T(0);
         dz[c] = factor * Kernels::SoftmaxCrossEntropy_darg0(at, rest, c == target ? own : share);
      }
      return double(loss);
   }
};

struct GaussianLoss {
   template <typename T>
   static double Row(unsigned C, T p, const T *z, const T *y, double scale, T *dz)
   {
      const unsigned targets = C / 2;
      const T factor = static_cast<T>(scale);
      double sum = 0;
      for (unsigned t = 0; t < targets; ++t) {
         const T mean = z[t], spread = z[targets + t];
         sum += double(Kernels::Gaussian(mean, spread, y[t], p));
         dz[t] = factor * Kernels::Gaussian_darg0(mean, spread, y[t], p);
         dz[targets + t] = factor * Kernels::Gaussian_darg1(mean, spread, y[t], p);
      }
      return sum;
   }
};

/// losses[block] += the sum of the threads' own ones.
inline void AddLosses(double own, double *losses)
{
   const double sum = Block::Joined(own, [](double a, double b) { return a + b; });
   if (threadIdx.x == 0)
      losses[blockIdx.x] += sum;
}

/// What dropout draws from: ChaCha with 8 rounds (Bernstein, "ChaCha, a variant of Salsa20", 2008, section 3) with a key of 256
/// bits, a counter of blocks and a number of a stream of 64 bits each.
struct ChaCha8 {
   uint32_t fWords[16];

   ChaCha8(const uint32_t (&key)[8], uint64_t block, uint64_t stream)
   {
      const uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, // "expand 32-byte k"
                                  key[0], key[1], key[2], key[3], key[4], key[5], key[6], key[7],
                                  uint32_t(block), uint32_t(block >> 32), uint32_t(stream), uint32_t(stream >> 32)};
      for (unsigned i = 0; i < 16; ++i)
         fWords[i] = start[i];
      for (unsigned round = 0; round < 4; ++round) {
         for (unsigned i = 0; i < 4; ++i)
            Quarter(i, 4 + i, 8 + i, 12 + i);
         for (unsigned i = 0; i < 4; ++i)
            Quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
      }
      for (unsigned i = 0; i < 16; ++i)
         fWords[i] += start[i];
   }

private:
   void Quarter(unsigned a, unsigned b, unsigned c, unsigned d)
   {
      Half(a, b, d, 16);
      Half(c, d, b, 12);
      Half(a, b, d, 8);
      Half(c, d, b, 7);
   }
   void Half(unsigned sum, unsigned term, unsigned mixed, unsigned bits)
   {
      fWords[sum] += fWords[term];
      const uint32_t word = fWords[mixed] ^ fWords[sum];
      fWords[mixed] = word << bits | word >> (32 - bits);
   }
};

/// factors[i] for each of `count` is `kept` where word number `first` + i of the step's stream is below `threshold`, else 0.
inline void DrawFactors(const uint32_t (&key)[8], const Batch &batch, uint64_t first, unsigned count, uint64_t threshold,
                        float kept, float *factors)
{
   const uint64_t from = first / 16, end = (first + count + 15) / 16;
   Each(unsigned(end - from), [=, &key](unsigned i) {
      const uint64_t block = from + i;
      const ChaCha8 drawn(key, block, (uint64_t(1) << 63) + batch.fStep);
      for (unsigned word = 0; word < 16; ++word) {
         const uint64_t at = block * 16 + word - first; // wraps around before the first
         if (at < count)
            factors[at] = drawn.fWords[word] < threshold ? kept : 0;
      }
   });
}

/// What does not change from step to step.
struct Rule {
   float fDecay;    ///< of the weights, as a term of the gradient
   float fMomentum; ///< SGD only
   float fBeta1, fKeep1, fBeta2, fKeep2, fEpsilon; ///< Adam and AdamW
};

/// One parameter's step along its gradient, by the formulas of cpp/kernels/update.cpp.
struct AdamUpdate {
   static void Step(const Rule &rule, const Batch &batch, float &p, float gradient, float &m, float &v)
   {
      const float g = gradient + rule.fDecay * p;
      m = rule.fBeta1 * m + rule.fKeep1 * g;
      v = rule.fBeta2 * v + rule.fKeep2 * g * g;
      p = batch.fShrink * p - batch.fRate * m / (std::sqrt(v) * batch.fRescale + rule.fEpsilon);
   }
};
struct SgdUpdate {
   static void Step(const Rule &rule, const Batch &batch, float &p, float gradient, float &m, float &)
   {
      m = rule.fMomentum * m + (gradient + rule.fDecay * p);
      p -= batch.fRate * m;
   }
};

} // namespace CladTorch::Device
