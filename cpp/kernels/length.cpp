/// \file length.cpp
/// The Euclidean length of the rows of a strided view. Squares are summed in double, in which those of float32 numbers
/// neither overflow nor vanish.
#include "kernels.hpp"
#include "rows.hpp"

#include <cmath>

namespace CladTorch::Kernels {
namespace {

/// Rows side by side that are processed together.
constexpr size_t kSide = 32;

template <typename T, typename Length>
inline double SumOfSquares(Length n, const T *row)
{
   const auto square = [=](auto at) { return at(row) * at(row); };
   if (n >= 16)
      return SumOf<double>(n, square);
   double sum = 0;
   for (size_t i = 0; i < n; ++i)
      sum += square(At<double, 1>{i});
   return sum;
}

/// The part of the pullback of the length y, with adjoint dy, for an element x of its row: nothing if the length is 0.
/// In this order, since dy / y may be too large when x / y is not.
template <typename T>
inline T GivenTo(T x, T y, T dy)
{
   return y == 0 ? T(0) : x / y * dy;
}

/// Calls body(first, n) for the rows of a view side by side, up to kSide at a time.
template <typename Body>
inline void EachSide(size_t R, size_t neighbours, Body body)
{
   for (size_t start = 0; start < R; start += neighbours)
      for (size_t r = 0; r < neighbours; r += kSide)
         body(start + r, neighbours - r < kSide ? neighbours - r : kSide);
}

/// See LengthPullback(); both views are of rows side by side.
template <bool Add, typename T>
void PullbackSideBySide(size_t R, size_t C, const T *x, const ct_view &view, const T *y, const T *dy, T *dx,
                        const ct_view &target)
{
   const size_t down = view.strides[view.rank - 1], targetDown = target.strides[target.rank - 1];
   EachSide(R, view.sizes[view.rank - 2], [&](size_t first, size_t n) {
      const T *from = x + Walk(view, first * C).Offset();
      T *to = dx + Walk(target, first * C).Offset();
      for (size_t c = 0; c < C; ++c, from += down, to += targetDown)
         for (size_t s = 0; s < n; ++s)
            to[s] = (Add ? to[s] : T(0)) + GivenTo(from[s], y[first + s], dy[first + s]);
   });
}

} // namespace

/// y[R] = the root of the sum of the squares of each row.
template <typename T>
void Length(size_t R, size_t C, const T *x, const ct_view *view, T *y)
{
   if (AreSideBySide(*view, C))
      return EachSide(R, view->sizes[view->rank - 2], [&](size_t first, size_t n) {
         const T *from = x + Walk(*view, first * C).Offset();
         double sums[kSide] = {};
         for (size_t c = 0; c < C; ++c, from += view->strides[view->rank - 1])
            for (size_t s = 0; s < n; ++s)
               sums[s] += static_cast<double>(from[s]) * static_cast<double>(from[s]);
         for (size_t s = 0; s < n; ++s)
            y[first + s] = static_cast<T>(std::sqrt(sums[s]));
      });
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         for (size_t r = 0; r < rows; ++r)
            y[first + r] = static_cast<T>(std::sqrt(SumOfSquares(length, block + r * length)));
      });
   if (IsContiguous(*view)) {
      for (size_t r = 0; r < R; ++r)
         y[r] = static_cast<T>(std::sqrt(SumOfSquares(C, x + view->offset + r * C)));
      return;
   }
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r) {
      double sum = 0;
      EachBlock(reader, C, [&](size_t n, const T *row) { sum += SumOfSquares(n, row); });
      y[r] = static_cast<T>(std::sqrt(sum));
   }
}

/// dx (add: +)= the pullback of Length, from its value y[R].
template <typename T>
void LengthPullback(size_t R, size_t C, const T *x, const ct_view *view, const T *y, const T *dy, int add, T *dx,
                    const ct_view *target)
{
   if (AreSideBySide(*view, C) && AreSideBySide(*target, C) &&
       view->sizes[view->rank - 2] == target->sizes[target->rank - 2]) {
      const auto pullback = add ? PullbackSideBySide<true, T> : PullbackSideBySide<false, T>;
      return pullback(R, C, x, *view, y, dy, dx, *target);
   }
   Writer<T> writer(dx, *target, 0);
   T adjoint[kBlock];
   const auto give = [&](size_t n, const T *row, size_t r, T *to) {
      const T length = y[r], given = dy[r];
      CT_ELEMENTWISE
      for (size_t i = 0; i < n; ++i)
         to[i] = GivenTo(row[i], length, given);
   };
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         for (size_t r = 0; r < rows; ++r)
            give(length, block + r * length, first + r, adjoint + r * length);
         writer.Put(add, rows * length, adjoint);
      });
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r)
      EachBlock(reader, C, [&](size_t n, const T *row) {
         give(n, row, r, adjoint);
         writer.Put(add, n, adjoint);
      });
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Length(size_t, size_t, const T *, const ct_view *, T *);                                              \
   template void LengthPullback(size_t, size_t, const T *, const ct_view *, const T *, const T *, int, T *,            \
                                const ct_view *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
