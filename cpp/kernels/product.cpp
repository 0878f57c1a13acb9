/// \file product.cpp
/// The product of two matrices in any storage order, for the operator graph: large ones by BLAS, small ones by register
/// tiles, where BLAS would spend more time on starting than on arithmetic.
#include "blas.hpp"
#include "kernels.hpp"
#include "matvec.hpp"
#include "tile.hpp"

#include <cstring>

namespace CladTorch::Kernels {
namespace {

/// Rows of b that are laid out at once.
constexpr size_t kDepth = 128;

/// Number of multiplications above which BLAS is faster.
constexpr size_t kLarge = size_t(1) << 21;

/// Rows to which a product is added, `fRow` numbers apart: those of the result, or the same row repeatedly; null for
/// none.
template <typename T>
struct Begin {
   const T *fData;
   size_t fRow;

   Begin From(size_t row, size_t column) const { return {fData ? fData + row * fRow + column : nullptr, fRow}; }
};

/// c[M, W registers] = begin + a[M, K] b[K, W registers]; for `fSecond` see Tile.
template <typename T, size_t W>
struct Stripe {
   size_t fDepth;
   const T *fA;
   size_t fARow, fAColumn;
   const T *fB;
   size_t fBRow;
   Begin<T> fBegin;
   T *fC;
   size_t fCRow, fSecond;

