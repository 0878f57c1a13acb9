/// \file activations.hpp
/// The activations as scalar functions of one pre-activation z. Clad derives them (see derive.cpp); nothing else in
/// the project knows their mathematics.
///
/// Where the textbook form is not differentiable by rule (0 * inf, a kink hidden in std::abs), it is written with a
/// branch each side of which is smooth and finite. Branches only choose between numbers that are there already, so that
/// loops over an activation become vector code. At a kink the derivative is LibTorch's: that of the left side.
#pragma once
#include "exponential.hpp"

#include <cmath>

namespace CladTorch::Kernels {

/// z
template <typename T>
inline T Identity(T z)
{
   return z;
}

/// max(z, 0); a NaN stays one.
template <typename T>
inline T Relu(T z)
{
   return z <= 0 ? T(0) : z;
}

/// z above 0, 0.01 z below (Maas, Hannun and Ng 2013).
template <typename T>
inline T LeakyRelu(T z)
{
   return z > 0 ? z : T(0.01) * z;
}

/// tanh(z)
template <typename T>
inline T Tanh(T z)
{
   return HyperbolicTangent(z);
}

/// 1 / (1 + exp(-z)), with the exponential that cannot overflow.
template <typename T>
inline T Sigmoid(T z)
{
   T s = z;
   if (z >= 0)
      s = -z;
   T e = ExpOfAny(s), numerator = 1;
   if (z < 0)
      numerator = e;
   return numerator / (1 + e);
}

/// z sigmoid(z) (Elfwing, Uchibe and Doya 2018).
template <typename T>
inline T Silu(T z)
{
   return z * Sigmoid(z);
}

/// z Phi(z) with the normal distribution function Phi, not its tanh approximation (Hendrycks and Gimpel 2016).
/// erfc keeps the digits that 1 + erf loses at negative z.
template <typename T>
inline T Gelu(T z)
{
   return T(0.5) * z * Erfc(z * T(-0.70710678118654752440)); // -1 / sqrt(2)
}

/// log(1 + exp(z)), with the exponential that cannot overflow.
template <typename T>
inline T Softplus(T z)
{
   T s = z, linear = 0;
   if (z > 0) {
      s = -z;
      linear = z;
   }
   return linear + Log1pOfUnit(ExpOfAny(s));
}

} // namespace CladTorch::Kernels
