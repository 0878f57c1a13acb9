/// \file products.cpp
/// Many matrix products of the same shape, as in attention and grouped convolutions: one call for all of them, and
/// little beyond the arithmetic for those with few columns.
#include "kernels.hpp"
#include "vector.hpp"

#include <cstring>

namespace CladTorch::Kernels {
namespace {

/// Deepest product with few columns: its second factor is laid out on the stack.
constexpr size_t kDeepest = 64;

/// The largest number of columns, in registers of that many numbers.
constexpr size_t kMost = 16;

/// Rows at a time: as many sums as additions can be in flight, within the 16 registers that exist at least.
template <typename T, size_t C>
constexpr size_t kRows = C * sizeof(T) > kVectorBytes ? 4 : 8;

/// c[R, columns] = (add ? c : 0) + a[R, K] b[K, C]; `columns` of the C exist.
template <typename T, size_t C, size_t R>
inline void Rows(size_t K, const T *a, ct_matrix as, const T *b, size_t bRow, bool add, size_t columns, T *c, size_t cRow)
{
   Pack<T, C> sums[R] = {};
   const size_t bytes = columns * sizeof(T);
   if (add)
      for (size_t r = 0; r < R; ++r)
         std::memcpy(&sums[r], c + r * cRow, columns == C ? C * sizeof(T) : bytes);
   for (size_t k = 0; k < K; ++k) {
      Pack<T, C> right;
      std::memcpy(&right, b + k * bRow, sizeof right);
      for (size_t r = 0; r < R; ++r)
         AddProduct(a[r * as.row + k * as.column], right, sums[r]);
   }
   for (size_t r = 0; r < R; ++r)
      std::memcpy(c + r * cRow, &sums[r], columns == C ? C * sizeof(T) : bytes);
}

/// c[M, N] = (add ? c : 0) + a[M, K] b[K, N] for N <= C and K <= kDeepest; c is row-major.
template <typename T, size_t C>
void FewColumns(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c,
                size_t cRow)
{
   T laidOut[kDeepest * C];
   size_t bRow = bs.row;
   if (bs.column != 1 || N != C) {
      for (size_t k = 0; k < K; ++k)
         for (size_t n = 0; n < C; ++n)
            laidOut[k * C + n] = n < N ? b[k * bs.row + n * bs.column] : T(0);
      b = laidOut;
      bRow = C;
   }
   constexpr size_t rows = kRows<T, C>;
   for (; M >= rows; M -= rows, a += rows * as.row, c += rows * cRow)
      Rows<T, C, rows>(K, a, as, b, bRow, add, N, c, cRow);
   for (; M >= 2; M -= 2, a += 2 * as.row, c += 2 * cRow)
      Rows<T, C, 2>(K, a, as, b, bRow, add, N, c, cRow);
   if (M == 1)
      Rows<T, C, 1>(K, a, as, b, bRow, add, N, c, cRow);
}

/// Whether to use FewColumns; N columns of neighbouring elements.
inline bool AreFew(size_t M, size_t N, size_t K)
{
   return M > 1 && N > 1 && N <= kMost && K > 0 && K <= kDeepest;
}

template <typename T>
void Few(size_t M, size_t N, size_t K, const T *a, ct_matrix as, const T *b, ct_matrix bs, bool add, T *c, size_t cRow)
{
   if (N <= 4)
      FewColumns<T, 4>(M, N, K, a, as, b, bs, add, c, cRow);
   else if (N <= 8)
      FewColumns<T, 8>(M, N, K, a, as, b, bs, add, c, cRow);
   else
      FewColumns<T, kMost>(M, N, K, a, as, b, bs, add, c, cRow);
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
   const bool few = cs.column == 1 ? AreFew(M, N, K) : AreFew(N, M, K);
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
