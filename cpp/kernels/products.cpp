/// \file products.cpp
/// Many matrix products of the same shape, as in attention and grouped convolutions: one call for all of them, and
/// little beyond the arithmetic for those with few columns.
#include "kernels.hpp"
#include "vector.hpp"
#include "view.hpp"

#include <algorithm>
#include <cstring>

namespace CladTorch::Kernels {
namespace {

/// Depth of a product with few columns in one go: its second factor is laid out on the stack.
constexpr size_t kDeepest = 64;

/// The largest number of columns, in registers of that many numbers.
constexpr size_t kMost = 16;

/// Rows at a time: as many sums as additions can be in flight, within the 16 registers that exist at least.
template <typename T, size_t C>
constexpr size_t kRows = C * sizeof(T) > kVectorBytes ? 4 : 8;

/// c[R, columns] = (add ? c : 0) + a[R, K] b[K, C]; `columns` of the C exist, or all if kAll.
template <typename T, size_t C, size_t R, bool kAll>
inline void Rows(size_t K, const T *a, ct_matrix as, const T *b, size_t bRow, bool add, size_t columns, T *c, size_t cRow)
{
   Pack<T, C> sums[R] = {};
   const size_t bytes = (kAll ? C : columns) * sizeof(T); // a constant makes a copy one instruction
   if (add)
      for (size_t r = 0; r < R; ++r)
         std::memcpy(&sums[r], c + r * cRow, bytes);
   for (size_t k = 0; k < K; ++k) {
      Pack<T, C> right;
      std::memcpy(&right, b + k * bRow, sizeof right);
      for (size_t r = 0; r < R; ++r)
         AddProduct(a[r * as.row + k * as.column], right, sums[r]);
   }
   for (size_t r = 0; r < R; ++r)
      std::memcpy(c + r * cRow, &sums[r], bytes);
}

/// c[M, columns] = (add ? c : 0) + a[M, K] b[K, C], as Rows.
template <typename T, size_t C, bool kAll>
void AllRows(size_t M, size_t K, const T *a, ct_matrix as, const T *b, size_t bRow, bool add, size_t columns, T *c, size_t cRow)
{
   constexpr size_t rows = kRows<T, C>;
   for (; M >= rows; M -= rows, a += rows * as.row, c += rows * cRow)
      Rows<T, C, rows, kAll>(K, a, as, b, bRow, add, columns, c, cRow);
   for (; M >= 2; M -= 2, a += 2 * as.row, c += 2 * cRow)
      Rows<T, C, 2, kAll>(K, a, as, b, bRow, add, columns, c, cRow);
   if (M == 1)
      Rows<T, C, 1, kAll>(K, a, as, b, bRow, add, columns, c, cRow);
}

/// b[K, N] as K rows of C numbers, which end with zeros.
template <typename T, size_t C>
void LayOut(size_t N, size_t K, const T *b, ct_matrix bs, T *to)
{
   constexpr size_t L = std::min({size_t(8), kLanes<T>, C});
   if (bs.row == 1 && K >= L) {
      if (N + L <= C)
         std::memset(to, 0, K * C * sizeof(T));
      return LayOutColumns<L, C>(K, N, bs.column, b, to);
   }
   for (size_t k = 0; k < K; ++k)
      for (size_t n = 0; n < C; ++n)
         to[k * C + n] = n < N ? b[k * bs.row + n * bs.column] : T(0);
}

/// c[M, N] = (add ? c : 0) + a[M, K] b[K, N] for N <= C and K <= kDeepest; c is row-major.
template <typename T, size_t C>
void FewColumns(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c,
                size_t cRow)
{
   T laidOut[kDeepest * C];
   size_t bRow = bs.row;
   if (bs.column != 1 || N != C) {
      LayOut<T, C>(N, K, b, bs, laidOut);
      b = laidOut;
      bRow = C;
   }
   if (N == C)
      AllRows<T, C, true>(M, K, a, as, b, bRow, add, N, c, cRow);
   else
      AllRows<T, C, false>(M, K, a, as, b, bRow, add, N, c, cRow);
}

/// c[M] = (add ? c : 0) + a[M, K] b[K] for short rows of a and b, of which there may be many pairs.
template <typename T, typename Depth>
inline void ShortRows(size_t M, Depth K, const T *a, size_t row, const T *b, bool add, T *c, size_t step)
{
   for (size_t m = 0; m < M; ++m, a += row) {
      T sum = add ? c[m * step] : T(0);
      for (size_t k = 0; k < K; ++k)
         sum += a[k] * b[k];
      c[m * step] = sum;
   }
}

/// Whether to use FewColumns; N columns of neighbouring elements. Of the deep products those with few rows, too, as in x^T x.
inline bool AreFew(size_t M, size_t N, size_t K, ct_matrix bs)
{
   return M > 1 && N > 1 && N <= kMost && K > 0 && (K <= kDeepest || (M <= kMost && bs.column == 1));
}

template <typename T>
void Few(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c, size_t cRow)
{
   const auto columns = N <= 4 ? FewColumns<T, 4> : N <= 8 ? FewColumns<T, 8> : FewColumns<T, kMost>;
   if (K <= kDeepest)
      return columns(M, N, K, a, as, b, bs, add, c, cRow);
   // In parts that are added in double, so that errors do not grow with the depth.
   double totals[kMost * kMost] = {};
   T part[kMost * kMost];
   for (size_t k = 0; k < K; k += kDeepest) {
      const size_t depth = K - k < kDeepest ? K - k : kDeepest;
      columns(M, N, depth, a + k * as.column, as, b + k * bs.row, bs, false, part, N);
      for (size_t i = 0; i < M * N; ++i)
         totals[i] += part[i];
   }
   for (size_t m = 0; m < M; ++m)
      for (size_t n = 0; n < N; ++n)
         c[m * cRow + n] = (add ? c[m * cRow + n] : T(0)) + T(totals[m * N + n]);
}

inline size_t Start(const ct_starts &starts, size_t i)
{
   return starts.list ? starts.list[i * starts.step] : i * starts.step;
}

} // namespace

/// For each i < count: c[M,N] (add: +)= a[M,K] b[K,N], at the starts for i.
template <typename T>
void Products(size_t count, size_t M, size_t N, size_t K, const T *a, ct_starts aStarts, ct_matrix as, const T *b,
              ct_starts bStarts, ct_matrix bs, int add, T *c, ct_starts cStarts, ct_matrix cs)
{
   if (N == 1 && M < 16 && as.column == 1 && bs.row == 1) {
      const auto all = [&](auto depth) {
         for (size_t i = 0; i < count; ++i)
            ShortRows(M, depth, a + Start(aStarts, i), as.row, b + Start(bStarts, i), add, c + Start(cStarts, i), cs.row);
      };
      if (WithShortLength(K, all))
         return;
   }
   const bool few = cs.column == 1 ? AreFew(M, N, K, bs) : AreFew(N, M, K, {as.column, as.row});
   for (size_t i = 0; i < count; ++i) {
      const T *left = a + Start(aStarts, i), *right = b + Start(bStarts, i);
      T *to = c + Start(cStarts, i);
      if (!few)
         Product<T>(M, N, K, left, as, right, bs, add, to, cs);
      else if (cs.column == 1)
         Few<T>(M, N, K, left, as, right, bs, add, to, cs.row);
      else // c^T = b^T a^T
         Few<T>(N, M, K, right, {bs.column, bs.row}, left, {as.column, as.row}, add, to, cs.column);
   }
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Products(size_t, size_t, size_t, size_t, const T *, ct_starts, ct_matrix, const T *, ct_starts,       \
                          ct_matrix, int, T *, ct_starts, ct_matrix);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
