/// \file operators.hpp
/// The scalar functions of the operator graph. Clad derives them (see derive.cpp); nothing else in the project knows
/// their mathematics. At a kink, at a tie and for a NaN the derivative is the one that LibTorch documents or computes.
///
/// Masks are numbers: 1 for true, 0 for false. On branches see activations.hpp.
#pragma once
#include "activations.hpp"

#include <cmath>
#include <limits>

// The lists that everything runs over: the enumeration in kernels.h, the loops in map.cpp, what is asked of Clad in
// derive.cpp and `Function` in rust/src/graph/function.rs, in this order.

/// Functions of one number: of our own mathematics, and of the mathematical library's.
#define CT_UNARY(X) CT_UNARY_OWN(X) CT_UNARY_LIBRARY(X)
#define CT_UNARY_OWN(X)                                                                                                \
   X(Identity) X(Neg) X(Reciprocal) X(Squared) X(Sqrt) X(Rsqrt) X(Exp) X(Tanh) X(Abs) X(Relu) X(Sigmoid) X(Silu)       \
   X(Gelu) X(GeluTanh) X(LogSigmoid)
#define CT_UNARY_LIBRARY(X)                                                                                            \
   X(Expm1) X(Exp2) X(Log) X(Log1p) X(Log2) X(Log10) X(Sin) X(Cos) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh)      \
   X(Asinh) X(Acosh) X(Atanh) X(Erf) X(ErfComplement)

/// Functions of one number, flat wherever they have a derivative.
#define CT_FLAT_UNARY(X) X(Floor) X(Ceil) X(Round) X(Trunc) X(Sign)

/// Functions of two numbers, differentiable by both.
#define CT_BINARY(X) CT_BINARY_OWN(X) CT_BINARY_LIBRARY(X)
#define CT_BINARY_OWN(X)                                                                                               \
   X(Add) X(Sub) X(Mul) X(Div) X(Maximum) X(Minimum) X(ClampMin) X(ClampMax) X(Leaky) X(Elu) X(SoftplusBelow)          \
   X(LogitLoss) X(HuberLoss) X(SmoothLoss) X(Remainder) X(Fmod) X(Hypot) X(FiniteOr)
#define CT_BINARY_LIBRARY(X) X(Pow) X(Atan2) X(LogAddExp) X(Xlogy)

/// Functions of two numbers, flat wherever they have a derivative.
#define CT_FLAT(X) X(Less) X(LessEqual) X(Equal) X(NotEqual) X(And) X(Or)

/// Functions of three numbers.
#define CT_TERNARY(X) X(Where) X(Clamp)

