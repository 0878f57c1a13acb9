/// \file exponential.hpp
/// exp, erfc and what is made of them in plain arithmetic without branches, so that loops over them become vector code; those of the
/// C library are calls. Errors are a few units in the last place, in the denormal range one of its steps.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace CladTorch::Kernels {
namespace Exponential {

template <typename T>
struct Format;

/// IEEE 754 binary32, with ln 2 in two parts of which the first times any exponent is exact (Cody and Waite 1980,
/// chapter 6).
template <>
struct Format<float> {
   using Bits = std::uint32_t;
   static constexpr int kMantissa = 23;
   static constexpr Bits kBias = 127;
   static constexpr float kLowest = -104, kHighest = 89; ///< exp is 0 below and infinite above
   static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
   static constexpr int kExpTerms = 7, kLogTerms = 7;
   static constexpr float kErfcZero = 11; ///< from here on erfc is 0
   static constexpr int kUpperHalf = 12; ///< a number without this many bits has an exact square
   static constexpr float kErfc[] = {
      1.253008056f, -0.1356211001f, -0.04756215615f, 0.1296447209f, -0.1192752814f, 0.06831319672f,
      -0.0237635597f, 0.002506778672f, 0.001875060246f, -0.0007340820504f, -9.253769126e-5f, 8.007454975e-5f};
};

/// The same of binary64.
template <>
struct Format<double> {
   using Bits = std::uint64_t;
   static constexpr int kMantissa = 52;
   static constexpr Bits kBias = 1023;
   static constexpr double kLowest = -746, kHighest = 710;
   static constexpr double kLn2High = 6.93145751953125e-1, kLn2Low = 1.42860682030941723212e-6;
   static constexpr int kExpTerms = 13, kLogTerms = 16;
   static constexpr double kErfcZero = 28;
   static constexpr int kUpperHalf = 27;
   static constexpr double kErfc[] = {
      1.253008058269729653, -0.1356211061245811727, -0.04756229435345087205, 0.1296451587027606197,
      -0.119273663415306992, 0.06830802734397847505, -0.02377051491864588696, 0.002529391816066239156,
      0.001888690359156155219, -0.0007798322721083991249, -0.0001051597998150117767,
      0.0001250993523556310756, 4.949484992570595171e-6, -0.00002010056793128922811,
      -7.315105164159061909e-7, 3.472414602875686032e-6, 3.568383915399220462e-7, -6.166496077604352777e-7,
      -1.416006494026598607e-7, 1.018700060007288508e-7, 4.180784698845582199e-8, -1.332636481300383305e-8,
      -8.500397929772615353e-9, 9.885798831139364936e-10, 8.864219016427092024e-10};
};

/// Added to a number of magnitude below 2^(mantissa - 2), leaves its nearest integer in the low bits.
template <typename T>
constexpr T kRound = T(3) * T(typename Format<T>::Bits(1) << (Format<T>::kMantissa - 1));

template <typename T>
inline typename Format<T>::Bits BitsOf(T x)
{
   typename Format<T>::Bits bits;
   std::memcpy(&bits, &x, sizeof bits);
   return bits;
}

/// 2^n of a whole n in the range of the exponent.
template <typename T>
inline T PowerOfTwo(T n)
{
   using F = Format<T>;
   const auto bits = (BitsOf(n + kRound<T>)-BitsOf(kRound<T>)+F::kBias) << F::kMantissa;
   T power;
   std::memcpy(&power, &bits, sizeof power);
   return power;
}

} // namespace Exponential

/// exp(x): x = n ln 2 + r, Taylor's series in |r| <= ln(2) / 2, times 2^n in two steps, because n may be beyond the
/// exponent's range where the result is not.
template <typename T>
inline T Exp(T x)
{
   using namespace Exponential;
   using F = Format<T>;
   x = x < F::kLowest ? F::kLowest : x; // written so that a NaN stays
   x = x > F::kHighest ? F::kHighest : x;
   const T n = (x * T(1.44269504088896340736) + kRound<T>)-kRound<T>; // x / ln 2
   const T r = (x - n * F::kLn2High) - n * F::kLn2Low;
   T sum = 1;
   for (int k = F::kExpTerms; k > 0; --k)
      sum = 1 + sum * (r * (T(1) / T(k)));
   const T half = (n * T(0.5) + kRound<T>)-kRound<T>;
   return sum * PowerOfTwo(half) * PowerOfTwo(n - half);
}

/// exp(x) - 1 for x <= 0, without losing the digits of a small x: exp(r) - 1 is put together with 2^n - 1.
template <typename T>
inline T Expm1OfNegative(T x)
{
   using namespace Exponential;
   using F = Format<T>;
   x = x < F::kLowest / 2 ? F::kLowest / 2 : x; // the result is -1 far above that
   const T n = (x * T(1.44269504088896340736) + kRound<T>)-kRound<T>;
   const T r = (x - n * F::kLn2High) - n * F::kLn2Low;
   T sum = 1;
   for (int k = F::kExpTerms; k > 1; --k)
      sum = 1 + sum * (r * (T(1) / T(k)));
   const T power = PowerOfTwo(n);
   return std::copysign(power * (r * sum) + (power - 1), x); // of zero too
}

/// tanh(x) = -m / (2 + m) with m = exp(-2 |x|) - 1, with the sign of x.
template <typename T>
inline T HyperbolicTangent(T x)
{
   const T m = Expm1OfNegative(x < 0 ? 2 * x : -2 * x);
   return std::copysign(m / (2 + m), x);
}

/// log(1 + x) for x in [0, 1]: 2 atanh(s) with s = x / (2 + x) <= 1/3, by its series.
template <typename T>
inline T Log1pOfUnit(T x)
{
   const T s = x / (2 + x), square = s * s;
   T sum = T(1) / T(2 * Exponential::Format<T>::kLogTerms + 1);
   for (int k = Exponential::Format<T>::kLogTerms - 1; k >= 0; --k)
      sum = T(1) / T(2 * k + 1) + square * sum;
   return 2 * s * sum;
}

/// 1 - erf(x): exp(-x^2) p(s) / (1 + 2 |x|) with s = (|x| - 3) / (|x| + 3), in which that quotient is smooth up to infinity
/// (Shepherd and Laframboise 1981). The polynomials p interpolate at Chebyshev's points; x^2 is split, because a rounding of
/// it is an error of the exponential.
template <typename T>
inline T Erfc(T x)
{
   using namespace Exponential;
   using F = Format<T>;
   T size = x < 0 ? -x : x;
   size = size > F::kErfcZero ? F::kErfcZero : size; // written so that a NaN stays
   const auto bits = BitsOf(size) >> F::kUpperHalf << F::kUpperHalf;
   T upper;
   std::memcpy(&upper, &bits, sizeof upper);
   const T s = (size - 3) / (size + 3);
   T sum = 0;
   for (int k = sizeof F::kErfc / sizeof(T) - 1; k >= 0; --k)
      sum = F::kErfc[k] + s * sum;
   const T rest = (upper - size) * (upper + size); // below 0.12 in magnitude
   T factor = 1;
   for (int k = 5; k > 0; --k)
      factor = 1 + factor * (rest * (T(1) / T(k)));
   const T tail = Exp(-upper * upper) * factor * sum / (1 + 2 * size);
   return x < 0 ? 2 - tail : tail;
}

} // namespace CladTorch::Kernels
