/// \file matvec.hpp
/// Products of a matrix and a vector, and of two vectors: no tile of sums to fill, as fast as the matrix can be read.
#pragma once
#include "elementwise.hpp"
#include "vector.hpp"

#include <cstdint>
#include <type_traits>

namespace CladTorch::Kernels {

/// The last `count` lanes of a register; zero in the others, whatever is there.
template <typename T>
class LastLanes {
   using Integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
   typedef Integer Mask __attribute__((vector_size(kVectorBytes)));
   Mask fMask;

public:
   explicit LastLanes(std::size_t count)
   {
      for (std::size_t l = 0; l < kLanes<T>; ++l)
         fMask[l] = l + count >= kLanes<T> ? -1 : 0;
   }

   Vector<T> Of(Vector<T> v) const { return (Vector<T>)((Mask)v & fMask); }
};

/// The scalar product of n neighbouring numbers.
template <typename T>
inline T Dot(std::size_t n, const T *x, const T *y)
{
   constexpr std::size_t L = kLanes<T>;
   Vector<T> sums[2] = {};
   std::size_t i = 0;
   for (; i + 2 * L <= n; i += 2 * L) {
      AddProducts(Load(x + i), Load(y + i), sums[0]);
      AddProducts(Load(x + i + L), Load(y + i + L), sums[1]);
   }
   for (; i + L <= n; i += L)
      AddProducts(Load(x + i), Load(y + i), sums[0]);
   sums[0] += sums[1];
   T sum = 0;
   for (std::size_t l = 0; l < L; ++l)
      sum += sums[0][l];
   for (; i < n; ++i)
      sum += x[i] * y[i];
   return sum;
}

/// c[m * step] = (add ? c : 0) + a[M, K] v[K] for a row-major a.
template <typename T>
void RowsTimesVector(std::size_t M, std::size_t K, const T *a, std::size_t row, const T *v, bool add, T *c,
                     std::size_t step)
{
   constexpr std::size_t L = kLanes<T>;
   std::size_t m = 0;
   const LastLanes<T> last(K % L);
   // A register of sums for each of as many rows as it has lanes: their totals are one register.
   for (; K >= L && m + L <= M; m += L, a += L * row) {
      Square<T> sums = {};
      for (std::size_t k = 0; k + L <= K; k += L) {
         const Vector<T> right = Load(v + k);
         for (std::size_t r = 0; r < L; ++r)
            AddProducts(Load(a + r * row + k), right, sums.fRows[r]);
      }
      if (K % L) {
         const Vector<T> right = last.Of(Load(v + K - L));
         for (std::size_t r = 0; r < L; ++r)
            AddProducts(last.Of(Load(a + r * row + K - L)), right, sums.fRows[r]);
      }
      sums.Transpose();
      for (std::size_t half = L / 2; half; half /= 2)
         for (std::size_t r = 0; r < half; ++r)
            sums.fRows[r] += sums.fRows[r + half];
      for (std::size_t r = 0; r < L; ++r)
         c[(m + r) * step] = (add ? c[(m + r) * step] : T(0)) + sums.fRows[0][r];
   }
   for (; m < M; ++m, a += row)
      c[m * step] = (add ? c[m * step] : T(0)) + Dot(K, a, v);
}

/// W registers of c[N] = (add ? c : 0) + v[K] b[K, N] for a row-major b; the first `known` are there already.
template <typename T, std::size_t W>
void VectorTimesColumns(std::size_t K, const T *v, std::size_t step, const T *b, std::size_t row, bool add, T *c,
                        std::size_t known)
{
   constexpr std::size_t L = kLanes<T>, U = 8 / W; // sums that wait for one another no longer than an addition takes
   Vector<T> sums[U][W] = {};
   std::size_t k = 0;
   for (; k + U <= K; k += U)
      for (std::size_t u = 0; u < U; ++u)
         for (std::size_t w = 0; w < W; ++w)
            AddProduct(v[(k + u) * step], Load(b + (k + u) * row + w * L), sums[u][w]);
   for (; k < K; ++k)
      for (std::size_t w = 0; w < W; ++w)
         AddProduct(v[k * step], Load(b + k * row + w * L), sums[0][w]);
   for (std::size_t half = U / 2; half; half /= 2)
      for (std::size_t u = 0; u < half; ++u)
         for (std::size_t w = 0; w < W; ++w)
            sums[u][w] += sums[u + half][w];
   for (std::size_t i = known; i < W * L; ++i)
      c[i] = (add ? c[i] : T(0)) + sums[0][i / L][i % L];
}

/// c[N] = (add ? c : 0) + v[K] b[K, N] for a row-major b of at least kLanes columns.
template <typename T>
void VectorTimesRows(std::size_t K, std::size_t N, const T *v, std::size_t step, const T *b, std::size_t row, bool add,
                     T *c)
{
   constexpr std::size_t L = kLanes<T>;
   std::size_t n = 0;
   for (; n + 4 * L <= N; n += 4 * L)
      VectorTimesColumns<T, 4>(K, v, step, b + n, row, add, c + n, 0);
   for (; n + 2 * L <= N; n += 2 * L)
      VectorTimesColumns<T, 2>(K, v, step, b + n, row, add, c + n, 0);
   for (; n < N; n += L) {
      // The last columns together with some before them: a whole register.
      const std::size_t first = n + L <= N ? n : N - L;
      VectorTimesColumns<T, 1>(K, v, step, b + first, row, add, c + first, n - first);
   }
}

/// c[N] = (add ? c : 0) + v[N] factor
template <typename T>
inline void VectorTimesScalar(std::size_t N, const T *v, T factor, bool add, T *c)
{
   if (add) {
      CT_ELEMENTWISE
      for (std::size_t n = 0; n < N; ++n)
         c[n] += v[n] * factor;
   } else {
      CT_ELEMENTWISE
      for (std::size_t n = 0; n < N; ++n)
         c[n] = v[n] * factor;
   }
}

} // namespace CladTorch::Kernels
