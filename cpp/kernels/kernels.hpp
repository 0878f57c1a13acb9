/// \file kernels.hpp
/// The kernels as templates; kernels.h says what each computes. Every variant of the library compiles them into a
/// namespace of its own (see CMakeLists.txt), so that the linker cannot mix instruction sets.
#pragma once
#include "kernels.h"

namespace CladTorch::Kernels {

template <typename T>
void Linear(size_t R, size_t I, size_t O, const T *x, const T *w, const T *b, T *z);
template <typename T>
void LinearPullback(size_t R, size_t I, size_t O, const T *x, const T *w, const T *dz, T *dx, T *dw, T *db);

template <typename T>
size_t LayerLength(size_t I, size_t O);
template <typename T>
void PackLayer(size_t I, size_t O, const T *w, const T *b, T *layer);
template <typename T>
void UnpackLayer(size_t I, size_t O, const T *layer, T *w, T *b);
template <typename T>
size_t TransposedLength(size_t I, size_t O);
template <typename T>
void TransposeLayer(size_t I, size_t O, const T *layer, T *transposed);
template <typename T>
void PackedLinear(int act, size_t R, size_t I, size_t O, const T *x, const T *layer, T *z);
template <typename T>
void PackedPullback(int act, size_t R, size_t I, size_t O, const T *x, const T *transposed, const T *dz, int sum, T *dx,
                   int add, T *dlayer);
template <typename T>
void PackMatrix(size_t R, size_t C, const T *dense, T *packed);
template <typename T>
void UnpackMatrix(size_t R, size_t C, const T *packed, T *dense);
template <typename T>
void Gather(size_t R, size_t C, const uint32_t *rows, const float *features, const float *mean, const float *inverse,
            T *packed);

template <typename T>
void ActivationPullback(int kind, size_t n, const T *a, T *d);
template <typename T>
double Loss(int kind, double parameter, size_t R, size_t C, const T *z, const T *y, const T *w, double scale, T *dz);

template <typename T>
void Add(size_t n, const T *term, T *sum);
template <typename T>
void Sgd(const ct_update *s, size_t n, T *p, const T *g, T *velocity);
template <typename T>
void Adam(const ct_update *s, size_t n, T *p, const T *g, T *m, T *v);
template <typename T>
void AdamW(const ct_update *s, size_t n, T *p, const T *g, T *m, T *v);

template <typename T>
void Map(int function, size_t begin, size_t n, const T *const *x, const ct_view *views, T *y);
template <typename T>
void MapPullback(int function, size_t which, size_t n, const T *const *x, const ct_view *views,
                 const T *dy, int add, T *dx, const ct_view *target);
template <typename T>
void Accumulate(size_t n, const T *x, const ct_view *view, T *y, const ct_view *target);
template <typename T>
void Copy(size_t n, const T *x, const ct_view *view, T *y, const ct_view *target);

template <typename T>
void Max(size_t R, size_t C, const T *x, const ct_view *view, T *y);
template <typename T>
void MaxPullback(int ties, size_t R, size_t C, const T *x, const ct_view *view, const T *y, const T *dy, int add,
                      T *dx, const ct_view *target);
template <typename T>
void Length(size_t R, size_t C, const T *x, const ct_view *view, T *y);
template <typename T>
void LengthPullback(size_t R, size_t C, const T *x, const ct_view *view, const T *y, const T *dy, int add, T *dx,
                    const ct_view *target);
template <typename T>
void Softmax(int logarithm, size_t R, size_t C, const T *x, const ct_view *view, T *y);
template <typename T>
void SoftmaxPullback(int logarithm, size_t R, size_t C, const T *y, const T *dy, int add, T *dx, const ct_view *target);
template <typename T>
void SoftmaxDown(int logarithm, size_t R, size_t C, size_t N, const T *x, T *y);
template <typename T>
void SoftmaxDownPullback(int logarithm, size_t R, size_t C, size_t N, const T *y, const T *dy, int add, T *dx);
template <typename T>
void Normalise(size_t R, size_t C, T eps, const T *x, const T *w, const T *b, T *y);
template <typename T>
void NormalisePullback(size_t R, size_t C, T eps, const T *x, const T *w, const T *dy, int add, T *dx);
template <typename T>
void NormaliseScalePullback(size_t R, size_t C, T eps, const T *x, const T *dy, T *dw);
template <typename T>
void ChannelSpread(const ct_channels *c, const T *x, double *mean, double *squares);
template <typename T>
void ChannelMoments(const ct_channels *c, const T *x, T *mean, T *deviation);
template <typename T>
void Standardise(const ct_channels *c, T eps, const T *x, const T *mean, const T *deviation, const T *w, const T *b, T *y);
template <typename T>
void StandardiseSums(const ct_channels *c, T eps, const T *x, const T *mean, const T *deviation, const T *dy, double *shift,
                     double *slope);
template <typename T>
void StandardisePullback(const ct_channels *c, size_t count, T eps, const T *x, const T *mean, const T *deviation,
                         const T *w, const double *shift, const double *slope, const T *dy, int add, T *dx);
template <typename T>
void Argsort(int order, int descending, size_t R, size_t C, size_t count, const T *x, const ct_view *view, T *places);
template <typename T>
int Choose(const ct_pick *pick, size_t n, const T *x, const ct_view *bases, const void *index,
           const ct_view *indices, T *y);
template <typename T>
int ChoosePullback(const ct_pick *pick, size_t n, const T *dy, const void *index, const ct_view *indices, T *dx,
                   const ct_view *bases);

template <typename T>
void Product(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, int add, T *c,
             ct_matrix cs);
template <typename T>
void BiasedProduct(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, const T *bias, T *c);
template <typename T>
void Products(size_t count, size_t M, size_t N, size_t K, const T *a, ct_starts aStarts, ct_matrix as, const T *b,
              ct_starts bStarts, ct_matrix bs, int add, T *c, ct_starts cStarts, ct_matrix cs);

template <typename T>
void Convolve(const ct_convolution *c, const T *x, const T *w, const T *bias, T *y);
template <typename T>
void ConvolvePullback(const ct_convolution *c, const T *w, const T *dy, int add, T *dx);
template <typename T>
void ConvolveWeightPullback(const ct_convolution *c, const T *x, const T *dy, int add, T *dw);

/// This variant's table.
extern const ct_kernels kTable;

} // namespace CladTorch::Kernels
