/// \file exponential.hpp
/// exp, erfc and what is made of them in plain arithmetic without branches, so that loops over them become vector code; those of the
/// C library are calls. Errors are a few units in the last place, in the denormal range one of its steps. Where the processor has
/// fused multiply-adds, they are asked for by name: every compiler gives the same bits, with AVX2 as with AVX-512.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

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
   static constexpr int kLogTerms = 7;
   static constexpr float kExpm1[] = {1.0f, 0.50000000134658092f, 0.16666505195758111f,
                                      0.041666464925285905f, 0.0083691556676973968f, 0.0013933649996309250f};
   static constexpr float kErfcZero = 11; ///< from here on erfc is 0
   static constexpr int kLowerHalf = 12; ///< a number without this many last bits has an exact square
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
   static constexpr int kLogTerms = 16;
   static constexpr double kExpm1[] = {
      1.0, 0.50000000000000056225, 0.16666666666666670991, 0.041666666666573067732, 0.0083333333333261351258,
      0.0013888888932514779355, 0.00019841269874820625271, 0.000024801504313785540166, 2.755725540020642443e-6,
      2.7626371065696356076e-7, 2.5105217004720745164e-8};
   static constexpr double kErfcZero = 28;
   static constexpr int kLowerHalf = 27;
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

template <typename T>
inline T FromBits(typename Format<T>::Bits bits)
{
   T x;
   std::memcpy(&x, &bits, sizeof x);
   return x;
}

/// a b + c, rounded once where the processor can.
template <typename T>
inline T MulAdd(T a, T b, T c)
{
#ifdef __FMA__
   return std::fma(a, b, c);
#else
   return a * b + c;
#endif
}

/// sum_k c[k] x^k, without a loop, which compilers leave alone inside of loops that they make vector code of.
template <typename T, std::size_t N, std::size_t... K>
inline T Polynomial(const T (&c)[N], T x, std::index_sequence<K...>)
{
   T sum = c[N - 1];
   ((sum = MulAdd(sum, x, c[N - 2 - K])), ...);
   return sum;
}
template <typename T, std::size_t N>
inline T Polynomial(const T (&c)[N], T x)
{
   return Polynomial(c, x, std::make_index_sequence<N - 1>());
}

/// What is lost in the rounding of x * x.
template <typename T>
inline T SquareError(T x, T square)
{
#ifdef __FMA__
   return std::fma(x, x, -square);
#else
   // Dekker 1971, eq. (5.12): the products of halves are exact.
   constexpr int half = Format<T>::kLowerHalf;
   const T upper = FromBits<T>(BitsOf(x) >> half << half), lower = x - upper;
   return ((upper * upper - square) + 2 * upper * lower) + lower * lower;
#endif
}

/// x = n ln 2 + rest, |rest| <= ln(2) / 2, of a whole n that stands in the low bits of `shifted`, above those of kRound.
template <typename T>
struct Reduced {
   T fShifted, fRest;

   explicit Reduced(T x) : fShifted(MulAdd(x, T(1.44269504088896340736), kRound<T>)) // 1 / ln 2
   {
      const T n = fShifted - kRound<T>;
      fRest = MulAdd(n, -Format<T>::kLn2Low, MulAdd(n, -Format<T>::kLn2High, x));
   }

   /// n + `bias`
   typename Format<T>::Bits Exponent(typename Format<T>::Bits bias) const
   {
      return BitsOf(fShifted) - BitsOf(kRound<T>) + bias;
   }

   /// (exp(rest) - 1) / rest: interpolated at Chebyshev's points, to 5e-9 and 9e-18 of exp(rest).
   T Slope() const { return Polynomial(Format<T>::kExpm1, fRest); }
};

/// 1 - erf(x) and exp(-x^2), its derivative but for the factor -2 / sqrt(pi).
template <typename T>
struct ErfcAndGauss {
   T fErfc, fGauss;
};

} // namespace Exponential

/// exp(x) = exp(rest) 2^n, in two steps, because n may be beyond the exponent's range where the result is not. For x from
/// 1.2 kLowest to kHighest.
template <typename T>
inline T ExpInRange(T x)
{
   using namespace Exponential;
   using F = Format<T>;
   const Reduced<T> reduced(x);
   const auto both = reduced.Exponent(2 * F::kBias), half = both >> 1;
   const T value = MulAdd(reduced.fRest, reduced.Slope(), T(1));
   return value * FromBits<T>(half << F::kMantissa) * FromBits<T>((both - half) << F::kMantissa);
}

/// exp(x). What is beyond the range replaces the result, not x: a compiler makes more instructions of that.
template <typename T>
inline T ExpOfAny(T x)
{
   using F = Exponential::Format<T>;
   T e = ExpInRange(x);
   e = x < F::kLowest ? T(0) : e; // a NaN stays
   return x > F::kHighest ? std::numeric_limits<T>::infinity() : e;
}

/// exp(x) - 1 for x <= 0, without losing the digits of a small x: exp(rest) - 1 is put together with 2^n - 1.
template <typename T>
inline T Expm1OfNegative(T x)
{
   using namespace Exponential;
   using F = Format<T>;
   x = x < F::kLowest / 2 ? F::kLowest / 2 : x; // the result is -1 far above that
   const Reduced<T> reduced(x);
   const T power = FromBits<T>(reduced.Exponent(F::kBias) << F::kMantissa);
   return std::copysign(MulAdd(power, reduced.fRest * reduced.Slope(), power - 1), x); // of zero too
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
      sum = Exponential::MulAdd(square, sum, T(1) / T(2 * k + 1));
   return 2 * s * sum;
}

/// erfc(|x|) = exp(-x^2) p(s) / (1 + 2 |x|) with s = (|x| - 3) / (|x| + 3), in which that quotient is smooth up to infinity
/// (Shepherd and Laframboise 1981). The polynomials p interpolate at Chebyshev's points; what the rounding of x^2 loses is an
/// error of the exponential, and put back. One division serves both quotients.
template <typename T>
inline Exponential::ErfcAndGauss<T> ErfcWithGauss(T x)
{
   using namespace Exponential;
   using F = Format<T>;
   T size = x < 0 ? -x : x;
   size = size > F::kErfcZero ? F::kErfcZero : size; // written so that a NaN stays
   const T square = size * size, rounded = ExpInRange(-square);
   const T gauss = rounded - rounded * SquareError(size, square);
   const T below = 1 + 2 * size, inverse = 1 / ((size + 3) * below);
   const T p = Polynomial(F::kErfc, (size - 3) * below * inverse);
   const T tail = gauss * p * ((size + 3) * inverse);
   return {x < 0 ? 2 - tail : tail, gauss};
}

/// 1 - erf(x)
template <typename T>
inline T Erfc(T x)
{
   return ErfcWithGauss(x).fErfc;
}

} // namespace CladTorch::Kernels
