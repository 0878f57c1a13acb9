/// \file rows.cpp
/// What looks at a whole row of a strided view: the greatest element, softmax; and picking elements by index.
#include "exponential.hpp"
#include "kernels.hpp"
#include "stream.hpp"

#include <cmath>
#include <limits>

namespace CladTorch::Kernels {
namespace {

/// Calls body(length, block) for the blocks of the reader's next n elements.
template <typename T, typename Body>
inline void EachBlock(Reader<T> &reader, size_t n, Body body)
{
   for (size_t length; n; n -= length) {
      length = n < kBlock ? n : kBlock;
      body(length, reader.Next(length));
   }
}

/// Rows that are looked at together: as many short ones as a block holds.
inline size_t RowsOf(size_t C)
{
   return C < kBlock ? kBlock / C : 1;
}

/// Calls body(length, first, rows, block) for the rows of a view, of C <= kBlock elements each, as many at a time as a block
/// holds; see WithShortLength() for `length`, which is C.
template <typename T, typename Body>
inline void EachShortRows(size_t R, size_t C, const T *x, const ct_stream &view, Body body)
{
   Reader<T> reader(x, view, 0, C);
   for (size_t r = 0, rows; r < R; r += rows) {
      rows = R - r < RowsOf(C) ? R - r : RowsOf(C);
      const T *block = reader.Next(rows * C);
      const auto all = [&](auto length) { body(length, r, rows, block); };
      if (!WithShortLength(C, all))
         all(C);
   }
}

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

/// Whether the rows that are looked at lie side by side, as where one goes down the columns of a matrix.
inline bool AreSideBySide(const ct_stream &view, size_t C)
{
   return view.rank > 1 && view.sizes[view.rank - 1] == C && view.strides[view.rank - 2] == 1 && view.strides[view.rank - 1] != 1;
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

/// Which elements of a row are the greatest one, y, whose adjoint is dy; a row is seen piece by piece, twice.
template <typename T>
class Sharing {
   bool fEven, fIsNaN;
   T fY, fDy;
   size_t fEqual = 0, fChosen = 0, fSeen = 0, fGiven = 0;

public:
   Sharing(bool even, T y, T dy) : fEven(even), fIsNaN(y != y), fY(y), fDy(dy) {}

   template <typename Length>
   void See(Length n, const T *row)
   {
      for (size_t i = 0; i < n; ++i, ++fSeen) { // selects: where the greatest one is cannot be predicted
         const bool here = fIsNaN ? row[i] != row[i] : row[i] == fY;
         fChosen = here & (fIsNaN | (fEqual == 0)) ? fSeen : fChosen;
         fEqual += here;
      }
   }

   template <typename Length>
   void Give(Length n, const T *row, T *adjoint)
   {
      // LibTorch compares with ==, so that even shares of a NaN are 0 / 0.
      const T share = fIsNaN ? std::numeric_limits<T>::quiet_NaN() : fDy / static_cast<T>(fEqual);
      for (size_t i = 0; i < n; ++i, ++fGiven)
         adjoint[i] = fEven ? (fIsNaN || row[i] == fY ? share : T(0)) : (fGiven == fChosen ? fDy : T(0));
   }
};

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

/// dx (add: +)= dy shared evenly by the greatest elements of a row (`even`), or given whole to one of them: the first, or
/// the last NaN.
template <typename T>
void GreatestPullback(int even, size_t R, size_t C, const T *x, const ct_stream *view, const T *y, const T *dy, int add,
                      T *dx, const ct_stream *target)
{
   Writer<T> writer(dx, *target, 0);
   T adjoint[kBlock];
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         for (size_t r = 0; r < rows; ++r) {
            Sharing<T> sharing(even, y[first + r], dy[first + r]);
            sharing.See(length, block + r * length);
            sharing.Give(length, block + r * length, adjoint + r * length);
         }
         writer.Put(add, rows * length, adjoint);
      });
   Reader<T> seen(x, *view, 0), given(x, *view, 0);
   for (size_t r = 0; r < R; ++r) {
      Sharing<T> sharing(even, y[r], dy[r]);
      EachBlock(seen, C, [&](size_t n, const T *row) { sharing.See(n, row); });
      EachBlock(given, C, [&](size_t n, const T *row) {
         sharing.Give(n, row, adjoint);
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

} // namespace

/// y[R,C] = exp(x) / its row's sum, or the logarithm of that.
template <typename T>
void Softmax(int logarithm, size_t R, size_t C, const T *x, const ct_stream *view, T *y)
{
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
            for (size_t c = 0; c < C; ++c)
               to[c] = logarithm ? d[c] - to[c] * sum : value[c] * (d[c] - sum);
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
