/// \file kernels.h
/// The C interface of the numerical ground floor: tables of stateless functions on raw pointers, for float (`f32`) and
/// for double (`f64`), in a variant for each instruction set.
///
/// Every matrix is dense and row-major. R: rows of the tile, I: inputs, O: outputs, C: columns of the network's
/// output. No function allocates, keeps state, throws or checks: the caller (rust/base/src/kernels.rs) has checked sizes.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Activations that run inside a layer, since the sign of the value tells the derivative: the first ones of
/// `Activation::ALL` in rust/src/graph/op.rs.
enum ct_activation { CT_IDENTITY = 0, CT_RELU = 1, CT_LEAKY_RELU = 2 };

/// Losses, in the order of `Loss::ALL` in rust/src/graph/op.rs.
enum ct_loss {
   CT_BINARY_CROSS_ENTROPY = 0,
   CT_SOFTMAX_CROSS_ENTROPY = 1,
   CT_MEAN_SQUARED_ERROR = 2,
   CT_HUBER = 3,
   CT_FOCAL = 4,
   CT_QUANTILE = 5,
   CT_GAUSSIAN = 6,
};

/// Numbers of one optimiser update. `step` counts from 1 (Adam's bias correction).
struct ct_update {
   double learning_rate;
   double weight_decay;
   double momentum;
   double beta1;
   double beta2;
   double epsilon;
   int64_t step;
};

/// The largest number of dimensions of a view, after contiguous neighbours are joined.
#define CT_RANK 8

/// Which of several greatest elements of a row receive its derivative: the first one, or the last NaN; all, in equal
/// shares, which are NaN if the greatest is NaN; all, including NaNs; the first one, or the first NaN.
enum ct_ties { CT_TIES_FIRST, CT_TIES_EVEN, CT_TIES_EVEN_NAN, CT_TIES_FIRST_NAN };

/// The order of the elements of a row: all of them, equal ones in the order of the row; the first ones as in LibTorch's
/// topk, sorted or not.
enum ct_order { CT_ORDER_STABLE, CT_ORDER_TOP, CT_ORDER_TOP_UNSORTED };

/// The elements of a strided view in row-major order; strides and offset count elements. A view of rank 0 has one element.
struct ct_view {
   /// Elements of the view, and of memory up to its last element.
   size_t count;
   size_t extent;
   size_t rank;
   size_t offset;
   size_t sizes[CT_RANK];
   size_t strides[CT_RANK];
};

/// How an index chooses along a dimension: `size` elements, `stride` apart.
struct ct_pick {
   size_t size;
   size_t stride;
   /// Negative indices count from the end.
   int from_end;
   /// Whether `skip` is an index that chooses nothing.
   int has_skip;
   int64_t skip;
   /// Whether the index consists of whole numbers of the graph's type instead of int64.
   int is_number;
};

/// Elements between neighbouring rows and columns of a matrix.
struct ct_matrix {
   size_t row;
   size_t column;
};

/// The starts of the matrices of several products: number i at list[i * step] or, if list is null, at i * step.
struct ct_starts {
   const size_t *list;
   size_t step;
};

/// A convolution along one dimension, of stride 1 and without padding: signals x[events, groups, inputs, length] and weights
/// w[groups, outputs, inputs, taps] give y[events, groups, outputs, length - (taps - 1) * dilation].
struct ct_convolution {
   size_t events, groups, inputs, outputs, taps, dilation, length;
};

/// Channels of a batch [rows, channels, side] in panels of `width` channels, each [rows, width, side]: a dense batch is
/// one panel as wide as the number of channels. Panels wider than the channels have side 1, and zeros where there is no
/// channel.
struct ct_channels {
   size_t rows, channels, side, width;
};