   template <size_t R>
   void Run(size_t first) const
   {
      Tile<T, R, W> tile{};
      if (fBegin.fData)
         tile.Load(fBegin.From(first, 0).fData, fBegin.fRow, fSecond);
      tile.Multiply(fDepth, fA + first * fARow, fARow, fAColumn, fB, fBRow, fSecond);
      tile.Store(fC + first * fCRow, fCRow, fSecond);
   }
};

/// Rows of b as kTileColumns neighbouring numbers each; fewer than a register are padded with zeros.
template <typename T>
void LayOut(size_t K, size_t columns, ct_matrix b, const T *from, T *to)
{
   constexpr size_t P = kTileColumns<T>;
   if (columns < kLanes<T>)
      std::memset(to, 0, K * P * sizeof(T));
   if (b.row == 1 && K >= kLanes<T>)
      LayOutColumns<kLanes<T>, P>(K, columns, b.column, from, to);
   else if (b.column == 1)
      for (size_t k = 0; k < K; ++k)
         std::memcpy(to + k * P, from + k * b.row, columns * sizeof(T));
   else
      for (size_t p = 0; p < columns; ++p)
         for (size_t k = 0; k < K; ++k)
            to[k * P + p] = from[k * b.row + p * b.column];
}

/// One stripe of c that has only `columns` columns, less than a register; b is laid out.
template <typename T>
void CutStripe(size_t M, size_t K, const T *a, ct_matrix as, const T *b, Begin<T> begin, size_t columns, T *c,
               size_t cRow)
{
   constexpr size_t L = kLanes<T>;
   T block[kTileRows * L] = {};
   for (size_t m = 0; m < M; m += kTileRows) {
      const size_t rows = M - m < kTileRows ? M - m : kTileRows;
      for (size_t r = 0; begin.fData && r < rows; ++r)
         std::memcpy(block + r * L, begin.From(m + r, 0).fData, columns * sizeof(T));
      const Begin<T> own{begin.fData ? block : nullptr, L};
      RunTiles(rows, Stripe<T, 1>{K, a + m * as.row, as.row, as.column, b, kTileColumns<T>, own, block, L, 0});
      for (size_t r = 0; r < rows; ++r)
         std::memcpy(c + (m + r) * cRow, block + r * L, columns * sizeof(T));
   }
}

/// The columns of the next stripe of N: two registers, or one if two would leave the last stripe more than one.
template <typename T>
size_t StripeOf(size_t N)
{
   constexpr size_t L = kLanes<T>;
   if (N <= 2 * L)
      return N;
   return N < 3 * L ? L : 2 * L;
}

/// By register tiles; c is row-major.
template <typename T>
void Tiles(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, Begin<T> begin, T *c,
           size_t cRow)
{
   constexpr size_t L = kLanes<T>, P = kTileColumns<T>;
   alignas(64) T laidOut[kDepth * P];
   for (size_t n = 0, columns; n < N; n += columns) {
      columns = StripeOf<T>(N - n);
      for (size_t k = 0; k < K; k += kDepth) {
         const size_t depth = K - k < kDepth ? K - k : kDepth;
         const T *panel = b + k * bs.row + n * bs.column;
         size_t row = bs.row;
         if (bs.column != 1 || columns < L) {
            LayOut(depth, columns, bs, panel, laidOut);
            panel = laidOut;
            row = P;
         }
         const T *left = a + k * as.column;
         T *to = c + n;
         const Begin<T> sums = k ? Begin<T>{to, cRow} : begin.From(0, n);
         if (columns < L)
            CutStripe<T>(M, depth, left, as, panel, sums, columns, to, cRow);
         else if (columns == L)
            RunTiles(M, Stripe<T, 1>{depth, left, as.row, as.column, panel, row, sums, to, cRow, 0});
         else
            RunTiles(M, Stripe<T, 2>{depth, left, as.row, as.column, panel, row, sums, to, cRow, columns - L});
      }
   }
}

/// A product of fewer columns than this, but with at least as many rows and as much depth, can be transposed. Products
/// of more than one column that arrive here are deep: see AreFew() in products.cpp.
constexpr size_t kTurned = 16;

/// c with few columns, whose rows are contiguous in a, as in gradients of narrow layers: computes c^T by tiles, in
/// which the many rows of c are columns.
template <typename T>
void Turned(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c, size_t cRow)
{
   constexpr size_t P = kTileColumns<T>;
   T block[kTurned * P];
   for (size_t m = 0; m < M; m += P) {
      const size_t rows = M - m < P ? M - m : P;
      Tiles<T>(N, rows, K, b, {bs.column, bs.row}, a + m, {as.column, 1}, Begin<T>{}, block, P);
      for (size_t r = 0; r < rows; ++r) {
         T *to = c + (m + r) * cRow;
         for (size_t n = 0; n < N; ++n)
            to[n] = (add ? to[n] : T(0)) + block[n * P + r];
      }
   }
}

/// Whether BLAS can read the matrix, and in which form.
inline bool IsPlain(size_t rows, size_t columns, ct_matrix m)
{
   return (m.column == 1 && m.row >= columns) || (m.row == 1 && m.column >= rows);
}

template <typename T>
Factor<T> AsFactor(const T *data, ct_matrix m)
{
   return m.column == 1 ? Factor<T>{data, m.row, false} : Factor<T>{data, m.column, true};
}

/// Computes products in which a factor or the result is one vector, or up to three; returns whether it was such a
/// product.
template <typename T>
bool VectorProduct(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c,
                   size_t cRow)
{
   if (K == 1 && N == 1 && as.row == 1 && cRow == 1)
      VectorTimesScalar(M, a, b[0], add, c);
   else if (K == 1 && bs.column == 1)
      for (size_t m = 0; m < M; ++m)
         VectorTimesScalar(N, b, a[m * as.row], add, c + m * cRow);
   else if (N == 1 && as.column == 1 && bs.row == 1)
      RowsTimesVector(M, K, a, as.row, b, add, c, cRow);
   else if (M <= 3 && as.column == 1 && bs.row == 1) // both factors are contiguous along the sum
      for (size_t m = 0; m < M; ++m)
         RowsTimesVector(N, K, b, bs.column, a + m * as.row, add, c + m * cRow, 1);
   else if (N == 1 && as.row == 1 && cRow == 1 && M >= kLanes<T>)
      VectorTimesRows(K, M, b, bs.row, a, as.column, add, c);
   else if (M == 1 && bs.column == 1 && N >= kLanes<T>)
      VectorTimesRows(K, N, a, as.column, b, bs.row, add, c);
   else
      return false;
   return true;
}

template <typename T>
void RowMajorProduct(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c,
                     size_t cRow)
{
   if (VectorProduct(M, N, K, a, as, b, bs, add, c, cRow))
      return;
   if (N < kTurned && M >= kTurned && K >= kTurned && as.row == 1)
      return Turned(M, N, K, a, as, b, bs, add, c, cRow);
   if (M * N * K > kLarge && M > 3 && N > 3 && cRow >= N && IsPlain(M, K, as) && IsPlain(K, N, bs))
      return Multiply<T>(M, N, K, AsFactor(a, as), AsFactor(b, bs), add ? T(1) : T(0), c, cRow);
   Tiles(M, N, K, a, as, b, bs, Begin<T>{add ? c : nullptr, cRow}, c, cRow);
}

} // namespace

/// c[M,N] = a[M,K] b[K,N] + rows of bias[N], c dense. If K is small, the sums start with the bias in registers.
template <typename T>
void BiasedProduct(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, const T *bias, T *c)
{
   if (N > 1 && M > 3 && K > 1 && K <= kDepth)
      return Tiles(M, N, K, a, as, b, bs, Begin<T>{bias, 0}, c, N);
   for (size_t m = 0; m < M; ++m)
      std::memcpy(c + m * N, bias, N * sizeof(T));
   Product(M, N, K, a, as, b, bs, 1, c, ct_matrix{N, 1});
}

template <typename T>
void Product(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, int add, T *c,
             ct_matrix cs)
{
   if (K == 0) {
      for (size_t m = 0; m < M && !add; ++m)
         for (size_t n = 0; n < N; ++n)
            c[m * cs.row + n * cs.column] = 0;
      return;
   }
   if (cs.column == 1)
      return RowMajorProduct<T>(M, N, K, a, as, b, bs, add, c, cs.row);
   // c^T = b^T a^T
   RowMajorProduct<T>(N, M, K, b, {bs.column, bs.row}, a, {as.column, as.row}, add, c, cs.column);
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Product(size_t, size_t, size_t, const T *, ct_matrix, const T *, ct_matrix, int, T *, ct_matrix);     \
   template void BiasedProduct(size_t, size_t, size_t, const T *, ct_matrix, const T *, ct_matrix, const T *, T *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
