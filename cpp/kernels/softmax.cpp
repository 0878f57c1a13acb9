/// \file softmax.cpp
/// Softmax and its logarithm, along the rows of a strided view and down the columns of dense matrices.
#include "exponential.hpp"
#include "kernels.hpp"
#include "rows.hpp"

#include <cmath>
#include <limits>

namespace CladTorch::Kernels {
namespace {

/// Element i of a row of numbers, or a single number for all.
template <typename T>
inline T ElementOf(const T *row, size_t i)
{
   return row[i];
}
template <typename T>
inline T ElementOf(T same, size_t)
{
   return same;
}

/// y[n] = exp(x - top); `top` is a number or n of them.
template <typename T, typename Top>
__attribute__((noinline, flatten)) void Exponentials(size_t n, const T *x, Top top, T *y)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      y[i] = ExpOfAny(x[i] - ElementOf<T>(top, i));
}

/// dx[n] = dy - exp(y) sum, the pullback of the logarithm; `sum` is a number or n of them.
template <typename T, typename Sum>
__attribute__((noinline, flatten)) void LogarithmAdjoints(size_t n, const T *y, const T *dy, Sum sum, T *dx)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      dx[i] = dy[i] - ExpOfAny(y[i]) * ElementOf<T>(sum, i);
}

/// dx[n] = y (dy - sum), that of softmax.
template <typename T, typename Sum>
__attribute__((noinline, flatten)) void PartAdjoints(size_t n, const T *y, const T *dy, Sum sum, T *dx)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      dx[i] = y[i] * (dy[i] - ElementOf<T>(sum, i));
}

/// The greatest of n >= K N numbers, in K packs of N at a time, the last packs overlapping; NaNs are ignored.
template <size_t N, size_t K, typename T>
inline T TopOfPacks(size_t n, const T *row)
{
   constexpr Greater greater;
   Pack<T, N> tops[K], next;
   for (size_t k = 0; k < K; ++k) {
      std::memcpy(&next, row + n - (k + 1) * N, sizeof next);
      tops[k] = greater(next, Pack<T, N>{} - std::numeric_limits<T>::infinity());
   }
   for (size_t i = 0; i + K * N < n; i += K * N)
      for (size_t k = 0; k < K; ++k) {
         std::memcpy(&next, row + i + k * N, sizeof next);
         tops[k] = greater(next, tops[k]);
      }
   for (size_t k = 1; k < K; ++k)
      tops[0] = greater(tops[0], tops[k]);
   return FoldLanes<T, N>(tops[0], greater);
}

/// The greatest of n numbers; NaNs are ignored.
template <typename T>
inline T TopOf(size_t n, const T *row)
{
   if (n >= 4 * kLanes<T>)
      return TopOfPacks<kLanes<T>, 4>(n, row);
   if (n >= kLanes<T>)
      return TopOfPacks<kLanes<T>, 1>(n, row);
   if constexpr (kLanes<T> > 4)
      if (n >= 4)
         return TopOfPacks<4, 1>(n, row);
   T top = -std::numeric_limits<T>::infinity();
   for (size_t i = 0; i < n; ++i)
      top = row[i] > top ? row[i] : top;
   return top;
}

/// Softmax of a contiguous row.
template <typename T>
void SoftmaxOfRow(int logarithm, size_t C, const T *x, T *y)
{
   const T top = TopOf(C, x);
   T room[kBlock], sum = 0;
   for (size_t first = 0; first < C; first += kBlock) {
      const size_t n = C - first < kBlock ? C - first : kBlock;
      T *to = logarithm ? room : y + first;
      Exponentials(n, x + first, top, to);
      sum += Total(n, to);
   }
   if (logarithm) {
      const T shift = std::log(sum);
      for (size_t c = 0; c < C; ++c)
         y[c] = (x[c] - top) - shift;
   } else {
      const T factor = 1 / sum;
      for (size_t c = 0; c < C; ++c)
         y[c] *= factor;
   }
}

