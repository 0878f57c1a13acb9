/// \file rows.cpp
/// What looks at a whole row of a strided view: the greatest element, softmax; and picking elements by index.
#include "exponential.hpp"
#include "kernels.hpp"
#include "rows.hpp"

#include <cmath>
#include <limits>

namespace CladTorch::Kernels {
namespace {

/// The greatest elements, side by side, of what passes by: a NaN counts as greater than all, and the last one stays.
template <typename T, size_t N>
struct Tops {
   T fTop[N], fNaN[N];

   Tops()
   {
      for (size_t s = 0; s < N; ++s) {
         fTop[s] = -std::numeric_limits<T>::infinity();
         fNaN[s] = 0;
      }
   }

   void See(const T *x)
   {
      for (size_t s = 0; s < N; ++s) {
         fTop[s] = x[s] > fTop[s] ? x[s] : fTop[s];
         fNaN[s] = x[s] != x[s] ? x[s] : fNaN[s];
      }
   }

   /// The greatest of all, which then stands first.
   T Greatest()
   {
      for (size_t half = N / 2; half; half /= 2)
         for (size_t s = 0; s < half; ++s) {
            fTop[s] = fTop[s + half] > fTop[s] ? fTop[s + half] : fTop[s];
            fNaN[s] = fNaN[s + half] != fNaN[s + half] ? fNaN[s + half] : fNaN[s];
         }
      return Of(0);
   }

   T Of(size_t s) const { return fNaN[s] != fNaN[s] ? fNaN[s] : fTop[s]; }
};

/// The greater of `top` and a row's elements.
template <typename T, typename Length>
inline T GreatestOf(T top, Length n, const T *row)
{
   constexpr size_t side = 32;
   size_t i = 0;
   if (n >= side) {
      Tops<T, side> tops;
      for (; i + side <= n; i += side)
         tops.See(row + i);
      const T greatest = tops.Greatest();
      top = greatest > top || greatest != greatest ? greatest : top;
   }
   for (; i < n; ++i)
      top = row[i] > top || row[i] != row[i] ? row[i] : top;
   return top;
}

/// y[R] = the greatest of each of R rows side by side, registers full of them at a time.
template <typename T>
void GreatestSideBySide(size_t R, size_t C, const T *x, const ct_stream &view, T *y)
{
   constexpr size_t side = 64;
   const size_t neighbours = view.sizes[view.rank - 2], down = view.strides[view.rank - 1];
   for (size_t first = 0; first < R; first += neighbours) {
      const T *from = x + Walk(view, first * C).Offset();
      size_t r = 0;
      for (; r + side <= neighbours; r += side) {
         Tops<T, side> tops;
         for (size_t c = 0; c < C; ++c)
            tops.See(from + c * down + r);
         for (size_t s = 0; s < side; ++s)
            y[first + r + s] = tops.Of(s);
      }
      for (; r < neighbours; ++r) {
         Tops<T, 1> top;
         for (size_t c = 0; c < C; ++c)
            top.See(from + c * down + r);
         y[first + r] = top.Of(0);
      }
   }
}

/// Which elements of N rows side by side are the greatest of theirs, y, whose adjoint is dy; they are seen twice.
template <typename T, size_t N>
class Sharing {
   int fTies;
   bool fIsNaN[N];
   T fY[N], fDy[N], fShare[N];
   size_t fEqual[N], fChosen[N], fSeen = 0, fGiven = 0;

public:
   Sharing(int ties, const T *y, const T *dy) : fTies(ties)
   {
      for (size_t s = 0; s < N; ++s) {
         fIsNaN[s] = y[s] != y[s];
         fY[s] = y[s];
         fDy[s] = dy[s];
         fEqual[s] = fChosen[s] = 0;
      }
   }

