/// \file rest.hpp
/// What is left of a division by a whole number, as vector code; the mathematical library's fmod is a call for each element.
#pragma once
#include "elementwise.hpp"
#include "operators.hpp"
#include "view.hpp"

#include <cmath>
#include <limits>

namespace CladTorch::Kernels {

/// Whether RestOf() is exact: else the quotient has too many digits, or is no number.
template <typename T>
inline bool HasRest(T b, T times)
{
   constexpr T most = T(1) / (4 * std::numeric_limits<T>::epsilon());
   const bool isExact = std::abs(times) < most, isFinite = std::abs(b) < std::numeric_limits<T>::infinity();
   return isExact & isFinite;
}

/// Fmod(a, b) or, of Floor, Remainder(a, b), with times = trunc(a / b), by a fused multiply-add whose only rounding has nothing
/// to round: rest and times b are whole multiples of the same power of two. The rounded quotient can only be too large by one,
/// and then the rest has the other sign.
template <bool Floor, typename T>
inline T RestOf(T a, T b, T times)
{
   T rest = Exponential::MulAdd(-times, b, a);
   const bool wasTooLarge = (rest != 0) & ((rest < 0) != (a < 0));
   rest = wasTooLarge ? rest + std::copysign(b, a) : rest;
   rest = std::copysign(rest, a); // of zero too
   const bool isBelow = Floor & (rest != 0) & ((rest < 0) != (b < 0));
   return isBelow ? rest + b : rest;
}

#ifdef __FMA__
/// y[i] = result(rest, i) of each Fmod or, of Floor, Remainder; false where one of them has to be computed by the library.
template <bool Floor, typename T, typename Result>
inline bool EachRest(size_t n, const T *a, const T *b, T *y, Result result)
{
   using Bits = typename Exponential::Format<T>::Bits; // as wide as the numbers: else it is no vector code
   Bits bad = 0;
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i) {
      const T times = std::trunc(a[i] / b[i]);
      bad |= HasRest(b[i], times) ? Bits(0) : Bits(1);
      y[i] = result(RestOf<Floor>(a[i], b[i], times), i);
   }
   return bad == 0;
}

template <bool Floor, typename T>
__attribute__((noinline, flatten)) bool Rests(size_t n, const T *a, const T *b, const T *, T *y)
{
   return EachRest<Floor>(n, a, b, y, [](T rest, size_t) { return rest; });
}

/// What dy gives the divisors: less the whole times that each fits. Where one is 0 the quotient has no rest.
template <bool Floor, typename T>
__attribute__((noinline, flatten)) bool RestSlopes(size_t n, const T *a, const T *b, const T *dy, T *db)
{
   return EachRest<Floor>(n, a, b, db, [=](T rest, size_t i) { return 0 - dy[i] * std::nearbyint((a[i] - rest) / b[i]); });
}
#else
template <bool, typename T>
bool Rests(size_t, const T *, const T *, const T *, T *)
{
   return false;
}

template <bool, typename T>
bool RestSlopes(size_t, const T *, const T *, const T *, T *)
{
   return false;
}
#endif

} // namespace CladTorch::Kernels
