/// \file sums.hpp
/// Sums over contiguous numbers, in the same order with every instruction set.
#pragma once
#include "vector.hpp"

namespace CladTorch::Kernels {

/// At(p) is what lies at an address from element fFirst on: N numbers, as T, one of them as a scalar.
template <typename T, std::size_t N>
struct At {
   std::size_t fFirst;

   template <typename U>
   auto operator()(const U *from) const
   {
      if constexpr (N == 1)
         return static_cast<T>(from[fFirst]);
      else
         return Converted<T, N>(from + fFirst);
   }
};

/// The sum of the lanes of v, halves upon halves, and of the last `rest` < N terms from number `i` on: as many of them as
/// there are lanes are added at each step.
template <typename T, std::size_t N, typename Term>
inline T SumOfLanes(Pack<T, N> v, std::size_t i, std::size_t rest, Term term)
{
   if constexpr (N == 2) {
      const T sum = v[0] + v[1];
      return rest ? sum + term(At<T, 1>{i}) : sum;
   } else {
      constexpr std::size_t half = N / 2;
      const Halves<T, N> halves(v);
      auto sums = halves.fLower + halves.fUpper;
      if (rest >= half) {
         sums += term(At<T, half>{i});
         i += half;
         rest -= half;
      }
      return SumOfLanes<T, half>(sums, i, rest, term);
   }
}

/// See SumOf(); Bytes of partial sums.
template <std::size_t Bytes, typename T, typename Term>
inline T SumByLines(std::size_t n, Term term)
{
   constexpr std::size_t lanes = kLanes<T>, registers = Bytes / kVectorBytes;
   const auto at = [](std::size_t i, std::size_t r) { return At<T, lanes>{i + r * lanes}; };
   Vector<T> sums[registers] = {};
   std::size_t i = 0;
   for (; i + registers * lanes <= n; i += registers * lanes)
      for (std::size_t r = 0; r < registers; ++r)
         sums[r] += term(at(i, r));
   for (std::size_t half = registers / 2; half; half /= 2) {
      for (std::size_t r = 0; r < half; ++r)
         sums[r] += sums[r + half];
      if (n - i >= half * lanes) {
         for (std::size_t r = 0; r < half; ++r)
            sums[r] += term(at(i, r));
         i += half * lanes;
      }
   }
   return SumOfLanes<T, lanes>(sums[0], i, n - i, term);
}

/// The sum over i < n of term(At), n a few thousand, which uses At like p[i] of pointers p. It is over several partial sums: of many numbers over
/// more than wait for one another.
template <typename T, typename Term>
inline T SumOfSome(std::size_t n, Term term)
{
   constexpr std::size_t few = 64, many = 4 * few;
   return n < many / sizeof(T) ? SumByLines<few, T>(n, term) : SumByLines<many, T>(n, term);
}

/// The same of any number of them: sums of a few thousand are added up in double, so that errors do not grow with n.
template <typename T, typename Term>
inline T SumOf(std::size_t n, Term term)
{
   constexpr std::size_t most = 4096;
   if (n <= most)
      return SumOfSome<T>(n, term);
   double sum = 0;
   for (std::size_t first = 0; first < n; first += most)
      sum += SumOfSome<T>(n - first < most ? n - first : most, [=](auto at) {
         at.fFirst += first;
         return term(at);
      });
   return static_cast<T>(sum);
}

/// The sum of n numbers.
template <typename T>
inline T Total(std::size_t n, const T *x)
{
   return SumOf<T>(n, [=](auto at) { return at(x); });
}

} // namespace CladTorch::Kernels