   /// The next element of each row.
   void See(const T *x)
   {
      for (size_t s = 0; s < N; ++s) { // selects: where the greatest one is cannot be predicted
         const bool here = fIsNaN[s] ? x[s] != x[s] : x[s] == fY[s];
         fChosen[s] = here & (fIsNaN[s] | (fEqual[s] == 0)) ? fSeen : fChosen[s];
         fEqual[s] += here;
      }
      ++fSeen;
   }

   /// After all have been seen.
   void Share()
   {
      // LibTorch's amax() compares with ==, so that even shares of a NaN are 0 / 0.
      for (size_t s = 0; s < N; ++s)
         fShare[s] = fIsNaN[s] && fTies == CT_TIES_EVEN ? std::numeric_limits<T>::quiet_NaN() : fDy[s] / static_cast<T>(fEqual[s]);
   }

   void Give(const T *x, T *adjoint)
   {
      // Times 0 where nothing is given: LibTorch's share of an infinite adjoint is no number there.
      if (fTies != CT_TIES_FIRST)
         for (size_t s = 0; s < N; ++s)
            adjoint[s] = fShare[s] * T((fIsNaN[s] ? x[s] != x[s] : x[s] == fY[s]) ? 1 : 0);
      else
         for (size_t s = 0; s < N; ++s)
            adjoint[s] = fGiven == fChosen[s] ? fDy[s] : T(0);
      ++fGiven;
   }
};

/// See GreatestPullback(); N of the rows side by side, the first of which is number `first`.
template <bool Add, size_t N, typename T>
void GivenSideBySide(int ties, size_t first, size_t C, const T *x, const ct_stream &view, const T *y, const T *dy, T *dx,
                     const ct_stream &target)
{
   const size_t down = view.strides[view.rank - 1], targetDown = target.strides[target.rank - 1];
   const T *from = x + Walk(view, first * C).Offset();
   T *to = dx + Walk(target, first * C).Offset(), adjoint[N];
   Sharing<T, N> sharing(ties, y + first, dy + first);
   for (size_t c = 0; c < C; ++c)
      sharing.See(from + c * down);
   sharing.Share();
   for (size_t c = 0; c < C; ++c) {
      sharing.Give(from + c * down, adjoint);
      for (size_t s = 0; s < N; ++s)
         to[c * targetDown + s] = (Add ? to[c * targetDown + s] : T(0)) + adjoint[s];
   }
}

template <bool Add, typename T>
void GivenToAll(int ties, size_t R, size_t C, const T *x, const ct_stream &view, const T *y, const T *dy, T *dx,
                const ct_stream &target)
{
   constexpr size_t side = 16;
   const size_t neighbours = view.sizes[view.rank - 2];
   for (size_t start = 0; start < R; start += neighbours) {
      size_t r = 0;
      for (; r + side <= neighbours; r += side)
         GivenSideBySide<Add, side>(ties, start + r, C, x, view, y, dy, dx, target);
      for (; r < neighbours; ++r)
         GivenSideBySide<Add, 1>(ties, start + r, C, x, view, y, dy, dx, target);
   }
}

} // namespace

/// y[R] = the greatest of each row; a NaN counts as greater than all.
template <typename T>
void Greatest(size_t R, size_t C, const T *x, const ct_stream *view, T *y)
{
   constexpr T least = -std::numeric_limits<T>::infinity();
   if (AreSideBySide(*view, C))
      return GreatestSideBySide(R, C, x, *view, y);
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         for (size_t r = 0; r < rows; ++r)
            y[first + r] = GreatestOf(least, length, block + r * length);
      });
   if (IsContiguous(*view)) {
      for (size_t r = 0; r < R; ++r)
         y[r] = GreatestOf(least, C, x + view->offset + r * C);
      return;
   }
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r) {
      y[r] = least;
      EachBlock(reader, C, [&](size_t n, const T *row) { y[r] = GreatestOf(y[r], n, row); });
   }
}

