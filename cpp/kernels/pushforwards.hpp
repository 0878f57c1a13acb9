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
   return {::std::expm1(x), Exp(x) * d_x};
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
inline ValueAndPushforward<T> erf_pushforward(T x, T d_x)
{
   constexpr T twoOverSqrtPi = T(1.12837916709551257390);
   return {::std::erf(x), twoOverSqrtPi * Exp(-x * x) * d_x};
}

} // namespace custom_derivatives::std

namespace custom_derivatives::CladTorch::Kernels {

template <typename T>
inline ValueAndPushforward<T> Exp_pushforward(T x, T d_x)
{
   T e = Exp(x);
   return {e, e * d_x};
}

template <typename T>
inline ValueAndPushforward<T> Expm1OfNegative_pushforward(T x, T d_x)
{
   return {Expm1OfNegative(x), Exp(x) * d_x};
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
   T e = Exp(x < 0 ? 2 * x : -2 * x), root = 2 / (1 + e);
   return {HyperbolicTangent(x), e * root * root * d_x};
}

template <typename T>
inline ValueAndPushforward<T> Erfc_pushforward(T x, T d_x)
{
   constexpr T minusTwoOverSqrtPi = T(-1.12837916709551257390);
   return {Erfc(x), minusTwoOverSqrtPi * Exp(-x * x) * d_x};
}

/// By x: 0 where y is 0, also at x = 0. By y: 0 where x is 0 and y at least 0, although log(0) is infinite.
template <typename T>
inline void Pow_pullback(T x, T y, T d_z, T *d_x, T *d_y)
{
   if (y != 0)
      *d_x += d_z * (y * ::std::pow(x, y - 1));
   if (!(x == 0 && y >= 0))
      *d_y += d_z * (::std::pow(x, y) * ::std::log(x));
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
using clad::custom_derivatives::CladTorch::Kernels::Div_pullback;
using clad::custom_derivatives::CladTorch::Kernels::Pow_pullback;
} // namespace CladTorch::Kernels