#define CT_KERNELS(T, S)                                                                                               \
   struct ct_kernels_##S {                                                                                             \
      /* z[R,O] = x[R,I] w[O,I]^T + b[O], by BLAS */                                                                   \
      void (*linear)(size_t R, size_t I, size_t O, const T *x, const T *w, const T *b, T *z);                          \
      /* dw[O,I] += dz[R,O]^T x[R,I]; db[O] += column sums of dz; dx[R,I] = dz w unless dx is null; by BLAS */         \
      void (*linear_pullback)(size_t R, size_t I, size_t O, const T *x, const T *w, const T *dz, T *dx, T *dw, T *db); \
      /* Columns of a panel; see packed.cpp for the order of numbers in packed matrices */                             \
      size_t panel_width;                                                                                              \
      /* Numbers of the parameters of a layer, and its weight w[O,I] and bias b[O] into that order and back */         \
      size_t (*layer_length)(size_t I, size_t O);                                                                      \
      void (*pack_layer)(size_t I, size_t O, const T *w, const T *b, T *layer);                                        \
      void (*unpack_layer)(size_t I, size_t O, const T *layer, T *w, T *b);                                            \
      /* The weight once more as the pullback's dx reads it */                                                         \
      size_t (*transposed_length)(size_t I, size_t O);                                                                 \
      void (*transpose_layer)(size_t I, size_t O, const T *layer, T *transposed);                                      \
      /* z = act(x w^T + b), all packed; act is CT_IDENTITY, CT_RELU or CT_LEAKY_RELU */                               \
      void (*packed_linear)(int act, size_t R, size_t I, size_t O, const T *x, const T *layer, T *z);                  \
      /* dlayer = (sum: +=) the gradient of the layer; dx = (add: +=) act'(x) (dz w) unless dx is null, where x is the \
         value of act, one of the three */                                                                             \
      void (*packed_pullback)(int act, size_t R, size_t I, size_t O, const T *x, const T *transposed, const T *dz,     \
                             int sum, T *dx, int add, T *dlayer);                                                      \
      /* dense[R,C] packed, with zeros where there is no column, and back */                                           \
      void (*pack_matrix)(size_t R, size_t C, const T *dense, T *packed);                                              \
      void (*unpack_matrix)(size_t R, size_t C, const T *packed, T *dense);                                            \
      /* Rows `rows` (null: 0 to R - 1) of features[_,C] as (x - mean[C]) inverse[C], packed */                        \
      void (*gather)(size_t R, size_t C, const uint32_t *rows, const float *features, const float *mean,               \
                     const float *inverse, T *packed);                                                                 \
      /* d[n] *= act'(z[n]), where a[n] = act(z[n]) */                                                                 \
      void (*activation_pullback)(int kind, size_t n, const T *a, T *d);                                               \
      /* Returns sum_r w[r] loss(z[r,:], y[r,:]) and, unless dz is null, dz = scale * its gradient. The losses over    \
         elements are means over the C columns of a row and take y[R,C]; softmax cross-entropy takes y[R], the class   \
         index as a number; the Gaussian likelihood takes C/2 means and then as many logarithms of variances, and      \
         y[R,C/2], over which it sums. `parameter` is the label smoothing of the cross-entropies, the focus of the     \
         focal loss, the share of the quantile and the least logarithm of a variance. */                               \
      double (*loss)(int kind, double parameter, size_t R, size_t C, const T *z, const T *y, const T *w, double scale, \
                     T *dz);                                                                                           \
      /* sum[n] += term[n] */                                                                                          \
      void (*add)(size_t n, const T *term, T *sum);                                                                    \
      /* One update over n parameters p with gradient g. velocity is null where momentum is 0. */                      \
      void (*sgd)(const struct ct_update *s, size_t n, T *p, const T *g, T *velocity);                                 \
      /* Adam (Kingma and Ba 2015, algorithm 1); weight decay is added to the gradient, as in torch::optim::Adam. */   \
      void (*adam)(const struct ct_update *s, size_t n, T *p, const T *g, T *m, T *v);                                 \
      /* AdamW (Loshchilov and Hutter 2019, algorithm 2): weight decay on the parameter, as in torch::optim::AdamW. */ \
      void (*adamw)(const struct ct_update *s, size_t n, T *p, const T *g, T *m, T *v);                                \
      /* The operator graph. Views are strided; y and dy are contiguous. Functions are numbered in operators.hpp.      \
         Without `add` a pullback writes its view of dx, no two elements of which may then be the same memory. */      \
      /* y[n] = function of the views of x, from their element `begin` on */                                           \
      void (*map)(int function, size_t begin, size_t n, const T *const *x, const struct ct_view *views, T *y);         \
      /* dx's view (add: +)= dy times the derivative of function by operand `which` */                                 \
      void (*map_pullback)(int function, size_t which, size_t n, const T *const *x,                                    \
                           const struct ct_view *views, const T *dy, int add, T *dx,                                   \
                           const struct ct_view *target);                                                              \
      /* y's view += x's view: a sum where y has stride 0, the pullback of a broadcast where x has */                  \
      void (*accumulate)(size_t n, const T *x, const struct ct_view *view, T *y, const struct ct_view *target);        \
      /* y's view = x's view */                                                                                        \
      void (*copy)(size_t n, const T *x, const struct ct_view *view, T *y, const struct ct_view *target);              \
      /* y[R] = greatest of each row of x's view [R,C], NaN above all */                                               \
      void (*max)(size_t R, size_t C, const T *x, const struct ct_view *view, T *y);                                   \
      /* dx's view (add: +)= dy given to the greatest of each row, as `ties` (ct_ties) says */                         \
      void (*max_pullback)(int ties, size_t R, size_t C, const T *x, const struct ct_view *view, const T *y,           \
                                const T *dy, int add, T *dx, const struct ct_view *target);                            \
      /* y[R] = sqrt(sum of x^2) of each row of x's view [R,C]; the derivative is 0 where that is 0 */                 \
      void (*length)(size_t R, size_t C, const T *x, const struct ct_view *view, T *y);                                \
      void (*length_pullback)(size_t R, size_t C, const T *x, const struct ct_view *view, const T *y, const T *dy,     \
                              int add, T *dx, const struct ct_view *target);                                           \
      /* y[R,C] = softmax of each row of x's view, or its logarithm */                                                 \
      void (*softmax)(int logarithm, size_t R, size_t C, const T *x, const struct ct_view *view, T *y);                \
      void (*softmax_pullback)(int logarithm, size_t R, size_t C, const T *y, const T *dy, int add, T *dx,             \
                               const struct ct_view *target);                                                          \
      /* The same down the columns of R matrices [C,N], all dense */                                                   \
      void (*softmax_down)(int logarithm, size_t R, size_t C, size_t N, const T *x, T *y);                             \
      void (*softmax_down_pullback)(int logarithm, size_t R, size_t C, size_t N, const T *y, const T *dy, int add,     \
                                    T *dx);                                                                            \
      /* y[R,C] = (x[R,C] - mean) / sqrt(variance + eps) * w[C] + b[C], by the mean and variance of each row */        \
      void (*normalise)(size_t R, size_t C, T eps, const T *x, const T *w, const T *b, T *y);                          \
      void (*normalise_pullback)(size_t R, size_t C, T eps, const T *x, const T *w, const T *dy, int add, T *dx);      \
      void (*normalise_scale_pullback)(size_t R, size_t C, T eps, const T *x, const T *dy, T *dw);                     \
      /* mean[C] of the channels of x, and the sums[C] of squared deviations from it */                                \
      void (*spread)(const struct ct_channels *c, const T *x, double *mean, double *squares);                          \
      /* mean[C] and root of the mean squared deviation[C] of the channels of x */                                     \
      void (*moments)(const struct ct_channels *c, const T *x, T *mean, T *deviation);                                 \
      /* y = (x - mean) / sqrt(deviation^2 + eps) * w[C] + b[C] */                                                     \
      void (*standardise)(const struct ct_channels *c, T eps, const T *x, const T *mean, const T *deviation,           \
                          const T *w, const T *b, T *y);                                                               \
      /* shift[C] and slope[C] = what dy gives b and w: for each channel the sums of dy and of dy times the            \
         standardised x */                                                                                             \
      void (*standardise_sums)(const struct ct_channels *c, T eps, const T *x, const T *mean, const T *deviation,      \
                               const T *dy, double *shift, double *slope);                                             \
      /* dx (add: +)= what dy gives x, also through its moments, which are those of `count` elements a channel, of     \
         which x has some rows */                                                                                      \
      void (*standardise_pullback)(const struct ct_channels *c, size_t count, T eps, const T *x, const T *mean,        \
                                   const T *deviation, const T *w, const double *shift, const double *slope,           \
                                   const T *dy, int add, T *dx);                                                       \
      /* places[R,count] = where in its row of x's view [R,C] each of the first `count` elements is, in that order     \
         (ct_order), from the greatest or from the least on; a NaN is greater than all */                              \
      void (*argsort)(int order, int descending, size_t R, size_t C, size_t count, const T *x,                         \
                      const struct ct_view *view, T *places);                                                          \
      /* y[n] = x's view shifted along a dimension by the indices' view; 0 returned: an index is out of range */       \
      int (*choose)(const struct ct_pick *pick, size_t n, const T *x, const struct ct_view *bases,                     \
                    const void *index, const struct ct_view *indices, T *y);                                           \
      int (*choose_pullback)(const struct ct_pick *pick, size_t n, const T *dy, const void *index,                     \
                             const struct ct_view *indices, T *dx, const struct ct_view *bases);                       \
      /* `count` times c[M,N] (add: +)= a[M,K] b[K,N]; c has rows or columns of neighbouring elements */               \
      void (*products)(size_t count, size_t M, size_t N, size_t K, const T *a, struct ct_starts aStarts,               \
                       struct ct_matrix as, const T *b, struct ct_starts bStarts, struct ct_matrix bs, int add, T *c,  \
                       struct ct_starts cStarts, struct ct_matrix cs);                                                 \
      /* c[M,N] = a[M,K] b[K,N] + bias[N] in every row, c dense */                                                     \
      void (*biased_product)(size_t M, size_t N, size_t K, const T *a, struct ct_matrix as, const T *b,                \
                             struct ct_matrix bs, const T *bias, T *c);                                                \
      /* y of ct_convolution, plus bias[groups, outputs] unless that is null */                                        \
      void (*convolve)(const struct ct_convolution *c, const T *x, const T *w, const T *bias, T *y);                   \
      /* dx (add: +)= what dy gives the signals */                                                                     \
      void (*convolve_pullback)(const struct ct_convolution *c, const T *w, const T *dy, int add, T *dx);              \
      /* dw (add: +)= what dy gives the weights */                                                                     \
      void (*convolve_weight_pullback)(const struct ct_convolution *c, const T *x, const T *dy, int add, T *dw);       \
   };