/// dx (add: +)= dy given to the greatest elements of a row, as `ties` says.
template <typename T>
void GreatestPullback(int ties, size_t R, size_t C, const T *x, const ct_stream *view, const T *y, const T *dy, int add,
                      T *dx, const ct_stream *target)
{
   if (AreSideBySide(*view, C) && AreSideBySide(*target, C) &&
       view->sizes[view->rank - 2] == target->sizes[target->rank - 2])
      return (add ? GivenToAll<true, T> : GivenToAll<false, T>)(ties, R, C, x, *view, y, dy, dx, *target);
   Writer<T> writer(dx, *target, 0);
   T adjoint[kBlock];
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         for (size_t r = 0; r < rows; ++r) {
            Sharing<T, 1> sharing(ties, y + first + r, dy + first + r);
            for (size_t i = 0; i < length; ++i)
               sharing.See(block + r * length + i);
            sharing.Share();
            for (size_t i = 0; i < length; ++i)
               sharing.Give(block + r * length + i, adjoint + r * length + i);
         }
         writer.Put(add, rows * length, adjoint);
      });
   Reader<T> seen(x, *view, 0), given(x, *view, 0);
   for (size_t r = 0; r < R; ++r) {
      Sharing<T, 1> sharing(ties, y + r, dy + r);
      EachBlock(seen, C, [&](size_t n, const T *row) {
         for (size_t i = 0; i < n; ++i)
            sharing.See(row + i);
      });
      sharing.Share();
      EachBlock(given, C, [&](size_t n, const T *row) {
         for (size_t i = 0; i < n; ++i)
            sharing.Give(row + i, adjoint + i);
         writer.Put(add, n, adjoint);
      });
   }
}

namespace {

/// y[n] = exp(x): a loop that only maps becomes vector code.
template <typename T>
inline void Exponentials(size_t n, const T *x, T *y)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      y[i] = Exp(x[i]);
}

/// y[n] = exp(x - top)
template <typename T>
inline void Exponentials(size_t n, const T *x, T top, T *y)
{
   CT_ELEMENTWISE
   for (size_t i = 0; i < n; ++i)
      y[i] = Exp(x[i] - top);
}

/// The greater of `top` and n numbers; a NaN is none.
template <typename T>
inline T TopOf(T top, size_t n, const T *row)
{
   constexpr size_t side = 32;
   size_t i = 0;
   if (n >= side) {
      T tops[side];
      for (size_t s = 0; s < side; ++s)
         tops[s] = top;
      for (; i + side <= n; i += side)
         for (size_t s = 0; s < side; ++s)
            tops[s] = row[i + s] > tops[s] ? row[i + s] : tops[s];
      for (size_t half = side / 2; half; half /= 2)
         for (size_t s = 0; s < half; ++s)
            tops[s] = tops[s + half] > tops[s] ? tops[s + half] : tops[s];
      top = tops[0];
   }
   for (; i < n; ++i)
      top = row[i] > top ? row[i] : top;
   return top;
}

/// The sum of d, or of d times value.
template <typename T>
inline T SumOfAdjoints(int logarithm, size_t n, const T *d, const T *value)
{
   if (n < 32) {
      T sum = 0;
      for (size_t i = 0; i < n; ++i)
         sum += logarithm ? d[i] : d[i] * value[i];
      return sum;
   }
   return logarithm ? Total(n, d) : SumOf<T>(n, [=](size_t i) { return d[i] * value[i]; });
}

/// The sum of exp(y[C]) over a row; the exponentials stay in y unless `keep`.
template <typename T>
inline T SumOfExponentials(size_t C, T *y, bool keep)
{
   T sum = 0;
   for (size_t first = 0; first < C; first += kBlock) {
      const size_t n = C - first < kBlock ? C - first : kBlock;
      T room[kBlock], *to = keep ? room : y + first;
      Exponentials(n, y + first, to);
      sum += Total(n, to);
   }
   return sum;
}

