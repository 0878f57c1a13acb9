/// \file packed.hpp
/// The linear layer of packed matrices (packed.cpp says how) as products of register tiles: for factors of float and
/// double, and for pairs of bfloat16 (bf16.cpp).
///
/// A factor is what stands at one place of a matrix in a product: F is the number itself, or a pair of neighbours along the sum.
/// Sums, biases, values and gradients are numbers of SumOf<F>.
#pragma once
#include "activations.hpp"
#include "generated/derivatives.hpp"
#include "kernels.h"
#include "tile.hpp"

namespace CladTorch::Kernels {

template <typename T>
constexpr size_t kPanel = kTileColumns<T>;

template <typename T>
constexpr size_t Panels(size_t columns)
{
   return (columns + kPanel<T> - 1) / kPanel<T>;
}

/// Columns of panel `index` that the matrix has.
template <typename T>
constexpr size_t ColumnsOf(size_t index, size_t columns)
{
   return columns - index * kPanel<T> < kPanel<T> ? columns - index * kPanel<T> : kPanel<T>;
}

/// Factors that hold K numbers; what is missing in the last one is zero.
template <typename F>
constexpr size_t Factors(size_t K)
{
   return (K + kNumbers<F> - 1) / kNumbers<F>;
}

/// F of every lane. Compilers turn the loop into vector code as long as v is a value, not memory.
template <typename T, T F(T)>
inline Vector<T> Map(Vector<T> v)
{
   Vector<T> result = v;
   for (size_t l = 0; l < kLanes<T>; ++l)
      result[l] = F(v[l]);
   return result;
}

/// body(constant) with the activation, as a constant function, of a number of ct_activation.
template <typename T, class Body>
inline void WithActivation(int activation, Body body)
{
   using Function = T (*)(T);
   switch (activation) {
   case CT_IDENTITY: return body(std::integral_constant<Function, Identity<T>>{});
   case CT_RELU: return body(std::integral_constant<Function, Relu<T>>{});
   case CT_LEAKY_RELU: return body(std::integral_constant<Function, LeakyRelu<T>>{});
   }
}

/// tile += a[R, K] b[K, kPanel] with a in panels of `height` rows; K counts factors.
template <typename F, size_t R, size_t W>
inline void MultiplyPanels(Tile<SumOf<F>, R, W> &tile, size_t K, const F *a, size_t height, const F *b)
{
   constexpr size_t P = kPanel<SumOf<F>>, across = P / kNumbers<F>;
   for (; K > across; K -= across, a += height * across, b += across * P)
      tile.Multiply(across, a, across, 1, b, P);
   tile.Multiply(K, a, across, 1, b, P);
}

/// z panel = Activation(x w + b), or W registers of each row of it
template <typename F, SumOf<F> Activation(SumOf<F>), size_t W>
struct ForwardPanel {
   using T = SumOf<F>;
   size_t fRows, fDepth; // rows; factors of a sum
   const F *fX, *fWeight;
   const T *fBias;
   T *fZ;

   template <size_t R>
   void Run(size_t first) const
   {
      constexpr size_t P = kPanel<T>;
      Tile<T, R, W> tile;
      tile.Load(fBias, 0);
      MultiplyPanels(tile, fDepth, fX + first * (P / kNumbers<F>), fRows, fWeight);
      for (auto &row : tile.fSums)
         for (auto &half : row)
            half = Map<T, Activation>(half);
      tile.Store(fZ + first * P, P);
   }
};

/// The derivative of an activation that depends on the sign of its value alone.
template <typename T>
struct Slopes {
   T fBelow, fAbove;

   template <T D(T)>
   static Slopes Of()
   {
      return {D(T(-1)), D(T(1))};
   }

   /// Of a number of ct_activation.
   static Slopes Of(int activation)
   {
      switch (activation) {
      case CT_RELU: return Of<Relu_darg0>();
      case CT_LEAKY_RELU: return Of<LeakyRelu_darg0>();
      default: return Of<Identity_darg0>();
      }
   }

   Vector<T> At(Vector<T> value) const { return value <= 0 ? Vector<T>{} + fBelow : Vector<T>{} + fAbove; }
};

/// dx panel (=, or += with `fAdd`) slope(x) (dz w), or W registers of each row of it
template <typename F, size_t W>
struct InputPanel {
   using T = SumOf<F>;
   size_t fRows, fDepth; // rows; factors of a sum
   const F *fDz, *fTransposed;
   const T *fX;
   Slopes<T> fSlopes;
   bool fAdd;
   T *fDx;