CT_KERNELS(float, f32)
CT_KERNELS(double, f64)
#undef CT_KERNELS

/// Types of numbers in a file, in the order of `Element::ALL` in rust/base/src/columns/branch.rs.
enum ct_element {
   CT_BOOL = 0,
   CT_I8 = 1,
   CT_U8 = 2,
   CT_I16 = 3,
   CT_U16 = 4,
   CT_I32 = 5,
   CT_U32 = 6,
   CT_I64 = 7,
   CT_U64 = 8,
   CT_F32 = 9,
   CT_F64 = 10
};

/// Contiguous lists of numbers: list r lies in bytes [ends[r] + before, ends[r + 1] - after) of entries[length].
struct ct_lists {
   const uint8_t *entries;
   size_t length;
   const size_t *ends;
   size_t before, after;
};

/// Float32 numbers at any address, big-endian (1) or in the processor's byte order (0).
struct ct_column {
   const uint8_t *numbers;
   int big_endian;
};

/// From the numbers of a file to rows of float32. None bypasses the caches, however large its result: the system has
/// just cleared the pages of a new table, so that they are in the caches.
struct ct_columns {
   /* values[n] from n big-endian numbers at any address; 1 if all are finite as float32, else 0. */
   int (*convert)(int element, size_t n, const uint8_t *bytes, float *values);
   /* Row r of values[n, wanted] gets the big-endian numbers of list r, cut, or filled up with `pad`; the same 1 or 0. */
   int (*scatter)(int element, size_t n, const struct ct_lists *lists, size_t wanted, float pad, float *values);
   /* rows[r * width + c] = number r of column c, for C columns and R rows; 1 if all that were big-endian are finite. */
   int (*interleave)(size_t R, const struct ct_column *columns, size_t C, size_t width, float *rows);
   /* rows[r * width + c] = from[r][c] for rows that lie anywhere. */
   void (*gather_rows)(size_t R, const float *const *from, size_t width, float *rows);
};

