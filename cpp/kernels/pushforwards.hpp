/// \file pushforwards.hpp
/// The few names that Clad's text in generated/ uses, so that it compiles where Clad is not installed. A pushforward
/// carries a value x and its tangent d_x through one function of <cmath>; a pullback adds to the adjoints of the arguments
/// what the adjoint d_z of the value gives them.
///
/// They live in CladTorch::Kernels::clad, where the generated text finds them first: no clash with Clad's own headers
/// in a process that has them.
#pragma once
#include "exponential.hpp"

#include <cmath>

namespace CladTorch::Kernels::clad {

template <typename T, typename U = T>
struct ValueAndPushforward {
   T value;
   U pushforward;
};

namespace custom_derivatives::std {

template <typename T>
inline ValueAndPushforward<T> exp_pushforward(T x, T d_x)
{
   T e = ::std::exp(x);
   return {e, e * d_x};
}

template <typename T>
inline ValueAndPushforward<T> expm1_pushforward(T x, T d_x)
{
   return {::std::expm1(x), ExpOfAny(x) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> log1p_pushforward(T x, T d_x)
{
   return {::std::log1p(x), d_x / (1 + x)};
}

template <typename T>
inline ValueAndPushforward<T> log_pushforward(T x, T d_x)
{
   return {::std::log(x), d_x / x};
}

template <typename T>
inline ValueAndPushforward<T> sqrt_pushforward(T x, T d_x)
{
   T root = ::std::sqrt(x);
   return {root, d_x / (2 * root)};
}

template <typename T>
inline ValueAndPushforward<T> sin_pushforward(T x, T d_x)
{
   return {::std::sin(x), ::std::cos(x) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> cos_pushforward(T x, T d_x)
{
   return {::std::cos(x), -::std::sin(x) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> exp2_pushforward(T x, T d_x)
{
   constexpr T ln2 = T(0.69314718055994530942);
   T e = ::std::exp2(x);
   return {e, e * ln2 * d_x};
}

template <typename T>
inline ValueAndPushforward<T> log2_pushforward(T x, T d_x)
{
   constexpr T ln2 = T(0.69314718055994530942);
   return {::std::log2(x), d_x / (x * ln2)};
}

template <typename T>
inline ValueAndPushforward<T> log10_pushforward(T x, T d_x)
{
   constexpr T ln10 = T(2.30258509299404568402);
   return {::std::log10(x), d_x / (x * ln10)};
}

template <typename T>
inline ValueAndPushforward<T> tan_pushforward(T x, T d_x)
{
   T t = ::std::tan(x);
   return {t, (1 + t * t) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> asin_pushforward(T x, T d_x)
{
   return {::std::asin(x), d_x / ::std::sqrt(1 - x * x)};
}

template <typename T>
inline ValueAndPushforward<T> acos_pushforward(T x, T d_x)
{
   return {::std::acos(x), -d_x / ::std::sqrt(1 - x * x)};
}

template <typename T>
inline ValueAndPushforward<T> atan_pushforward(T x, T d_x)
{
   return {::std::atan(x), d_x / (x * x + 1)};
}

template <typename T>
inline ValueAndPushforward<T> sinh_pushforward(T x, T d_x)
{
   return {::std::sinh(x), ::std::cosh(x) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> cosh_pushforward(T x, T d_x)
{
   return {::std::cosh(x), ::std::sinh(x) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> asinh_pushforward(T x, T d_x)
{
   return {::std::asinh(x), d_x / ::std::sqrt(x * x + 1)};
}

template <typename T>
inline ValueAndPushforward<T> acosh_pushforward(T x, T d_x)
{
   return {::std::acosh(x), d_x / ::std::sqrt(x * x - 1)};
}

template <typename T>
inline ValueAndPushforward<T> atanh_pushforward(T x, T d_x)
{
   return {::std::atanh(x), d_x / (1 - x * x)};
}

template <typename T>
inline ValueAndPushforward<T> erfc_pushforward(T x, T d_x)
{
   constexpr T minusTwoOverSqrtPi = T(-1.12837916709551257390);
   return {::std::erfc(x), minusTwoOverSqrtPi * ExpOfAny(-x * x) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> erf_pushforward(T x, T d_x)
{
   constexpr T twoOverSqrtPi = T(1.12837916709551257390);
   return {::std::erf(x), twoOverSqrtPi * ExpOfAny(-x * x) * d_x};
}

} // namespace custom_derivatives::std

namespace custom_derivatives::CladTorch::Kernels {

template <typename T>
inline ValueAndPushforward<T> ExpOfAny_pushforward(T x, T d_x)
{
   T e = ExpOfAny(x);
   return {e, e * d_x};
}

template <typename T>
inline ValueAndPushforward<T> Expm1OfNegative_pushforward(T x, T d_x)
{
   return {Expm1OfNegative(x), ExpOfAny(x) * d_x};
}

template <typename T>
inline ValueAndPushforward<T> Log1pOfUnit_pushforward(T x, T d_x)
{
   return {Log1pOfUnit(x), d_x / (1 + x)};
}

template <typename T>
inline ValueAndPushforward<T> HyperbolicTangent_pushforward(T x, T d_x)
{
   // 1 - tanh(x)^2 without the difference, which loses the digits of a small slope.
   T e = ExpOfAny(x < 0 ? 2 * x : -2 * x), root = 2 / (1 + e);
   return {HyperbolicTangent(x), e * root * root * d_x};
}

template <typename T>
inline ValueAndPushforward<T> Erfc_pushforward(T x, T d_x)
{
   constexpr T minusTwoOverSqrtPi = T(-1.12837916709551257390);
   const auto both = ErfcWithGauss(x);
   return {both.fErfc, minusTwoOverSqrtPi * both.fGauss * d_x};
}

/// By x: 0 where y is 0, also at x = 0. By y: 0 where x is 0 and y at least 0, although log(0) is infinite.
template <typename T>
inline void Pow_pullback(T x, T y, T d_z, T *d_x, T *d_y)
{
   T by_x = d_z * (y * ::std::pow(x, y - 1)), by_y = d_z * (::std::pow(x, y) * ::std::log(x));
   *d_x += y != 0 ? by_x : T(0);
   *d_y += x == 0 && y >= 0 ? T(0) : by_y;
}

/// 0 where both are 0, as LibTorch has it.
template <typename T>
inline void Atan2_pullback(T a, T b, T d_z, T *d_a, T *d_b)
{
   T square = a * a + b * b, by_a = d_z * (b / square), by_b = d_z * (-a / square);
   *d_a += square == 0 ? T(0) : by_a;
   *d_b += square == 0 ? T(0) : by_b;
}

template <typename T>
inline void Hypot_pullback(T a, T b, T d_z, T *d_a, T *d_b)
{
   T root = Hypot(a, b);
   *d_a += d_z * (a / root);
   *d_b += d_z * (b / root);
}

/// The share of each exponential in the sum.
template <typename T>
inline void LogAddExp_pullback(T a, T b, T d_z, T *d_a, T *d_b)
{
   *d_a += d_z / (1 + ExpOfAny(b - a));
   *d_b += d_z / (1 + ExpOfAny(a - b));
}

/// By b: less the whole times that it fits into a.
template <typename T>
inline void Remainder_pullback(T a, T b, T d_z, T *d_a, T *d_b)
{
   T rest = ::std::fmod(a, b), times = ::std::nearbyint((a - rest) / b);
   if (rest != 0 && (rest < 0) != (b < 0))
      times -= 1;
   *d_a += d_z;
   *d_b += -d_z * (b != 0 ? times : a / b);
}

/// By b: less the whole times that it fits into a, counted towards 0.
template <typename T>
inline void Fmod_pullback(T a, T b, T d_z, T *d_a, T *d_b)
{
   *d_a += d_z;
   *d_b += -d_z * ::std::trunc(a / b);
}

/// By a: 0 where a is 0 and the logarithm is not finite or not real. By b: NaN where both are 0, as LibTorch has it.
template <typename T>
inline void Xlogy_pullback(T a, T b, T d_z, T *d_a, T *d_b)
{
   T by_a = d_z * ::std::log(b);
   *d_a += (a == 0 && b <= 0) || (d_z == 0 && b == b) ? T(0) : by_a;
   *d_b += d_z * a / b;
}

/// By b: -(a / b) / b instead of -a / (b b), whose divisor may underflow or overflow.
template <typename T>
inline void Div_pullback(T a, T b, T d_z, T *d_a, T *d_b)
{
   *d_a += d_z / b;
   *d_b += -d_z * ((a / b) / b);
}

} // namespace custom_derivatives::CladTorch::Kernels
} // namespace CladTorch::Kernels::clad

namespace CladTorch::Kernels {
using clad::ValueAndPushforward; // Clad's text has it with and without the qualifier.
// The rules of operators, beside Clad's for the others.
using clad::custom_derivatives::CladTorch::Kernels::Atan2_pullback;
using clad::custom_derivatives::CladTorch::Kernels::Div_pullback;
using clad::custom_derivatives::CladTorch::Kernels::Fmod_pullback;
using clad::custom_derivatives::CladTorch::Kernels::Hypot_pullback;
using clad::custom_derivatives::CladTorch::Kernels::LogAddExp_pullback;
using clad::custom_derivatives::CladTorch::Kernels::Pow_pullback;
using clad::custom_derivatives::CladTorch::Kernels::Remainder_pullback;
using clad::custom_derivatives::CladTorch::Kernels::Xlogy_pullback;
} // namespace CladTorch::Kernels
