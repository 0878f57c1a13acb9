/// \file product.cpp
/// The product of two matrices in any storage order, for the operator graph: large ones by BLAS, small ones by register
/// tiles, where BLAS would spend longer on starting than on arithmetic.
#include "blas.hpp"
#include "kernels.hpp"
#include "vector.hpp"

#include <cstring>

namespace CladTorch::Kernels {
namespace {

/// 6 x 2 registers of sums, 2 of b and 1 of a fill the 16 that x86-64 has.
constexpr size_t kRows = 6;
template <typename T>
constexpr size_t kColumns = 2 * kLanes<T>;

/// Rows of b that are laid out at once.
constexpr size_t kDepth = 128;

/// Multiplications above which BLAS is the faster one.
constexpr size_t kLarge = size_t(1) << 18;

/// c[R, kColumns] = (add ? c : 0) + a[R, K] b[K, kColumns]
template <typename T, size_t R>
inline void Tile(size_t K, const T *a, size_t aRow, size_t aColumn, const T *b, size_t bRow, bool add, T *c,
                 size_t cRow)
{
   constexpr size_t L = kLanes<T>;
   Vector<T> sums[R][2];
   for (size_t r = 0; r < R; ++r) {
      sums[r][0] = add ? Load(c + r * cRow) : Vector<T>{};
      sums[r][1] = add ? Load(c + r * cRow + L) : Vector<T>{};
   }
   for (size_t k = 0; k < K; ++k) {
      const Vector<T> left = Load(b + k * bRow), right = Load(b + k * bRow + L);
      for (size_t r = 0; r < R; ++r) {
         const T factor = a[r * aRow + k * aColumn];
         sums[r][0] += factor * left;
         sums[r][1] += factor * right;
      }
   }
   for (size_t r = 0; r < R; ++r) {
      Store(sums[r][0], c + r * cRow);
      Store(sums[r][1], c + r * cRow + L);
   }
}

/// c[M, kColumns] = (add ? c : 0) + a[M, K] b[K, kColumns]
template <typename T>
__attribute__((noinline)) void Stripe(size_t M, size_t K, const T *a, size_t aRow, size_t aColumn, const T *b,
                                      size_t bRow, bool add, T *c, size_t cRow)
{
   for (; M >= kRows; M -= kRows, a += kRows * aRow, c += kRows * cRow)
      Tile<T, kRows>(K, a, aRow, aColumn, b, bRow, add, c, cRow);
   switch (M) {
   case 5: return Tile<T, 5>(K, a, aRow, aColumn, b, bRow, add, c, cRow);
   case 4: return Tile<T, 4>(K, a, aRow, aColumn, b, bRow, add, c, cRow);
   case 3: return Tile<T, 3>(K, a, aRow, aColumn, b, bRow, add, c, cRow);
   case 2: return Tile<T, 2>(K, a, aRow, aColumn, b, bRow, add, c, cRow);
   case 1: return Tile<T, 1>(K, a, aRow, aColumn, b, bRow, add, c, cRow);
   }
}

/// Rows of b as kColumns neighbouring numbers each, filled up with zeros.
template <typename T>
void LayOut(size_t K, size_t columns, ct_matrix b, const T *from, T *to)
{
   constexpr size_t P = kColumns<T>;
   std::memset(to, 0, K * P * sizeof(T));
   if (b.column == 1)
      for (size_t k = 0; k < K; ++k)
         std::memcpy(to + k * P, from + k * b.row, columns * sizeof(T));
   else
      for (size_t p = 0; p < columns; ++p)
         for (size_t k = 0; k < K; ++k)
            to[k * P + p] = from[k * b.row + p * b.column];
}

/// One stripe of c of which only `columns` are there.
template <typename T>
void CutStripe(size_t M, size_t K, const T *a, ct_matrix as, const T *b, bool add, size_t columns, T *c, size_t cRow)
{
   constexpr size_t P = kColumns<T>;
   T block[kRows * P] = {};
   for (size_t m = 0; m < M; m += kRows) {
      const size_t rows = M - m < kRows ? M - m : kRows;
      if (add)
         for (size_t r = 0; r < rows; ++r)
            std::memcpy(block + r * P, c + (m + r) * cRow, columns * sizeof(T));
      Stripe<T>(rows, K, a + m * as.row, as.row, as.column, b, P, add, block, P);
      for (size_t r = 0; r < rows; ++r)
         std::memcpy(c + (m + r) * cRow, block + r * P, columns * sizeof(T));
   }
}

/// By register tiles; c is row-major.
template <typename T>
void Tiles(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c,
           size_t cRow)
{
   constexpr size_t P = kColumns<T>;
   alignas(64) T laidOut[kDepth * P];
   for (size_t n = 0; n < N; n += P) {
      const size_t columns = N - n < P ? N - n : P;
      for (size_t k = 0; k < K; k += kDepth) {
         const size_t depth = K - k < kDepth ? K - k : kDepth;
         const T *panel = b + k * bs.row + n * bs.column;
         size_t row = bs.row;
         if (bs.column != 1 || columns < P) {
            LayOut(depth, columns, bs, panel, laidOut);
            panel = laidOut;
            row = P;
         }
         const T *left = a + k * as.column;
         if (columns < P)
            CutStripe<T>(M, depth, left, as, panel, add || k, columns, c + n, cRow);
         else
            Stripe<T>(M, depth, left, as.row, as.column, panel, row, add || k, c + n, cRow);
      }
   }
}

/// The scalar product of n neighbouring numbers.
template <typename T>
inline T Dot(size_t n, const T *x, const T *y)
{
   constexpr size_t L = kLanes<T>;
   Vector<T> sums[2] = {};
   size_t i = 0;
   for (; i + 2 * L <= n; i += 2 * L) {
      sums[0] += Load(x + i) * Load(y + i);
      sums[1] += Load(x + i + L) * Load(y + i + L);
   }
   for (; i + L <= n; i += L)
      sums[0] += Load(x + i) * Load(y + i);
   sums[0] += sums[1];
   T sum = 0;
   for (size_t l = 0; l < L; ++l)
      sum += sums[0][l];
   for (; i < n; ++i)
      sum += x[i] * y[i];
   return sum;
}

/// Whether BLAS can read the matrix, and as what.
inline bool IsPlain(size_t rows, size_t columns, ct_matrix m)
{
   return (m.column == 1 && m.row >= columns) || (m.row == 1 && m.column >= rows);
}

template <typename T>
Factor<T> AsFactor(const T *data, ct_matrix m)
{
   return m.column == 1 ? Factor<T>{data, m.row, false} : Factor<T>{data, m.column, true};
}

template <typename T>
void RowMajorProduct(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c,
                     size_t cRow)
{
   // Few rows or columns, both factors with their sums along memory: nothing to lay out.
   if ((M <= 3 || N == 1) && as.column == 1 && bs.row == 1) {
      for (size_t m = 0; m < M; ++m)
         for (size_t n = 0; n < N; ++n) {
            T &sum = c[m * cRow + n];
            sum = (add ? sum : T(0)) + Dot(K, a + m * as.row, b + n * bs.column);
         }
      return;
   }
   if (M * N * K > kLarge && M > 3 && N > 3 && cRow >= N && IsPlain(M, K, as) && IsPlain(K, N, bs))
      return Multiply<T>(M, N, K, AsFactor(a, as), AsFactor(b, bs), add ? T(1) : T(0), c, cRow);
   Tiles(M, N, K, a, as, b, bs, add, c, cRow);
}

} // namespace

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

template void Product(size_t, size_t, size_t, const float *, ct_matrix, const float *, ct_matrix, int, float *, ct_matrix);
template void
Product(size_t, size_t, size_t, const double *, ct_matrix, const double *, ct_matrix, int, double *, ct_matrix);

} // namespace CladTorch::Kernels
