/// \file tile.hpp
/// The register tile of a matrix product: c[M, kWidth] += a[M, K] b[K, kWidth], with up to kTileRows rows of sums in
/// registers while k runs.
#pragma once
#include "vector.hpp"

#include <cstdint>
#include <type_traits>

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace CladTorch::Kernels {

/// Rows of a tile, of two registers each. With 2 registers of b and 1 of a, 6 fill the 16 that x86-64 has; 12 take most of
/// the 32 of AVX-512 and ARM, where 6, 8 and 14 were 2 to 5 % slower.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr std::size_t kTileRows = 12;
#else
constexpr std::size_t kTileRows = 6;
#endif

/// Columns of a whole tile.
template <typename T>
constexpr std::size_t kTileColumns = 2 * kLanes<T>;

/// A pair of bfloat16, the first number in the lower half.
using Pair = std::uint32_t;

/// Of what the products of factors are summed in: themselves, or numbers of a pair in float.
template <typename F>
using SumOf = std::conditional_t<std::is_same_v<F, Pair>, float, F>;

/// Numbers in a factor.
template <typename F>
constexpr std::size_t kNumbers = std::is_same_v<F, Pair> ? 2 : 1;

#ifdef __AVX512BF16__
/// sum += factor * row, with the products of both numbers of each pair.
inline void AddProduct(Pair factor, const Vector<Pair> &row, Vector<float> &sum)
{
   sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(static_cast<int>(factor)), (__m512bh)row);
}
#endif

/// R rows of W registers of sums; W is 2, or 1 where the matrix has no column in the second half. The second register
/// stands `second` columns behind the first one: where that is less than kLanes, some columns are in both.
template <typename T, std::size_t R, std::size_t W = 2>
struct Tile {
   Vector<T> fSums[R][W];

   /// Sets each row to the numbers from `from + r * row` on.
   void Load(const T *from, std::size_t row, std::size_t second = kLanes<T>)
   {
      for (std::size_t r = 0; r < R; ++r, from += row)
         for (std::size_t h = 0; h < W; ++h)
            fSums[r][h] = Kernels::Load(from + h * second);
   }

   void Store(T *to, std::size_t row, std::size_t second = kLanes<T>) const
   {
      for (std::size_t r = 0; r < R; ++r, to += row)
         for (std::size_t h = 0; h < W; ++h)
            Kernels::Store(fSums[r][h], to + h * second);
   }

   /// += a[R, K] b[K, W registers]; factor (r, k) of a is a[r * aRow + k * aColumn].
   template <typename F>
   void Multiply(std::size_t K, const F *a, std::size_t aRow, std::size_t aColumn, const F *b, std::ptrdiff_t bRow,
                 std::size_t second = kLanes<F>)
   {
      for (std::size_t k = 0; k < K; ++k, a += aColumn, b += bRow) {
         Vector<F> row[W];
         for (std::size_t h = 0; h < W; ++h)
            row[h] = Kernels::Load(b + h * second);
         for (std::size_t r = 0; r < R; ++r) {
            const F factor = a[r * aRow];
            for (std::size_t h = 0; h < W; ++h)
               AddProduct(factor, row[h], fSums[r][h]);
         }
      }
   }
};

/// body(W) with the registers that a row of `columns` numbers, of a whole tile at most, fills.
template <typename T, class Body>
inline void WithWidth(std::size_t columns, Body body)
{
   if (columns <= kLanes<T>)
      body(std::integral_constant<std::size_t, 1>{});
   else
      body(std::integral_constant<std::size_t, 2>{});
}

/// body.Run<rows>(first) for what is left of fewer than R + 1 rows.
template <std::size_t R, class Body>
inline void RunRest(std::size_t rows, std::size_t first, const Body &body)
{
   if constexpr (R > 0) {
      if (rows == R)
         body.template Run<R>(first);
      else
         RunRest<R - 1>(rows, first, body);
   }
}

/// Cuts M rows into tiles: body.Run<rows>(first) for each. Not inlined: the compiler keeps the sums of a tile in registers
/// only on its own ground.
template <class Body>
__attribute__((noinline)) void RunTiles(std::size_t M, const Body &body)
{
   std::size_t m = 0;
   for (; m + kTileRows <= M; m += kTileRows)
      body.template Run<kTileRows>(m);
   RunRest<kTileRows - 1>(M - m, m, body);
}

} // namespace CladTorch::Kernels