   template <size_t R>
   void Run(size_t first) const
   {
      constexpr size_t P = kPanel<T>;
      Tile<T, R, W> tile{}, values;
      MultiplyPanels(tile, fDepth, fDz + first * (P / kNumbers<F>), fRows, fTransposed);
      values.Load(fX + first * P, P);
      for (size_t r = 0; r < R; ++r)
         for (size_t h = 0; h < W; ++h)
            tile.fSums[r][h] *= fSlopes.At(values.fSums[r][h]);
      if (fAdd) {
         values.Load(fDx + first * P, P);
         for (size_t r = 0; r < R; ++r)
            for (size_t h = 0; h < W; ++h)
               tile.fSums[r][h] += values.fSums[r][h];
      }
      tile.Store(fDx + first * P, P);
   }
};

/// A panel of the weight's gradient: rows of dw (=, or += with `fSum`) x^T dz, of the inputs in one panel of x;
/// or W registers of each.
template <typename F, size_t W>
struct WeightPanel {
   using T = SumOf<F>;
   size_t fDepth; // factors of a sum
   const F *fX, *fDz;
   bool fSum;
   T *fDw;

   template <size_t R>
   void Run(size_t first) const
   {
      constexpr size_t P = kPanel<T>;
      Tile<T, R, W> tile{};
      if (fSum)
         tile.Load(fDw + first * P, P);
      tile.Multiply(fDepth, fX + first, 1, P, fDz, P);
      tile.Store(fDw + first * P, P);
   }
};

/// The column sums of the first W registers of dz[R, kPanel], added to `db` with `sum`.
template <size_t W, typename T>
void BiasPanel(size_t R, const T *dz, bool sum, T *db)
{
   constexpr size_t P = kPanel<T>;
   constexpr size_t kChains = 4; // additions under way at once
   Tile<T, kChains, W> tile{};
   for (; R >= kChains; R -= kChains, dz += kChains * P) {
      Tile<T, kChains, W> rows;
      rows.Load(dz, P);
      for (size_t r = 0; r < kChains; ++r)
         for (size_t h = 0; h < W; ++h)
            tile.fSums[r][h] += rows.fSums[r][h];
   }
   for (size_t r = 0; r < R; ++r, dz += P)
      for (size_t h = 0; h < W; ++h)
         tile.fSums[r][h] += Load(dz + h * kLanes<T>);
   for (size_t h = 0; h < W; ++h, db += kLanes<T>) {
      const Vector<T> total = (tile.fSums[0][h] + tile.fSums[1][h]) + (tile.fSums[2][h] + tile.fSums[3][h]);
      Store(sum ? total + Load(db) : total, db);
   }
}

/// z[R,O] = activation(x[R,I] w + b); the weight's panels are `stride` factors apart, the bias's those of a layer.
template <typename F>
void ForwardPanels(int activation, size_t R, size_t I, size_t O, const F *x, const F *weight, size_t stride,
                   const SumOf<F> *bias, SumOf<F> *z)
{
   using T = SumOf<F>;
   constexpr size_t P = kPanel<T>;
   WithActivation<T>(activation, [=](auto function) {
      for (size_t p = 0; p < Panels<T>(O); ++p)
         WithWidth<T>(O - p * P, [=](auto width) {
            RunTiles(R, ForwardPanel<F, decltype(function)::value, width()>{R, Factors<F>(I), x, weight + p * stride, bias + p * (I + 1) * P,
                                                             z + p * R * P});
         });
   });
}

/// dx[R,I] (=, or += with `add`) slope(x) (dz[R,O] w)
template <typename F>
void InputPanels(int before, size_t R, size_t I, size_t O, const SumOf<F> *x, const F *transposed, const F *dz, SumOf<F> *dx,
                 bool add)
{
   using T = SumOf<F>;
   constexpr size_t P = kPanel<T>;
   const auto slopes = Slopes<T>::Of(before);
   const size_t depth = Factors<F>(O);
   for (size_t i = 0; i < I; i += P, x += R * P, transposed += depth * P, dx += R * P)
      WithWidth<T>(I - i, [=](auto width) {
         RunTiles(R, InputPanel<F, width()>{R, depth, dz, transposed, x, slopes, add, dx});
      });
}

/// The gradient of the layer's parameters (with `sum`: +)= x^T dz, and the column sums of dz; `factors` are those of dz.
template <typename F>
void WeightPanels(size_t R, size_t I, size_t O, const F *x, const F *factors, const SumOf<F> *dz, bool sum, SumOf<F> *dlayer)
{
   using T = SumOf<F>;
   constexpr size_t P = kPanel<T>;
   const size_t depth = Factors<F>(R);
   for (size_t o = 0; o < O; o += P, factors += depth * P, dz += R * P, dlayer += (I + 1) * P)
      WithWidth<T>(O - o, [=](auto width) {
         for (size_t p = 0; p < Panels<T>(I); ++p)
            RunTiles(ColumnsOf<T>(p, I), WeightPanel<F, width()>{depth, x + p * depth * P, factors, sum, dlayer + p * P * P});
         BiasPanel<width()>(R, dz, sum, dlayer + I * P);
      });
}

} // namespace CladTorch::Kernels
