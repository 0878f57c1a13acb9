/// \file pushforwards.hpp
/// The few names that Clad's text in generated/ uses, so that it compiles where Clad is not installed. A pushforward
/// carries a value x and its tangent d_x through one function of <cmath>.
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
inline ValueAndPushforward<T> erfc_pushforward(T x, T d_x)
{
   constexpr T minusTwoOverSqrtPi = T(-1.12837916709551257390);
   return {::std::erfc(x), minusTwoOverSqrtPi * ::std::exp(-x * x) * d_x};
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

} // namespace custom_derivatives::CladTorch::Kernels
} // namespace CladTorch::Kernels::clad

namespace CladTorch::Kernels {
using clad::ValueAndPushforward; // Clad's text has it with and without the qualifier.
}
