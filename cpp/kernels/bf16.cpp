/// \file bf16.cpp
/// The products of linear layers in bfloat16: factors are rounded to the nearest bfloat16 (ties to even), products are
/// summed in float32, two at a time (VDPBF16PS). Everything else is float32, packed as in packed.cpp, whose register
/// tiles are used here, too.
///
/// A sum of products runs over pairs: along a row if x and dz are the left factor, so that a panel [R, kPanel] is [R,
/// kPanel / 2] pairs; across rows if a product sums over them, so that it is [R / 2, kPanel] pairs. The last pair is
/// padded with zero. The weight [I, O] is rounded once for each change: to pairs along I, [I / 2, kPanel] in each panel
/// of outputs, and to pairs along O, [O / 2, kPanel] in each panel of inputs.
///
/// The processor treats denormal factors and sums as zero, and rounds sums in its own order.
#include "kernels.h"
#include "packed.hpp"

#include <immintrin.h>
#include <utility>

namespace CladTorch::Kernels {
namespace {

constexpr size_t L = kLanes<float>, P = kPanel<float>;

/// 2 L numbers of bfloat16.
typedef short Halfwords __attribute__((vector_size(kVectorBytes)));

/// A row of a panel that has `columns` columns, zero in the others.
inline Halfwords RoundRow(const float *row, size_t columns)
{
   const auto mask = [](size_t count) { return static_cast<__mmask16>(count >= L ? 0xffff : (1u << count) - 1); };
   const __m512 lower = _mm512_maskz_loadu_ps(mask(columns), row);
   const __m512 upper = _mm512_maskz_loadu_ps(mask(columns > L ? columns - L : 0), row + L);
   return (Halfwords)_mm512_cvtne2ps_pbh(upper, lower);
}

/// Columns `First` to First + L - 1 of two rows as pairs.
template <int First, int... J>
inline Vector<Pair> Interleave(Halfwords a, Halfwords b, std::integer_sequence<int, J...>)
{
   return (Vector<Pair>)__builtin_shufflevector(a, b, (First + J / 2 + J % 2 * static_cast<int>(P))...);
}

inline void StorePairs(Halfwords a, Halfwords b, Pair *to)
{
   constexpr auto numbers = std::make_integer_sequence<int, P>();
   Store(Interleave<0>(a, b, numbers), to);
   Store(Interleave<static_cast<int>(L)>(a, b, numbers), to + L);
}

/// A panel [R, kPanel] with `columns` columns as pairs along its rows, unless that is null, and across them.
void RoundPanel(size_t R, size_t columns, const float *panel, Pair *along, Pair *across)
{
   for (size_t r = 0; r < R; r += 2, panel += 2 * P, across += P) {
      const bool is_last = r + 1 == R;
      const Halfwords first = RoundRow(panel, columns);
      const Halfwords second = is_last ? Halfwords{} : RoundRow(panel + P, columns);
      if (along) {
         Store((Vector<Pair>)first, along + r * L);
         if (!is_last)
            Store((Vector<Pair>)second, along + (r + 1) * L);
      }
      StorePairs(first, second, across);
   }
}

/// x or dz [R, C]
void Round(size_t R, size_t C, const float *packed, Pair *along, Pair *across)
{
   for (size_t p = 0; p < Panels<float>(C); ++p)
      RoundPanel(R, ColumnsOf<float>(p, C), packed + p * R * P, along ? along + p * R * L : nullptr,
                 across + p * Factors<Pair>(R) * P);
}

/// The weight of a layer as pairs along I and, unless that is null, along O.
void RoundLayer(size_t I, size_t O, const float *layer, Pair *weight, Pair *transposed)
{
   const size_t inputs = Factors<Pair>(I), outputs = Factors<Pair>(O);
   for (size_t o = 0; o < O; o += P, layer += (I + 1) * P, weight += inputs * P) {
      RoundPanel(I, P, layer, nullptr, weight);
      const size_t there = outputs - o / 2 < L ? outputs - o / 2 : L;
      for (size_t i = 0; transposed && i < I; i += L) {
         const size_t rows = I - i < L ? I - i : L;
         Square<Pair> square;
         for (size_t r = 0; r < L; ++r)
            square.fRows[r] = r < rows ? (Vector<Pair>)RoundRow(layer + (i + r) * P, P) : Vector<Pair>{};
         square.Transpose();
         Pair *to = transposed + (i / P * outputs + o / 2) * P + i % P;
         for (size_t c = 0; c < there; ++c)
            Store(square.fRows[c], to + c * P);
      }
   }
}

void Linear(int activation, size_t R, size_t I, size_t O, const Pair *x, const Pair *weight, const float *layer, float *z)
{
   ForwardPanels(activation, R, I, O, x, weight, Factors<Pair>(I) * P, layer + I * P, z);
}

void InputPullback(int before, size_t R, size_t I, size_t O, const float *x, const Pair *transposed, const Pair *dz, float *dx,
                   int add)
{
   InputPanels(before, R, I, O, x, transposed, dz, dx, add);
}

void WeightPullback(size_t R, size_t I, size_t O, const Pair *x, const Pair *pairs, const float *dz, int sum, float *dlayer)
{
   WeightPanels(R, I, O, x, pairs, dz, sum, dlayer);
}

} // namespace

extern const ct_bf16 kBf16;
const ct_bf16 kBf16 = {Round, RoundLayer, Linear, InputPullback, WeightPullback};

} // namespace CladTorch::Kernels