/// Softmax of contiguous rows, R C <= kBlock numbers together.
template <typename T>
void SoftmaxOfShortRows(int logarithm, size_t R, size_t C, const T *x, T *y)
{
   for (size_t r = 0; r < R; ++r) {
      const T *row = x + r * C;
      T top = TopOf(C, row), *to = y + r * C;
      for (size_t c = 0; c < C; ++c)
         to[c] = row[c] - top;
   }
   T room[kBlock], *exponentials = logarithm ? room : y;
   Exponentials(R * C, y, T(0), exponentials);
   for (size_t r = 0; r < R; ++r, y += C, exponentials += C) {
      const T sum = Total(C, exponentials), factor = 1 / sum, shift = logarithm ? std::log(sum) : T(0);
      for (size_t c = 0; c < C; ++c)
         y[c] = logarithm ? y[c] - shift : y[c] * factor;
   }
}

/// The pullback for n numbers of a row, or of rows side by side; `sum` is that of dy, or of dy times y, over each row.
template <typename T, typename Sum>
inline void AdjointsOfSoftmax(int logarithm, size_t n, Sum sum, const T *y, const T *dy, T *dx)
{
   (logarithm ? LogarithmAdjoints<T, Sum> : PartAdjoints<T, Sum>)(n, y, dy, sum, dx);
}

} // namespace

/// y[R,C] = exp(x) / its row's sum, or the logarithm of that.
template <typename T>
void Softmax(int logarithm, size_t R, size_t C, const T *x, const ct_view *view, T *y)
{
   if (IsContiguous(*view) && C > kBlock) {
      x += view->offset;
      for (size_t r = 0; r < R; ++r, x += C, y += C)
         SoftmaxOfRow(logarithm, C, x, y);
      return;
   }
   Reader<T> reader(x, *view, 0, C <= kBlock ? C : 1);
   if (C <= kBlock) {
      for (size_t r = 0, rows; r < R; r += rows, y += rows * C) {
         rows = R - r < RowsOf(C) ? R - r : RowsOf(C);
         SoftmaxOfShortRows(logarithm, rows, C, reader.Next(rows * C), y);
      }
      return;
   }
   for (size_t r = 0; r < R; ++r, y += C) {
      T *to = y;
      EachBlock(reader, C, [&](size_t n, const T *row) {
         std::memcpy(to, row, n * sizeof(T));
         to += n;
      });
      SoftmaxOfRow(logarithm, C, y, y);
   }
}

/// dx (add: +)= the pullback of Softmax, from its value y[R,C].
template <typename T>
void SoftmaxPullback(int logarithm, size_t R, size_t C, const T *y, const T *dy, int add, T *dx, const ct_view *target)
{
   const auto sumOf = [=](const T *row, const T *adjoints) {
      return logarithm ? Total(C, adjoints) : SumOf<T>(C, [=](auto at) { return at(adjoints) * at(row); });
   };
   if (!add && IsContiguous(*target)) {
      for (size_t r = 0, first = 0; r < R; ++r, first += C)
         AdjointsOfSoftmax(logarithm, C, sumOf(y + first, dy + first), y + first, dy + first, dx + target->offset + first);
      return;
   }
   Writer<T> writer(dx, *target, 0);
   T adjoint[kBlock];
   size_t filled = 0;
   for (size_t r = 0; r < R; ++r, y += C, dy += C) {
      const T sum = sumOf(y, dy);
      for (size_t first = 0, n; first < C; first += n) {
         n = C - first < kBlock ? C - first : kBlock;
         if (filled + n > kBlock) {
            writer.Put(add, filled, adjoint);
            filled = 0;
         }
         AdjointsOfSoftmax(logarithm, n, sum, y + first, dy + first, adjoint + filled);
         filled += n;
      }
   }
   writer.Put(add, filled, adjoint);
}

