/// \file jit.hpp
/// What the functions that the back end jit emits start from: the operators, and to Clad the rules for those whose
/// arithmetic it must not differentiate itself. It travels inside the library and is written beside each function.
#pragma once
#include "kernels.h"
#include "operators.hpp"
#include "pushforwards.hpp"

#include <clad/Differentiator/Differentiator.h>

#include <vector>

/// Before the functions that the library looks for.
#define CT_EXPORT extern "C" __attribute__((visibility("default")))

/// Before a function with a loop: what it calls is inlined, without which the loop is no vector code.
#define CT_FLAT_LOOP __attribute__((flatten))

namespace clad::custom_derivatives::CladTorch::Kernels {

#define CT_RULE(F)                                                                                                     \
   template <typename T>                                                                                               \
   inline ValueAndPushforward<T, T> F##_pushforward(T x, T d_x)                                                        \
   {                                                                                                                   \
      const auto both = ::CladTorch::Kernels::clad::custom_derivatives::CladTorch::Kernels::F##_pushforward(x, d_x);   \
      return {both.value, both.pushforward};                                                                           \
   }
CT_RULE(ExpOfAny)
CT_RULE(Expm1OfNegative)
CT_RULE(Log1pOfUnit)
CT_RULE(HyperbolicTangent)
CT_RULE(Erfc)
#undef CT_RULE

#define CT_RULE(F)                                                                                                     \
   template <typename T>                                                                                               \
   inline void F##_pullback(T a, T b, T d_z, T *d_a, T *d_b)                                                           \
   {                                                                                                                   \
      ::CladTorch::Kernels::F##_pullback(a, b, d_z, d_a, d_b);                                                         \
   }
CT_RULE(Atan2)
CT_RULE(Div)
CT_RULE(Fmod)
CT_RULE(Hypot)
CT_RULE(LogAddExp)
CT_RULE(Pow)
CT_RULE(Remainder)
CT_RULE(Xlogy)
#undef CT_RULE

template <typename T>
inline void ReluOf_pullback(T z, T, T d_y, T *d_z, T *)
{
   *d_z += z <= 0 ? T(0) : d_y;
}

} // namespace clad::custom_derivatives::CladTorch::Kernels

namespace CladTorch::Kernels {

/// Relu(z). Of a function of one number Clad multiplies the adjoint by the slope: where that is 0, an infinite adjoint would become NaN.
template <typename T>
inline T ReluOf(T z, T)
{
   return Relu(z);
}

} // namespace CladTorch::Kernels