/// Softmax of a row that lies in one piece.
template <typename T>
void SoftmaxOfRow(int logarithm, size_t C, const T *x, T *y)
{
   const T top = TopOf(-std::numeric_limits<T>::infinity(), C, x);
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

} // namespace

/// y[R,C] = exp(x) / its row's sum, or the logarithm of that.
template <typename T>
void Softmax(int logarithm, size_t R, size_t C, const T *x, const ct_stream *view, T *y)
{
   if (IsContiguous(*view) && C >= 32) {
      x += view->offset;
      for (size_t r = 0; r < R; ++r, x += C, y += C)
         SoftmaxOfRow(logarithm, C, x, y);
      return;
   }
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0, rows; r < R; r += rows, y += rows * C) {
      rows = R - r < RowsOf(C) ? R - r : RowsOf(C);
      T *to = y;
      for (size_t i = 0; i < rows; ++i, to += C) {
         T top = -std::numeric_limits<T>::infinity(), *at = to;
         EachBlock(reader, C, [&](size_t n, const T *row) {
            top = TopOf(top, n, row);
            std::memcpy(at, row, n * sizeof(T));
            at += n;
         });
         for (size_t c = 0; c < C; ++c)
            to[c] -= top;
      }
      T room[kBlock];
      const bool isShort = rows * C <= kBlock;
      if (isShort)
         Exponentials(rows * C, y, logarithm ? room : y);
      for (size_t i = 0; i < rows; ++i) {
         T *row = y + i * C;
         const T sum = isShort ? Total(C, logarithm ? room + i * C : row) : SumOfExponentials(C, row, logarithm);
         if (logarithm) {
            const T shift = std::log(sum);
            for (size_t c = 0; c < C; ++c)
               row[c] -= shift;
         } else {
            const T factor = 1 / sum;
            for (size_t c = 0; c < C; ++c)
               row[c] *= factor;
         }
      }
   }
}

/// dx (add: +)= the pullback of Softmax, from its value y[R,C].
template <typename T>
void SoftmaxPullback(int logarithm, size_t R, size_t C, const T *y, const T *dy, int add, T *dx, const ct_stream *target)
{
   Writer<T> writer(dx, *target, 0);
   T adjoint[kBlock];
   if (C <= kBlock) {
      for (size_t r = 0, rows; r < R; r += rows, y += rows * C, dy += rows * C) {
         rows = R - r < RowsOf(C) ? R - r : RowsOf(C);
         if (logarithm)
            Exponentials(rows * C, y, adjoint);
         for (size_t first = 0; first < rows * C; first += C) {
            const T *value = y + first, *d = dy + first;
            T *to = adjoint + first;
            const T sum = SumOfAdjoints(logarithm, C, d, value);
            if (logarithm)
               for (size_t c = 0; c < C; ++c)
                  to[c] = d[c] - to[c] * sum;
            else
               for (size_t c = 0; c < C; ++c)
                  to[c] = value[c] * (d[c] - sum);
         }
         writer.Put(add, rows * C, adjoint);
      }
      return;
   }
   for (size_t r = 0; r < R; ++r, y += C, dy += C) {
      const T sum = SumOfAdjoints(logarithm, C, dy, y);
      for (size_t first = 0; first < C; first += kBlock) {
         const size_t n = C - first < kBlock ? C - first : kBlock;
         const T *value = y + first, *d = dy + first;
         for (size_t i = 0; i < n; ++i)
            adjoint[i] = logarithm ? d[i] - Exp(value[i]) * sum : value[i] * (d[i] - sum);
         writer.Put(add, n, adjoint);
      }
   }
}