namespace CladTorch::Kernels {

template <typename T>
inline T Neg(T z)
{
   return -z;
}

template <typename T>
inline T Reciprocal(T z)
{
   return 1 / z;
}

template <typename T>
inline T Squared(T z)
{
   return z * z;
}

template <typename T>
inline T Sqrt(T z)
{
   return std::sqrt(z);
}

template <typename T>
inline T Rsqrt(T z)
{
   return 1 / std::sqrt(z);
}

/// exp(z), one call away from ExpOfAny: Clad's reverse mode leaves out calls whose rule is only a pushforward.
template <typename T>
inline T Exp(T z)
{
   return ExpOfAny(z);
}

template <typename T>
inline T Expm1(T z)
{
   return std::expm1(z);
}

template <typename T>
inline T Log(T z)
{
   return std::log(z);
}

template <typename T>
inline T Log1p(T z)
{
   return std::log1p(z);
}

template <typename T>
inline T Sin(T z)
{
   return std::sin(z);
}

template <typename T>
inline T Cos(T z)
{
   return std::cos(z);
}

template <typename T>
inline T Exp2(T z)
{
   return std::exp2(z);
}

template <typename T>
inline T Log2(T z)
{
   return std::log2(z);
}

template <typename T>
inline T Log10(T z)
{
   return std::log10(z);
}

template <typename T>
inline T Tan(T z)
{
   return std::tan(z);
}

template <typename T>
inline T Asin(T z)
{
   return std::asin(z);
}

template <typename T>
inline T Acos(T z)
{
   return std::acos(z);
}

template <typename T>
inline T Atan(T z)
{
   return std::atan(z);
}

template <typename T>
inline T Sinh(T z)
{
   return std::sinh(z);
}

template <typename T>
inline T Cosh(T z)
{
   return std::cosh(z);
}

template <typename T>
inline T Asinh(T z)
{
   return std::asinh(z);
}

template <typename T>
inline T Acosh(T z)
{
   return std::acosh(z);
}

template <typename T>
inline T Atanh(T z)
{
   return std::atanh(z);
}

template <typename T>
inline T Erf(T z)
{
   return std::erf(z);
}

/// 1 - erf(z)
template <typename T>
inline T ErfComplement(T z)
{
   return std::erfc(z);
}

template <typename T>
inline T Floor(T z)
{
   return std::floor(z);
}

template <typename T>
inline T Ceil(T z)
{
   return std::ceil(z);
}

/// To the nearest integer, halves to the even one.
template <typename T>
inline T Round(T z)
{
   return std::nearbyint(z);
}

template <typename T>
inline T Trunc(T z)
{
   return std::trunc(z);
}

/// -1, 0 or 1; LibTorch's is 0 for a NaN.
template <typename T>
inline T Sign(T z)
{
   return z > 0 ? T(1) : z < 0 ? T(-1) : T(0);
}

/// |z|, with derivative 0 at 0 and at NaN; as LibTorch's it does not hide a NaN that comes from behind.
template <typename T>
inline T Abs(T z)
{
   if (z > 0)
      return z;
   if (z < 0)
      return -z;
   return z - z;
}

/// The tanh approximation of Gelu (Hendrycks and Gimpel 2016, section 2).
template <typename T>
inline T GeluTanh(T z)
{
   T inner = T(0.79788456080286535588) * (z + T(0.044715) * z * z * z); // sqrt(2 / pi)
   return T(0.5) * z * (1 + HyperbolicTangent(inner));
}

/// log(sigmoid(z))
template <typename T>
inline T LogSigmoid(T z)
{
   return 0 - Softplus(-z); // no negative zero
}

template <typename T>
inline T Add(T a, T b)
{
   return a + b;
}

template <typename T>
inline T Sub(T a, T b)
{
   return a - b;
}

template <typename T>
inline T Mul(T a, T b)
{
   return a * b;
}

/// a / b; see pushforwards.hpp for its derivative by b.
template <typename T>
inline T Div(T a, T b)
{
   return a / b;
}

/// a^b; see pushforwards.hpp for its derivatives where they are not obvious.
template <typename T>
inline T Pow(T a, T b)
{
   return std::pow(a, b);
}

/// The angle of the point (b, a), in radians.
template <typename T>
inline T Atan2(T a, T b)
{
   return std::atan2(a, b);
}

/// sqrt(a^2 + b^2), whose squares neither overflow nor vanish; see pushforwards.hpp for its derivatives.
template <typename T>
inline T Hypot(T a, T b)
{
   constexpr T infinity = std::numeric_limits<T>::infinity();
   T x = a, y = b;
   if (a < 0)
      x = -a;
   if (b < 0)
      y = -b;
   T longer = x, shorter = y;
   if (y > x) {
      longer = y;
      shorter = x;
   }
   // Each a statement of its own: Clad reverses declarations within one in the wrong order.
   T ratio = shorter / longer;
   T m = longer * std::sqrt(1 + ratio * ratio);
   if (longer == 0)
      m = T(0) + longer + shorter; // no negative zero
   if (x == infinity)
      m = x;
   if (y == infinity)
      m = y;
   return m;
}

/// log(exp(a) + exp(b)); see pushforwards.hpp for its derivatives.
template <typename T>
inline T LogAddExp(T a, T b)
{
   T greater = a, distance = a - b;
   if (b > a)
      greater = b;
   if (a > b)
      distance = b - a;
   T m = greater + std::log1p(std::exp(distance));
   if (a == b)
      m = a / 2 + b / 2 + T(0.69314718055994530942); // log(2), of infinite ones too
   return m;
}

/// a - b floor(a / b): what is left of a, with the sign of b.
template <typename T>
inline T Remainder(T a, T b)
{
   T rest = std::fmod(a, b);
   if (rest != 0 && (rest < 0) != (b < 0))
      rest += b;
   return rest;
}

/// What is left of a, with the sign of a; see pushforwards.hpp for its derivatives.
template <typename T>
inline T Fmod(T a, T b)
{
   return std::fmod(a, b);
}

/// a log(b), and 0 where a is 0, whatever b is but a NaN; see pushforwards.hpp for its derivatives there.
template <typename T>
inline T Xlogy(T a, T b)
{
   T logarithm = std::log(b);
   T m = a * logarithm;
   if (a == 0)
      m = m + T(0); // no negative zero
   if (a == 0 && (b <= 0 || b == std::numeric_limits<T>::infinity()))
      m = T(0);
   return m;
}

/// The greater one; a tie gives each half of the derivative, a NaN the whole to both.
template <typename T>
inline T Maximum(T a, T b)
{
   T m = a + b;
   if (a > b)
      m = a;
   else if (b > a)
      m = b;
   else if (a == b)
      m = std::abs(a) < 1 ? a + (b - a) / 2 : a / 2 + b / 2; // exact for denormals, large numbers and infinities
   return m;
}

/// The value of Maximum, whose arithmetic is for its derivative.
template <typename T>
inline T GreaterOf(T a, T b)
{
   T m = a > b ? a : b;
   return a != a ? a : m;
}

/// The value of Clamp.
template <typename T>
inline T Between(T z, T low, T high)
{
   T m = z < low ? low : z;
   return m > high ? high : m;
}

/// The value of Minimum.
template <typename T>
inline T SmallerOf(T a, T b)
{
   T m = a < b ? a : b;
   return a != a ? a : m;
}

/// The smaller one; see Maximum.
template <typename T>
inline T Minimum(T a, T b)
{
   T m = a + b;
   if (a < b)
      m = a;
   else if (b < a)
      m = b;
   else if (a == b)
      m = std::abs(a) < 1 ? a + (b - a) / 2 : a / 2 + b / 2;
   return m;
}

/// z, but not below `low`; at `low` itself the derivative is that of z.
template <typename T>
inline T ClampMin(T z, T low)
{
   T m = std::numeric_limits<T>::quiet_NaN();
   if (z >= low)
      m = z;
   else if (z < low)
      m = low;
   return m;
}

/// z, but not above `high`; see ClampMin.
template <typename T>
inline T ClampMax(T z, T high)
{
   T m = std::numeric_limits<T>::quiet_NaN();
   if (z <= high)
      m = z;
   else if (z > high)
      m = high;
   return m;
}

/// z above 0, slope z below (Maas, Hannun and Ng 2013).
template <typename T>
inline T Leaky(T z, T slope)
{
   T factor = slope; // chosen before it multiplies: an infinite z gives the slope no derivative above 0
   if (z > 0)
      factor = 1;
   return factor * z;
}

/// exp(z) - 1 for z <= 0, one call away as Exp is.
template <typename T>
inline T EluBelowZero(T z)
{
   return Expm1OfNegative(z);
}

/// z above 0, alpha (exp(z) - 1) below (Clevert, Unterthiner and Hochreiter 2016).
template <typename T>
inline T Elu(T z, T alpha)
{
   T m = z;
   if (!(z > 0))
      m = alpha * EluBelowZero(z);
   return m;
}

/// Softplus below `threshold`, the identity above, as LibTorch cuts it off.
template <typename T>
inline T SoftplusBelow(T z, T threshold)
{
   T m = z;
   if (!(z > threshold))
      m = Softplus(z);
   return m;
}

/// log(1 + exp(s)) for s <= 0, one call away as Exp is.
template <typename T>
inline T SoftplusBelowZero(T s)
{
   return Log1pOfUnit(ExpOfAny(s));
}

/// Binary cross-entropy of the logit z against the label y: -y log(s) - (1 - y) log(1 - s), s = sigmoid(z). Neither it nor
/// its derivative loses digits where the label is 0 or 1.
template <typename T>
inline T LogitLoss(T z, T y)
{
   T s = z;
   T factor = -y; // chosen before it multiplies, as in Leaky
   if (z > 0) {
      s = -z;
      factor = 1 - y;
   }
   T linear = factor * z; // on its own: Clad reverses declarations within one statement in the wrong order
   return linear + SoftplusBelowZero(s);
}

/// d^2 / 2 within a distance of delta, linear beyond (Huber 1964).
template <typename T>
inline T HuberLoss(T d, T delta)
{
   T m;
   if (d >= delta)
      m = delta * (d - T(0.5) * delta);
   else if (d <= -delta)
      m = delta * (-d - T(0.5) * delta);
   else
      m = T(0.5) * d * d;
   return m;
}

/// d^2 / (2 beta) within a distance of beta, |d| - beta / 2 beyond (Girshick 2015, eq. 3).
template <typename T>
inline T SmoothLoss(T d, T beta)
{
   T m;
   if (d >= beta)
      m = d - T(0.5) * beta;
   else if (d <= -beta)
      m = -d - T(0.5) * beta;
   else
      m = T(0.5) * d * d / beta;
   return m;
}

/// z, with `other` for a NaN and the greatest numbers for infinities; there the derivative is 0.
template <typename T>
inline T FiniteOr(T z, T other)
{
   constexpr T greatest = std::numeric_limits<T>::max();
   T m = z;
   if (z != z)
      m = other;
   if (z > greatest)
      m = greatest;
   if (z < -greatest)
      m = -greatest;
   return m;
}

template <typename T>
inline T Less(T a, T b)
{
   return a < b ? T(1) : T(0);
}

template <typename T>
inline T LessEqual(T a, T b)
{
   return a <= b ? T(1) : T(0);
}

template <typename T>
inline T Equal(T a, T b)
{
   return a == b ? T(1) : T(0);
}

template <typename T>
inline T NotEqual(T a, T b)
{
   return a != b ? T(1) : T(0);
}

template <typename T>
inline T And(T a, T b)
{
   return a != 0 && b != 0 ? T(1) : T(0);
}

template <typename T>
inline T Or(T a, T b)
{
   return a != 0 || b != 0 ? T(1) : T(0);
}

/// a where the mask c is true, else b.
template <typename T>
inline T Where(T c, T a, T b)
{
   return c != 0 ? a : b;
}

/// z between low and high; `high` wins where low is above it.
template <typename T>
inline T Clamp(T z, T low, T high)
{
   T m = std::numeric_limits<T>::quiet_NaN();
   if (z == z) {
      m = z;
      if (low > high)
         m = high;
      else if (z > high)
         m = high;
      else if (z < low)
         m = low;
   }
   return m;
}

} // namespace CladTorch::Kernels
