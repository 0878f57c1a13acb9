/// \file activations.hpp
/// The activations as scalar functions of one pre-activation z. Clad derives them (see derive.cpp); nothing else in
/// the project knows their mathematics.
///
/// Where the textbook form is not differentiable by rule (0 * inf, a kink hidden in std::abs), it is written with a
/// branch each side of which is smooth and finite; with `if` rather than `?:` where a side costs, because Clad computes
/// both sides of the latter. At a kink the derivative is LibTorch's: that of the left side.
#pragma once
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
   return std::tanh(z);
}

/// 1 / (1 + exp(-z)), with the exponential that cannot overflow.
template <typename T>
inline T Sigmoid(T z)
{
   if (z >= 0)
      return 1 / (1 + std::exp(-z));
   T e = std::exp(z);
   return e / (1 + e);
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
   return T(0.5) * z * std::erfc(z * T(-0.70710678118654752440)); // -1 / sqrt(2)
}

/// log(1 + exp(z)), with the exponential that cannot overflow.
template <typename T>
inline T Softplus(T z)
{
   if (z > 0)
      return z + std::log1p(std::exp(-z));
   return std::log1p(std::exp(z));
}

} // namespace CladTorch::Kernels
