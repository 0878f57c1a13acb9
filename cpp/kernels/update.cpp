/// \file update.cpp
/// One optimiser step over all parameters, which lie in one flat array. The formulas are those of torch::optim.
#include "elementwise.hpp"
#include "kernels.hpp"

#include <cmath>

namespace CladTorch::Kernels {
namespace {

template <typename T>
void PlainSgd(const ct_update &s, size_t n, T *p, const T *g)
{
   const T rate = static_cast<T>(s.learning_rate), decay = static_cast<T>(s.weight_decay);
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      p[i] -= rate * (g[i] + decay * p[i]);
}

/// Heavy ball (Polyak 1964) without dampening.
template <typename T>
void SgdMomentum(const ct_update &s, size_t n, T *p, const T *g, T *velocity)
{
   const T rate = static_cast<T>(s.learning_rate), decay = static_cast<T>(s.weight_decay);
   const T momentum = static_cast<T>(s.momentum);
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i) {
      velocity[i] = momentum * velocity[i] + (g[i] + decay * p[i]);
      p[i] -= rate * velocity[i];
   }
}

/// Adam with two weight decays: `l2` is added to the gradient, `shrink` multiplies the parameter.
template <typename T>
void AdamUpdate(const ct_update &s, T l2, T shrink, size_t n, T *p, const T *g, T *m, T *v)
{
   const double step = static_cast<double>(s.step);
   const T beta1 = static_cast<T>(s.beta1), beta2 = static_cast<T>(s.beta2), epsilon = static_cast<T>(s.epsilon);
   const T keep1 = static_cast<T>(1 - s.beta1), keep2 = static_cast<T>(1 - s.beta2);
   const T rate = static_cast<T>(s.learning_rate / (1 - std::pow(s.beta1, step)));
   const T rescale = static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, step))); // a product is cheaper than a quotient
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i) {
      const T gradient = g[i] + l2 * p[i];
      m[i] = beta1 * m[i] + keep1 * gradient;
      v[i] = beta2 * v[i] + keep2 * gradient * gradient;
      p[i] = shrink * p[i] - rate * m[i] / (std::sqrt(v[i]) * rescale + epsilon);
   }
}

} // namespace

template <typename T>
void Add(size_t n, const T *term, T *sum)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      sum[i] += term[i];
}

template <typename T>
void Sgd(const ct_update *s, size_t n, T *p, const T *g, T *velocity)
{
   if (velocity)
      SgdMomentum(*s, n, p, g, velocity);
   else
      PlainSgd(*s, n, p, g);
}

template <typename T>
void Adam(const ct_update *s, size_t n, T *p, const T *g, T *m, T *v)
{
   AdamUpdate<T>(*s, static_cast<T>(s->weight_decay), 1, n, p, g, m, v);
}

template <typename T>
void AdamW(const ct_update *s, size_t n, T *p, const T *g, T *m, T *v)
{
   AdamUpdate<T>(*s, 0, static_cast<T>(1 - s->learning_rate * s->weight_decay), n, p, g, m, v);
}

template void Add(size_t, const float *, float *);
template void Add(size_t, const double *, double *);
template void Sgd(const ct_update *, size_t, float *, const float *, float *);
template void Sgd(const ct_update *, size_t, double *, const double *, double *);
template void Adam(const ct_update *, size_t, float *, const float *, float *, float *);
template void Adam(const ct_update *, size_t, double *, const double *, double *, double *);
template void AdamW(const ct_update *, size_t, float *, const float *, float *, float *);
template void AdamW(const ct_update *, size_t, double *, const double *, double *, double *);

} // namespace CladTorch::Kernels
