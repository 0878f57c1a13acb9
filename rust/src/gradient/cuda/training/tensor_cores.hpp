/// \file tensor_cores.hpp
/// The products of epoch.hpp by tensor cores, whose factors are rounded as P says; sums are float32. Narrow last layers and sums of
/// biases round nothing.
#pragma once
#include "epoch.hpp"

namespace CladTorch::Device {

/// Factors with 11 significant bits.
struct Tf32 {
   static void Multiply(float (&c)[4], const float (&a)[4], const float (&b)[2])
   {
      uint32_t as[4], bs[2];
      for (unsigned i = 0; i < 4; ++i)
         as[i] = ToTf32(a[i]);
      for (unsigned i = 0; i < 2; ++i)
         bs[i] = ToTf32(b[i]);
      MultiplyTf32(c, as, bs);
   }
};

/// Three products instead of one: each factor is the sum of two numbers of 11 bits, of which the product of the small ones is left out,
/// and long sums are made outside of tensor cores (Ootomo and Yokota 2022, IJHPCA 36, 475, section 3).
struct Tf32x3 {
   static void Split(float x, uint32_t &large, uint32_t &small)
   {
      large = ToTf32(x);
      small = ToTf32(x - FromBits(large));
   }
   static void Multiply(float (&c)[4], const float (&a)[4], const float (&b)[2])
   {
      uint32_t a1[4], a2[4], b1[2], b2[2];
      for (unsigned i = 0; i < 4; ++i)
         Split(a[i], a1[i], a2[i]);
      for (unsigned i = 0; i < 2; ++i)
         Split(b[i], b1[i], b2[i]);
      // Tensor cores cut sums off: they sum few terms, and the rest is rounded to nearest.
      float sums[4] = {};
      MultiplyTf32(sums, a2, b1);
      MultiplyTf32(sums, a1, b2);
      MultiplyTf32(sums, a1, b1);
      for (unsigned i = 0; i < 4; ++i)
         c[i] += sums[i];
   }
};

/// Factors with 8 significant bits. As terms of a sum may change places, two that a thread has for TF32 are neighbours here.
struct Bf16 {
   static void Multiply(float (&c)[4], const float (&a)[4], const float (&b)[2])
   {
      const uint32_t as[2] = {ToBf16(a[0], a[2]), ToBf16(a[1], a[3])};
      MultiplyBf16(c, as, ToBf16(b[0], b[1]));
   }
};

/// Neighbouring tiles of 8 columns that a warp computes at once, of `across` to each of `down` tiles of 16 rows: few enough for all
/// warps to have some.
constexpr unsigned Neighbours(unsigned down, unsigned across)
{
   unsigned count = 1;
   while (count < 4 && across % (2 * count) == 0 && down * across >= 2 * count * kWarps)
      count *= 2;
   return count;
}

/// put(m, n, sum over k of a(m, k) b(k, n)) for all m < M and n < N.
template <typename P, unsigned M, unsigned N, unsigned K, typename A, typename B, typename Put>
inline void Product(A a, B b, Put put)
{
   constexpr unsigned kDown = M / 16, kEach = Neighbours(kDown, N / 8);
   static_assert(M % 16 == 0 && N % 8 == 0 && K % 8 == 0);
   // The parts of a thread: see MultiplyTf32().
   const unsigned lane = threadIdx.x % kWarp, major = lane / 4, minor = lane % 4;
   for (unsigned tile = threadIdx.x / kWarp; tile < kDown * (N / 8 / kEach); tile += kWarps) {
      const unsigned m = tile % kDown * 16 + major, n = tile / kDown * kEach * 8;
      float sums[kEach][4] = {};
      CT_UNROLL(2)
      for (unsigned from = 0; from < K; from += 8) {
         const unsigned k = from + minor;
         const float as[4] = {a(m, k), a(m + 8, k), a(m, k + 4), a(m + 8, k + 4)};
         CT_UNROLL(kEach)
         for (unsigned each = 0; each < kEach; ++each) {
            const unsigned column = n + each * 8 + major;
            const float bs[2] = {b(k, column), b(k + 4, column)};
            P::Multiply(sums[each], as, bs);
         }
      }
      CT_UNROLL(kEach)
      for (unsigned each = 0; each < kEach; ++each)
         CT_UNROLL(4)
         for (unsigned e = 0; e < 4; ++e)
            put(m + e / 2 * 8, n + each * 8 + minor * 2 + e % 2, sums[each][e]);
   }
}

/// As Forward(), Back() and Gradient() of epoch.hpp.
template <typename P, unsigned R, unsigned O, unsigned Own, unsigned K, typename A>
inline void RoundedForward(const float *x, const float *w, const float *b, float *a, float *slope)
{
   Product<P, O, R, K>([&](unsigned o, unsigned k) { return w[o * (K + kGap) + k]; },
                       [&](unsigned k, unsigned r) { return x[r * (K + kGap) + k]; },
                       [&](unsigned o, unsigned r, float sum) {
                          PutActivation<A>(o < Own, sum + b[o], r * (O + kGap) + o, a, slope);
                       });
}

template <typename P, unsigned R, unsigned O, unsigned K>
inline void RoundedBack(const float *dz, const float *w, float *d)
{
   Product<P, K, R, O>([&](unsigned k, unsigned o) { return w[o * (K + kGap) + k]; },
                       [&](unsigned o, unsigned r) { return dz[r * (O + kGap) + o]; },
                       [&](unsigned k, unsigned r, float sum) { d[r * (K + kGap) + k] *= sum; });
}

template <typename P, unsigned R, unsigned O, unsigned K>
inline void RoundedGradient(const float *dz, const float *x, float *to, bool adds)
{
   Product<P, O, K, R>([&](unsigned o, unsigned r) { return dz[r * (O + kGap) + o]; },
                       [&](unsigned r, unsigned k) { return x[r * (K + kGap) + k]; },
                       [&](unsigned o, unsigned k, float sum) {
                          float &there = to[o * (K + kGap) + k];
                          there = adds ? there + sum : sum;
                       });
   BiasGradient<R, O, O + kGap>(dz, to + O * (K + kGap), adds);
}

/// c[16,8] = a[16,8] b[8,8], by which a GPU shows that it multiplies as is said here.
template <typename P>
inline void Trial(const float *a, const float *b, float *c)
{
   Product<P, 16, 8, 8>([&](unsigned m, unsigned k) { return a[m * 8 + k]; }, [&](unsigned k, unsigned n) { return b[k * 8 + n]; },
                        [&](unsigned m, unsigned n, float sum) { c[m * 8 + n] = sum; });
}

} // namespace CladTorch::Device