namespace {

/// Calls body(columns, first) for the columns of R matrices [C,N], up to kBlock at a time: rows of a block are
/// contiguous.
template <typename Body>
inline void EachSide(size_t R, size_t C, size_t N, Body body)
{
   for (size_t r = 0; r < R; ++r)
      for (size_t n = 0; n < N; n += kBlock)
         body(N - n < kBlock ? N - n : kBlock, r * C * N + n);
}

template <typename T>
void SoftmaxOfColumns(int logarithm, size_t C, size_t N, size_t side, const T *x, T *y)
{
   T top[kBlock], sum[kBlock];
   for (size_t s = 0; s < side; ++s) {
      top[s] = -std::numeric_limits<T>::infinity();
      sum[s] = 0;
   }
   for (size_t c = 0; c < C; ++c)
      for (size_t s = 0; s < side; ++s)
         top[s] = x[c * N + s] > top[s] ? x[c * N + s] : top[s];
   for (size_t c = 0; c < C; ++c) {
      T room[kBlock], *to = logarithm ? room : y + c * N;
      Exponentials<T, const T *>(side, x + c * N, top, to);
      for (size_t s = 0; s < side; ++s)
         sum[s] += to[s];
   }
   for (size_t s = 0; s < side; ++s)
      sum[s] = logarithm ? std::log(sum[s]) : 1 / sum[s];
   for (size_t c = 0; c < C; ++c)
      for (size_t s = 0; s < side; ++s)
         y[c * N + s] = logarithm ? (x[c * N + s] - top[s]) - sum[s] : y[c * N + s] * sum[s];
}

/// sum[n] += dy, or dy times y.
CT_LOOP AddAdjoints(int logarithm, size_t n, const T *y, const T *dy, T *sum)
{
   if (logarithm)
      for (size_t i = 0; i < n; ++i)
         sum[i] += dy[i];
   else
      for (size_t i = 0; i < n; ++i)
         sum[i] += dy[i] * y[i];
}

template <bool Add, typename T>
void PullBackSoftmaxOfColumns(int logarithm, size_t C, size_t N, size_t side, const T *y, const T *dy, T *dx)
{
   T sum[kBlock] = {}, room[kBlock];
   for (size_t c = 0; c < C; ++c)
      AddAdjoints(logarithm, side, y + c * N, dy + c * N, sum);
   for (size_t c = 0; c < C; ++c) {
      T *to = dx + c * N;
      AdjointsOfSoftmax<T, const T *>(logarithm, side, sum, y + c * N, dy + c * N, Add ? room : to);
      for (size_t s = 0; Add && s < side; ++s)
         to[s] += room[s];
   }
}

} // namespace

/// y[R,C,N] = exp(x) / the sum of its column, or the logarithm of that.
template <typename T>
void SoftmaxDown(int logarithm, size_t R, size_t C, size_t N, const T *x, T *y)
{
   EachSide(R, C, N, [=](size_t side, size_t at) { SoftmaxOfColumns(logarithm, C, N, side, x + at, y + at); });
}

/// dx (add: +)= the pullback of SoftmaxDown, from its value y[R,C,N].
template <typename T>
void SoftmaxDownPullback(int logarithm, size_t R, size_t C, size_t N, const T *y, const T *dy, int add, T *dx)
{
   EachSide(R, C, N, [=](size_t side, size_t at) {
      if (add)
         PullBackSoftmaxOfColumns<true>(logarithm, C, N, side, y + at, dy + at, dx + at);
      else
         PullBackSoftmaxOfColumns<false>(logarithm, C, N, side, y + at, dy + at, dx + at);
   });
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Softmax(int, size_t, size_t, const T *, const ct_view *, T *);                                        \
   template void SoftmaxPullback(int, size_t, size_t, const T *, const T *, int, T *, const ct_view *);                \
   template void SoftmaxDown(int, size_t, size_t, size_t, const T *, T *);                                             \
   template void SoftmaxDownPullback(int, size_t, size_t, size_t, const T *, const T *, int, T *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
