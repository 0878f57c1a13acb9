/// \file packed.cpp
/// The linear layer, followed by the activation, and its pullback by register tiles. linear.cpp is the reference.
/// Measured on one core of an AMD Zen 3 against MKL (LibTorch 2.11), GFLOP/s, 128 rows: forward 28-64 82 and 75,
/// 64-64 93 and 87, 512-512 99 and 90. On an Intel Sapphire Rapids with AVX-512 it is 113, 120 and 135 (with AVX2 70, 74
/// and 77); MKL's best square product reaches 126 there.
///
/// Matrices are packed: [R, C] is stored as ceil(C / kPanel) panels [R, kPanel], one after the other, so that a tile
/// reads contiguous memory for any C. Columns that the matrix does not have exist all the same: those of parameters are
/// zero and stay so; those of values are neither read nor written if a whole register has no column, and may hold
/// anything. A layer's parameters are the panels of [I + 1, O]: the weight transposed, the bias as the last row; its
/// gradient has the same order, so the optimiser's update is independent of it. A layer of one output has [I] padded to
/// whole panels and the bias after it.
///
/// All products are those of tile.hpp, with kPanel columns.
#include "kernels.hpp"
#include "packed.hpp"

#include <cstring>
#include <type_traits>

namespace CladTorch::Kernels {
namespace {

/// The sum of every row of the square.
template <typename T>
Vector<T> RowSums(Square<T> square)
{
   square.Transpose();
   for (size_t half = kLanes<T> / 2; half > 0; half /= 2)
      for (size_t l = 0; l < half; ++l)
         square.fRows[l] += square.fRows[l + half];
   return square.fRows[0];
}

/// z[R] = F(x[R,I] w[I] + b), in the first column of a panel
template <typename T, T F(T)>
void OneOutput(size_t R, size_t I, const T *x, const T *layer, T *z)
{
   constexpr size_t L = kLanes<T>, P = kPanel<T>;
   const T bias = layer[Panels<T>(I) * P];
   for (size_t first = 0; first < R; first += L) {
      const size_t rows = R - first < L ? R - first : L;
      Square<T> sums{};
      for (size_t p = 0; p < Panels<T>(I); ++p)
         WithWidth<T>(I - p * P, [&](auto width) {
            const T *from = x + (p * R + first) * P;
            // Always a full square, which stays in registers, and no choice between rows: otherwise the compiler would
            // round the products of some rows once and those of others twice, and a row's last digit would depend on
            // its place.
            T square[L * P];
            if (rows < L) {
               std::memcpy(square, from, rows * P * sizeof(T));
               std::memset(square + rows * P, 0, (L - rows) * P * sizeof(T));
               from = square;
            }
            const Vector<T> left = Load(layer + p * P), right = Load(layer + p * P + L);
            for (size_t r = 0; r < L; ++r) {
               const T *row = from + r * P;
               AddProducts(Load(row), left, sums.fRows[r]);
               if constexpr (width() > 1)
                  AddProducts(Load(row + L), right, sums.fRows[r]);
            }
         });
      const Vector<T> values = RowSums(sums) + bias;
      std::memset(z + first * P, 0, rows * P * sizeof(T));
      for (size_t r = 0; r < rows; ++r)
         z[(first + r) * P] = F(values[r]);
   }
}

/// The pullback of OneOutput for one panel of x: dw (+)= x^T dz and, unless dx is null, dx (+)= slope(x) dz w.
template <typename T>
void OneOutputPanel(size_t R, const T *x, const T *w, Slopes<T> slopes, const T *dz, bool sum, T *dw, T *dx, bool add)
{
   constexpr size_t L = kLanes<T>, P = kPanel<T>;
   constexpr size_t kChains = 4; // additions in flight, with two halves of a panel
   const Vector<T> weight[2] = {Load(w), Load(w + L)};
   Vector<T> sums[kChains][2] = {};
   const auto take = [&](size_t r, size_t chain) {
      for (size_t h = 0; h < 2; ++h) {
         const Vector<T> value = Load(x + r * P + h * L);
         AddProduct(dz[r * P], value, sums[chain][h]);
         if (dx) {
            T *to = dx + r * P + h * L;
            const Vector<T> adjoint = dz[r * P] * weight[h] * slopes.At(value);
            Store(add ? adjoint + Load(to) : adjoint, to);
         }
      }
   };
   size_t r = 0;
   for (; r + kChains <= R; r += kChains)
      for (size_t c = 0; c < kChains; ++c)
         take(r + c, c);
   for (; r < R; ++r)
      take(r, 0);
   for (size_t h = 0; h < 2; ++h) {
      const Vector<T> total = (sums[0][h] + sums[1][h]) + (sums[2][h] + sums[3][h]);
      Store(sum ? total + Load(dw + h * L) : total, dw + h * L);
   }
}

template <typename T>
void OneOutputPullback(size_t R, size_t I, const T *x, const T *w, Slopes<T> slopes, const T *dz, bool sum, T *dx,
                       bool add, T *dlayer)
{
   constexpr size_t P = kPanel<T>;
   const size_t panels = Panels<T>(I);
   for (size_t p = 0; p < panels; ++p)
      OneOutputPanel(R, x + p * R * P, w + p * P, slopes, dz, sum, dlayer + p * P, dx ? dx + p * R * P : nullptr, add);
   // The contents of x without a column have no meaning.
   for (size_t i = I; i < panels * P; ++i)
      dlayer[i] = 0;
   T *bias = dlayer + panels * P;
   T total = sum ? *bias : T(0);
   for (size_t r = 0; r < R; ++r)
      total += dz[r * P];
   *bias = total;
}

/// The place of input i's weight for output o in a layer of more than one output.
template <typename T>
size_t Place(size_t I, size_t i, size_t o)
{
   constexpr size_t P = kPanel<T>;
   return (o / P * (I + 1) + i) * P + o % P;
}

} // namespace

template <typename T>
size_t LayerLength(size_t I, size_t O)
{
   return O == 1 ? (Panels<T>(I) + 1) * kPanel<T> : Panels<T>(O) * (I + 1) * kPanel<T>;
}

template <typename T>
void PackLayer(size_t I, size_t O, const T *w, const T *b, T *layer)
{
   std::memset(layer, 0, LayerLength<T>(I, O) * sizeof(T));
   if (O == 1) {
      std::memcpy(layer, w, I * sizeof(T));
      layer[Panels<T>(I) * kPanel<T>] = b[0];
      return;
   }
   for (size_t o = 0; o < O; ++o) {
      for (size_t i = 0; i < I; ++i)
         layer[Place<T>(I, i, o)] = w[o * I + i];
      layer[Place<T>(I, I, o)] = b[o];
   }
}

template <typename T>
void UnpackLayer(size_t I, size_t O, const T *layer, T *w, T *b)
{
   if (O == 1) {
      std::memcpy(w, layer, I * sizeof(T));
      b[0] = layer[Panels<T>(I) * kPanel<T>];
      return;
   }
   for (size_t o = 0; o < O; ++o) {
      for (size_t i = 0; i < I; ++i)
         w[o * I + i] = layer[Place<T>(I, i, o)];
      b[o] = layer[Place<T>(I, I, o)];
   }
}

/// One output: the weight itself, padded to whole panels. More: the panels of w[O,I].
template <typename T>
size_t TransposedLength(size_t I, size_t O)
{
   return Panels<T>(I) * O * kPanel<T>;
}

template <typename T>
void TransposeLayer(size_t I, size_t O, const T *layer, T *transposed)
{
   constexpr size_t L = kLanes<T>, P = kPanel<T>;
   if (O == 1) {
      std::memcpy(transposed, layer, Panels<T>(I) * P * sizeof(T));
      return;
   }
   for (size_t o = 0; o < O; o += L, layer += o % P ? 0 : (I + 1) * P)
      for (size_t i = 0; i < I; i += L) {
         const size_t rows = I - i < L ? I - i : L, columns = O - o < L ? O - o : L;
         Square<T> square;
         for (size_t r = 0; r < L; ++r)
            square.fRows[r] = r < rows ? Load(layer + (i + r) * P + o % P) : Vector<T>{};
         square.Transpose();
         T *to = transposed + (i / P * O + o) * P + i % P;
         for (size_t c = 0; c < L; ++c)
            if (c < columns)
               Store(square.fRows[c], to + c * P);
      }
}

template <typename T>
void PackedLinear(int activation, size_t R, size_t I, size_t O, const T *x, const T *layer, T *z)
{
   constexpr size_t P = kPanel<T>;
   if (O == 1)
      WithActivation<T>(activation, [=](auto function) { OneOutput<T, decltype(function)::value>(R, I, x, layer, z); });
   else
      ForwardPanels(activation, R, I, O, x, layer, (I + 1) * P, layer + I * P, z);
}

template <typename T>
void PackedPullback(int before, size_t R, size_t I, size_t O, const T *x, const T *transposed, const T *dz, int sum,
                   T *dx, int add, T *dlayer)
{
   if (O == 1)
      return OneOutputPullback(R, I, x, transposed, Slopes<T>::Of(before), dz, sum, dx, add, dlayer);
   if (dlayer)
      WeightPanels(R, I, O, x, dz, dz, sum, dlayer);
   if (dx)
      InputPanels(before, R, I, O, x, transposed, dz, dx, add);
}

namespace {

/// Calls `f(columns)`, with the widths of whole panels or of their usual parts as constants, so that no copy of a row
/// is a call.
template <typename T, typename F>
void WithColumns(size_t columns, F f)
{
   constexpr size_t P = kPanel<T>;
   if (columns == P)
      f(std::integral_constant<size_t, P>());
   else if (columns == P / 2)
      f(std::integral_constant<size_t, P / 2>());
   else if (columns == P / 4)
      f(std::integral_constant<size_t, P / 4>());
   else
      f(columns);
}

} // namespace

template <typename T>
void PackMatrix(size_t R, size_t C, const T *dense, T *packed)
{
   constexpr size_t P = kPanel<T>;
   if (C == 1) { // The compiler turns a copy of one number into a call of memcpy.
      for (size_t r = 0; r < R; ++r) {
         std::memset(packed + r * P, 0, P * sizeof(T));
         packed[r * P] = dense[r];
      }
      return;
   }
   for (size_t p = 0; p < Panels<T>(C); ++p, packed += R * P)
      WithColumns<T>(ColumnsOf<T>(p, C), [&](auto columns) {
         for (size_t r = 0; r < R; ++r) {
            std::memcpy(packed + r * P, dense + r * C + p * P, columns * sizeof(T));
            std::memset(packed + r * P + columns, 0, (P - columns) * sizeof(T));
         }
      });
}

template <typename T>
void UnpackMatrix(size_t R, size_t C, const T *packed, T *dense)
{
   constexpr size_t P = kPanel<T>;
   if (C == 1) {
      for (size_t r = 0; r < R; ++r)
         dense[r] = packed[r * P];
      return;
   }
   for (size_t p = 0; p < Panels<T>(C); ++p, packed += R * P)
      WithColumns<T>(ColumnsOf<T>(p, C), [&](auto columns) {
         for (size_t r = 0; r < R; ++r)
            std::memcpy(dense + r * C + p * P, packed + r * P, columns * sizeof(T));
      });
}

namespace {

/// to[n] = (from - mean) * inverse
template <typename T>
inline void Standardise(size_t n, const float *from, const float *mean, const float *inverse, T *to)
{
   constexpr size_t L = kLanes<T>;
   typedef float Floats __attribute__((vector_size(L * sizeof(float))));
   const auto block = [=](size_t c) {
      Floats x, m, i;
      std::memcpy(&x, from + c, sizeof x);
      std::memcpy(&m, mean + c, sizeof m);
      std::memcpy(&i, inverse + c, sizeof i);
      Store<T>(__builtin_convertvector((x - m) * i, Vector<T>), to + c);
   };
   size_t c = 0;
   for (; c + L <= n; c += L)
      block(c);
   if (c < n && c > 0)
      block(n - L); // repeats some, which is cheaper than the rest one by one
   else
      for (; c < n; ++c)
         to[c] = static_cast<T>((from[c] - mean[c]) * inverse[c]);
}

} // namespace

template <typename T>
void Gather(size_t R, size_t C, const uint32_t *rows, const float *features, const float *mean, const float *inverse,
            T *packed)
{
   constexpr size_t P = kPanel<T>;
   constexpr size_t kAhead = 8; // rows being prefetched from memory
   for (size_t r = 0; r < R; ++r) {
      const float *from = features + (rows ? rows[r] : r) * C;
      if (rows && r + kAhead < R)
         for (size_t byte = 0; byte < C * sizeof(float); byte += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(features + rows[r + kAhead] * C) + byte);
      for (size_t p = 0; p < Panels<T>(C); ++p) {
         T *to = packed + (p * R + r) * P;
         const size_t columns = ColumnsOf<T>(p, C), first = p * P;
         if (columns < P)
            std::memset(to, 0, P * sizeof(T));
         Standardise(columns, from + first, mean + first, inverse + first, to);
      }
   }
}

#define CT_INSTANTIATE(T)                                                                                              \
   template size_t LayerLength<T>(size_t, size_t);                                                                     \
   template void PackLayer(size_t, size_t, const T *, const T *, T *);                                                 \
   template void UnpackLayer(size_t, size_t, const T *, T *, T *);                                                     \
   template size_t TransposedLength<T>(size_t, size_t);                                                                \
   template void TransposeLayer(size_t, size_t, const T *, T *);                                                       \
   template void PackedLinear(int, size_t, size_t, size_t, const T *, const T *, T *);                                 \
   template void PackedPullback(int, size_t, size_t, size_t, const T *, const T *, const T *, int, T *, int, T *);     \
   template void PackMatrix(size_t, size_t, const T *, T *);                                                           \
   template void UnpackMatrix(size_t, size_t, const T *, T *);                                                         \
   template void Gather(size_t, size_t, const uint32_t *, const float *, const float *, const float *, T *);

CT_INSTANTIATE(float)
CT_INSTANTIATE(double)
#undef CT_INSTANTIATE

} // namespace CladTorch::Kernels
