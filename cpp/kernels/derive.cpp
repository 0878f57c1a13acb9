/// \file derive.cpp
/// What Clad is asked for: the derivative of every loss and of the activations that run inside a layer with respect to the
/// outputs, and of every operator of the graph, in both precisions.
/// Read by `cargo xtask gradients`, which keeps Clad's answer in generated/; never part of a build.
#include "activations.hpp"
#include "losses.hpp"
#include "operators.hpp"

#include <clad/Differentiator/Differentiator.h>

/// Functions whose derivatives Clad must not make itself: it would differentiate the arithmetic inside.
namespace clad::custom_derivatives::CladTorch::Kernels {
template <typename T>
ValueAndPushforward<T, T> ExpOfAny_pushforward(T x, T d_x);
template <typename T>
ValueAndPushforward<T, T> Expm1OfNegative_pushforward(T x, T d_x);
template <typename T>
ValueAndPushforward<T, T> Log1pOfUnit_pushforward(T x, T d_x);
template <typename T>
ValueAndPushforward<T, T> HyperbolicTangent_pushforward(T x, T d_x);
template <typename T>
ValueAndPushforward<T, T> Erfc_pushforward(T x, T d_x);
template <typename T>
void Pow_pullback(T a, T b, T d_z, T *d_a, T *d_b);
template <typename T>
void Div_pullback(T a, T b, T d_z, T *d_a, T *d_b);
template <typename T>
void Atan2_pullback(T a, T b, T d_z, T *d_a, T *d_b);
template <typename T>
void Hypot_pullback(T a, T b, T d_z, T *d_a, T *d_b);
template <typename T>
void LogAddExp_pullback(T a, T b, T d_z, T *d_a, T *d_b);
template <typename T>
void Remainder_pullback(T a, T b, T d_z, T *d_a, T *d_b);
template <typename T>
void Fmod_pullback(T a, T b, T d_z, T *d_a, T *d_b);
template <typename T>
void Xlogy_pullback(T a, T b, T d_z, T *d_a, T *d_b);
} // namespace clad::custom_derivatives::CladTorch::Kernels

namespace CladTorch::Kernels {

void Derive()
{
   clad::differentiate(Identity<float>, "z");
   clad::differentiate(Identity<double>, "z");
   clad::differentiate(Relu<float>, "z");
   clad::differentiate(Relu<double>, "z");
   clad::differentiate(LeakyRelu<float>, "z");
   clad::differentiate(LeakyRelu<double>, "z");
   clad::differentiate(BinaryCrossEntropy<float>, "z");
   clad::differentiate(BinaryCrossEntropy<double>, "z");
   clad::differentiate(SoftmaxCrossEntropy<float>, "z");
   clad::differentiate(SoftmaxCrossEntropy<double>, "z");
   clad::differentiate(SquaredError<float>, "z");
   clad::differentiate(SquaredError<double>, "z");
   clad::differentiate(Huber<float>, "z");
   clad::differentiate(Huber<double>, "z");
   clad::differentiate(Focal<float>, "z");
   clad::differentiate(Focal<double>, "z");
   clad::differentiate(Quantile<float>, "z");
   clad::differentiate(Quantile<double>, "z");
   clad::differentiate(Gaussian<float>, "z");
   clad::differentiate(Gaussian<double>, "z");
   clad::differentiate(Gaussian<float>, "s");
   clad::differentiate(Gaussian<double>, "s");
}

#define CT_CALL_1(F) sum += F(a);
#define CT_CALL_2(F) sum += F(a, b);
#define CT_CALL_3(F) sum += F(a, b, c);

/// A function that calls every operator of the graph: its gradient makes Clad write the pushforward of each function of
/// one number and the pullback of each of several, which is what the graph's kernels call.
template <typename T>
inline T EveryOperator(T a, T b, T c)
{
   T sum = 0;
   CT_UNARY(CT_CALL_1)
   CT_BINARY(CT_CALL_2)
   CT_TERNARY(CT_CALL_3)
   return sum;
}

void DeriveOperators()
{
   clad::gradient(EveryOperator<float>);
   clad::gradient(EveryOperator<double>);
}

} // namespace CladTorch::Kernels
