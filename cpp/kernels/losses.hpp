/// \file losses.hpp
/// The losses as scalar functions of one network output z, or of two. Clad derives them with respect to those (see derive.cpp).
/// On branches see activations.hpp.
#pragma once
#include "exponential.hpp"

#include <cmath>

namespace CladTorch::Kernels {

/// Binary cross-entropy of the logit z against the label y in [0, 1]: -y log(s) - (1 - y) log(1 - s), s = sigmoid(z).
template <typename T>
inline T BinaryCrossEntropy(T z, T y)
{
   T s = z;
   T linear = -y * z; // on its own: Clad reverses declarations within one statement in the wrong order
   if (z > 0) {
      s = -z;
      linear = (1 - y) * z;
   }
   return linear + Log1pOfUnit(ExpOfAny(s));
}

/// One logit's view of softmax cross-entropy. z is the logit and `rest` the sum of the others' exponentials, both
/// relative to the row's greatest logit (so z <= 0); `target` is 1 for the logit of the event's class, else 0.
/// For the class's own logit this is the row's loss; its derivative is p - target for every logit.
template <typename T>
inline T SoftmaxCrossEntropy(T z, T rest, T target)
{
   // log(rest + exp(z)) without losing a small rest beside exp(0) = 1.
   return std::log1p(rest + Expm1OfNegative(z)) - target * z;
}

/// (z - y)^2
template <typename T>
inline T SquaredError(T z, T y)
{
   T d = z - y;
   return d * d;
}

/// (z - y)^2 / 2 within a distance of 1, linear beyond (Huber 1964, delta = 1).
template <typename T>
inline T Huber(T z, T y)
{
   T d = z - y, size = d, bound = 1;
   if (d < 0)
      size = -d;
   if (size < 1)
      bound = size;
   return bound * (size - T(0.5) * bound);
}

/// Focal loss of the logit z against the label y in [0, 1] (Lin et al. 2017, eq. 4, without alpha): binary cross-entropy
/// whose two terms are multiplied by the probability of the other label to the power of `focus`.
template <typename T>
inline T Focal(T z, T y, T focus)
{
   T s = z, positive = -z, negative = 0;
   if (z > 0) {
      s = -z;
      positive = 0;
      negative = z;
   }
   T tail = Log1pOfUnit(ExpOfAny(s));
   positive = positive + tail; // -log(sigmoid(z))
   negative = negative + tail; // -log(1 - sigmoid(z))
   T first = y * ExpOfAny(-focus * negative) * positive;
   T second = (1 - y) * ExpOfAny(-focus * positive) * negative;
   return first + second;
}

/// Pinball loss (Koenker and Bassett 1978): the z of its least expectation is the quantile of y at `share`.
template <typename T>
inline T Quantile(T z, T y, T share)
{
   T slope = -share;
   if (z > y)
      slope = 1 - share;
   return slope * (z - y);
}

/// Minus the logarithm of the density of a normal distribution of mean z and variance exp(s) at y, without its constant (Nix
/// and Weigend 1994): (s + (z - y)^2 exp(-s)) / 2. It has no lower bound where the network meets every y, and overflows for
/// s far below 0: below `least` the variance stays, and the last term grows with the distance from there, so that its
/// derivative draws s back.
template <typename T>
inline T Gaussian(T z, T s, T y, T least)
{
   T d = z - y, level = s, excess = 1;
   if (s < least) {
      level = least;
      excess = 1 + least - s;
   }
   return T(0.5) * (level + excess * d * d * ExpOfAny(-level));
}

} // namespace CladTorch::Kernels