/// The products of a layer of more than one output whose factors are pairs of bfloat16, for matrices packed as those of
/// `ct_kernels_f32`; see bf16.cpp for the order of pairs.
struct ct_bf16 {
   /* Packed [R,C] as pairs of the nearest bfloat16, along rows unless that is null and across them; zeros where there is no
      column */
   void (*round)(size_t R, size_t C, const float *packed, uint32_t *along, uint32_t *across);
   /* The weight of a layer as pairs along its inputs and, unless that is null, along its outputs, as the pullback reads it */
   void (*round_layer)(size_t I, size_t O, const float *layer, uint32_t *weight, uint32_t *transposed);
   /* z = act(x w^T + b), all packed; the layer is read for the bias */
   void (*linear)(int act, size_t R, size_t I, size_t O, const uint32_t *along, const uint32_t *weight, const float *layer,
                  float *z);
   /* dx = (add: +=) act'(x) (dz w) */
   void (*input_pullback)(int act, size_t R, size_t I, size_t O, const float *x, const uint32_t *transposed,
                          const uint32_t *dz_along, float *dx, int add);
   /* dlayer = (sum: +=) the gradient of the layer, that of the bias from dz in float32 */
   void (*weight_pullback)(size_t R, size_t I, size_t O, const uint32_t *x_across, const uint32_t *dz_across, const float *dz,
                           int sum, float *dlayer);
};

/// The kernels compiled for the instructions of this processor.
struct ct_kernels {
   const char *name;
   struct ct_kernels_f32 f32;
   struct ct_kernels_f64 f64;
   struct ct_columns columns;
};

/// Variants, each with wider registers than the one before, the last one with the instructions of `ct_bf16`.
enum ct_variant { CT_PORTABLE, CT_AVX2, CT_AVX512, CT_AVX512_BF16 };

/// The fastest variant that runs here and is not beyond `widest`.
const struct ct_kernels *ct_kernels_for_this_machine(int widest);

/// The products in bfloat16; null if they do not run here, or `widest` forbids them.
const struct ct_bf16 *ct_bf16_for_this_machine(int widest);

/// Restricts the BLAS that LibTorch carries to `count` threads for calls from this thread; 0: as many as for others.
/// Returns the previous number, or -1 if this BLAS has no such switch.
int ct_blas_threads(int count);

#ifdef __cplusplus
}
#endif
