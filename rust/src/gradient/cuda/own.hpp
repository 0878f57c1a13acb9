/// \file own.hpp
/// What functions of a user's own, and Clad's text of their derivatives, use beside pushforwards.hpp: rules for functions of
/// <cmath> and <algorithm>. A function without a rule does not compile. At a kink the rules choose the side that Clad's own
/// choose on the host, with which the derivatives are compared on the GPU.
#pragma once
#include "pushforwards.hpp"

#include <algorithm>
#include <cmath>

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

namespace CladTorch::Kernels::clad::custom_derivatives::std {

inline ValueAndPushforward<double> abs_pushforward(double x, double d_x)
{
   return {x >= 0 ? x : -x, x >= 0 ? d_x : -d_x};
}
inline ValueAndPushforward<double> fabs_pushforward(double x, double d_x)
{
   return abs_pushforward(x, d_x);
}
inline ValueAndPushforward<double> cbrt_pushforward(double x, double d_x)
{
   const double root = ::std::cbrt(x);
   return {root, d_x / (3 * root * root)};
}
inline ValueAndPushforward<double> tanh_pushforward(double x, double d_x)
{
   const double value = ::std::tanh(x);
   return {value, (1 - value * value) * d_x};
}
inline ValueAndPushforward<double> floor_pushforward(double x, double)
{
   return {::std::floor(x), 0};
}
inline ValueAndPushforward<double> ceil_pushforward(double x, double)
{
   return {::std::ceil(x), 0};
}

/// A rule of two arguments that is written as a pushforward, in the form for a reverse pass, too. Clad gives an argument that is an
/// integer, a number in the text, an adjoint of its type, which nobody reads.
#define CT_PULLBACK(F)                                                                                                 \
   template <typename X, typename Y>                                                                                   \
   inline void F##_pullback(double x, double y, double d_z, X *d_x, Y *d_y)                                            \
   {                                                                                                                   \
      *d_x += static_cast<X>(F##_pushforward(x, y, 1, 0).pushforward * d_z);                                           \
      *d_y += static_cast<Y>(F##_pushforward(x, y, 0, 1).pushforward * d_z);                                           \
   }

/// An exponent that does not move has no logarithm of a negative base.
inline ValueAndPushforward<double> pow_pushforward(double x, double y, double d_x, double d_y)
{
   const double value = ::std::pow(x, y);
   const double along = y == 0 ? 0 : y * ::std::pow(x, y - 1) * d_x;
   return {value, d_y == 0 ? along : along + value * ::std::log(x) * d_y};
}
CT_PULLBACK(pow)

inline ValueAndPushforward<double> atan2_pushforward(double y, double x, double d_y, double d_x)
{
   return {::std::atan2(y, x), (x * d_y - y * d_x) / (x * x + y * y)};
}
CT_PULLBACK(atan2)

inline ValueAndPushforward<double> hypot_pushforward(double x, double y, double d_x, double d_y)
{
   const double length = ::std::hypot(x, y);
   return {length, (x * d_x + y * d_y) / length};
}
CT_PULLBACK(hypot)

inline ValueAndPushforward<double> max_pushforward(double a, double b, double d_a, double d_b)
{
   return a < b ? ValueAndPushforward<double>{b, d_b} : ValueAndPushforward<double>{a, d_a};
}
CT_PULLBACK(max)
inline ValueAndPushforward<double> min_pushforward(double a, double b, double d_a, double d_b)
{
   return a < b ? ValueAndPushforward<double>{a, d_a} : ValueAndPushforward<double>{b, d_b};
}
CT_PULLBACK(min)
inline ValueAndPushforward<double> fmax_pushforward(double x, double y, double d_x, double d_y)
{
   return {::std::fmax(x, y), x > y ? d_x : d_y};
}
CT_PULLBACK(fmax)
inline ValueAndPushforward<double> fmin_pushforward(double x, double y, double d_x, double d_y)
{
   return {::std::fmin(x, y), x < y ? d_x : d_y};
}
CT_PULLBACK(fmin)
#undef CT_PULLBACK

} // namespace CladTorch::Kernels::clad::custom_derivatives::std