namespace {

/// Where along its dimension an index picks; -1 to skip it, -2 where it is out of range.
inline int64_t PlaceOf(const ct_pick *pick, int64_t at)
{
   if (pick->has_skip && at == pick->skip)
      return -1;
   if (at < 0 && pick->from_end)
      at += static_cast<int64_t>(pick->size);
   return at < 0 || at >= static_cast<int64_t>(pick->size) ? -2 : at;
}

/// Whether each index picks a whole row of neighbouring elements, as that of an embedding does.
inline bool PicksRows(const ct_stream *indices, const ct_stream *bases)
{
   return indices->rank == 2 && bases->rank == 2 && indices->strides[1] == 0 && bases->strides[0] == 0 &&
          bases->strides[1] == 1 && bases->sizes[1] == indices->sizes[1];
}

/// Calls body(i, offset, length) for each of the n picks, or rows of picks, that is not skipped; false where an index is out
/// of range.
template <typename Body>
bool EachPick(const ct_pick *pick, const int64_t *index, const ct_stream *indices, const ct_stream *bases, size_t n,
              Body body)
{
   if (PicksRows(indices, bases)) {
      const size_t length = indices->sizes[1];
      for (size_t r = 0; r < indices->sizes[0]; ++r) {
         const int64_t at = PlaceOf(pick, index[indices->offset + r * indices->strides[0]]);
         if (at == -2)
            return false;
         if (at >= 0)
            body(r * length, bases->offset + static_cast<size_t>(at) * pick->stride, length);
      }
      return true;
   }
   size_t offsets[kBlock];
   Reader<int64_t> reader(index, *indices, 0);
   Walk walk(*bases, 0);
   for (size_t first = 0, length; first < n; first += length) {
      length = n - first < kBlock ? n - first : kBlock;
      const int64_t *block = reader.Next(length);
      size_t *to = offsets;
      walk.Forward(length, [&](size_t offset, size_t stride, size_t run) {
         for (size_t i = 0; i < run; ++i)
            *to++ = offset + i * stride;
      });
      for (size_t i = 0; i < length; ++i) {
         const int64_t at = PlaceOf(pick, block[i]);
         if (at == -2)
            return false;
         if (at >= 0)
            body(first + i, offsets[i] + static_cast<size_t>(at) * pick->stride, size_t(1));
      }
   }
   return true;
}

} // namespace

/// y[i] = x[base view at i + index at i * stride]; 0 where the index is to be skipped. 0 where an index is out of range.
template <typename T>
int Choose(const ct_pick *pick, size_t n, const T *x, const ct_stream *bases, const int64_t *index,
           const ct_stream *indices, T *y)
{
   for (size_t i = 0; i < n; ++i)
      y[i] = 0;
   return EachPick(pick, index, indices, bases, n, [&](size_t i, size_t offset, size_t length) {
      for (size_t j = 0; j < length; ++j)
         y[i + j] = x[offset + j];
   });
}

/// dx[...] += dy, the pullback of Choose.
template <typename T>
int ChoosePullback(const ct_pick *pick, size_t n, const T *dy, const int64_t *index, const ct_stream *indices, T *dx,
                   const ct_stream *bases)
{
   return EachPick(pick, index, indices, bases, n, [&](size_t i, size_t offset, size_t length) {
      for (size_t j = 0; j < length; ++j)
         dx[offset + j] += dy[i + j];
   });
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Greatest(size_t, size_t, const T *, const ct_stream *, T *);                                          \
   template void GreatestPullback(int, size_t, size_t, const T *, const ct_stream *, const T *, const T *, int, T *,   \
                                  const ct_stream *);                                                                  \
   template void Softmax(int, size_t, size_t, const T *, const ct_stream *, T *);                                      \
   template void SoftmaxPullback(int, size_t, size_t, const T *, const T *, int, T *, const ct_stream *);              \
   template int Choose(const ct_pick *, size_t, const T *, const ct_stream *, const int64_t *, const ct_stream *, T *);\
   template int ChoosePullback(const ct_pick *, size_t, const T *, const int64_t *, const ct_stream *, T *,            \
                               const ct_stream *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
