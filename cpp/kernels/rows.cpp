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

} // namespace

/// y[R] = the greatest of each row; a NaN counts as greater than all.
template <typename T>
void Greatest(size_t R, size_t C, const T *x, const ct_stream *view, T *y)
{
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r) {
      T top = -std::numeric_limits<T>::infinity();
      EachBlock(reader, C, [&](size_t n, const T *row) {
         for (size_t i = 0; i < n; ++i)
            top = row[i] > top || row[i] != row[i] ? row[i] : top;
      });
      y[r] = top;
   }
}

/// dx += dy shared evenly by the greatest elements of a row (`even`), or given whole to one of them: the first, or the
/// last NaN.
template <typename T>
void GreatestPullback(int even, size_t R, size_t C, const T *x, const ct_stream *view, const T *y, const T *dy, T *dx,
                      const ct_stream *target)
{
   Reader<T> counted(x, *view, 0), shared(x, *view, 0);
   Writer<T> writer(dx, *target, 0);
   for (size_t r = 0; r < R; ++r) {
      const bool isNaN = y[r] != y[r];
      size_t equal = 0, chosen = 0, at = 0;
      EachBlock(counted, C, [&](size_t n, const T *row) {
         for (size_t i = 0; i < n; ++i, ++at)
            if (isNaN ? row[i] != row[i] : row[i] == y[r]) {
               chosen = equal == 0 || isNaN ? at : chosen;
               ++equal;
            }
      });
      at = 0;
      EachBlock(shared, C, [&](size_t n, const T *row) {
         T adjoint[kBlock];
         for (size_t i = 0; i < n; ++i, ++at) {
            // LibTorch compares with ==, so that even shares of a NaN are 0 / 0.
            const T share = isNaN ? std::numeric_limits<T>::quiet_NaN() : dy[r] / static_cast<T>(equal);
            adjoint[i] = even ? (isNaN || row[i] == y[r] ? share : T(0)) : (at == chosen ? dy[r] : T(0));
         }
         writer.Add(n, adjoint);
      });
   }
}

/// y[R,C] = exp(x) / its row's sum, or the logarithm of that.
template <typename T>
void Softmax(int logarithm, size_t R, size_t C, const T *x, const ct_stream *view, T *y)
{
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r, y += C) {
      T top = -std::numeric_limits<T>::infinity(), *to = y;
      EachBlock(reader, C, [&](size_t n, const T *row) {
         for (size_t i = 0; i < n; ++i)
            top = row[i] > top ? row[i] : top;
         std::memcpy(to, row, n * sizeof(T));
         to += n;
      });
      // The exponentials apart from their sum: a loop that only maps becomes vector code.
      T sum = 0;
      for (size_t first = 0; first < C; first += kBlock) {
         const size_t n = C - first < kBlock ? C - first : kBlock;
         T room[kBlock], *exponentials = logarithm ? room : y + first;
         CT_ELEMENTWISE
         for (size_t i = 0; i < n; ++i)
            exponentials[i] = Exp(y[first + i] - top);
         sum += Total(n, exponentials);
      }
      const T shift = std::log(sum);
      for (size_t c = 0; c < C; ++c)
         y[c] = logarithm ? y[c] - top - shift : y[c] / sum;
   }
}

/// dx += the pullback of Softmax, from its value y[R,C].
template <typename T>
void SoftmaxPullback(int logarithm, size_t R, size_t C, const T *y, const T *dy, T *dx, const ct_stream *target)
{
   Writer<T> writer(dx, *target, 0);
   for (size_t r = 0; r < R; ++r, y += C, dy += C) {
      T sum = 0;
      for (size_t c = 0; c < C; ++c)
         sum += logarithm ? dy[c] : dy[c] * y[c];
      for (size_t first = 0; first < C; first += kBlock) {
         const size_t n = C - first < kBlock ? C - first : kBlock;
         const T *value = y + first, *d = dy + first;
         T adjoint[kBlock];
         for (size_t i = 0; i < n; ++i)
            adjoint[i] = logarithm ? d[i] - Exp(value[i]) * sum : value[i] * (d[i] - sum);
         writer.Add(n, adjoint);
      }
   }
}

namespace {

/// Calls body(i, offset) for each of the n picks that is not skipped; false where an index is out of range.
template <typename Body>
bool EachPick(const ct_pick *pick, const int64_t *index, const ct_stream *indices, const ct_stream *bases, size_t n,
              Body body)
{
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
         int64_t at = block[i];
         if (pick->has_skip && at == pick->skip)
            continue;
         if (at < 0 && pick->from_end)
            at += static_cast<int64_t>(pick->size);
         if (at < 0 || at >= static_cast<int64_t>(pick->size))
            return false;
         body(first + i, offsets[i] + static_cast<size_t>(at) * pick->stride);
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
   return EachPick(pick, index, indices, bases, n, [&](size_t i, size_t offset) { y[i] = x[offset]; });
}

/// dx[...] += dy, the pullback of Choose.
template <typename T>
int ChoosePullback(const ct_pick *pick, size_t n, const T *dy, const int64_t *index, const ct_stream *indices, T *dx,
                   const ct_stream *bases)
{
   return EachPick(pick, index, indices, bases, n, [&](size_t i, size_t offset) { dx[offset] += dy[i]; });
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Greatest(size_t, size_t, const T *, const ct_stream *, T *);                                          \
   template void GreatestPullback(int, size_t, size_t, const T *, const ct_stream *, const T *, const T *, T *,        \
                                  const ct_stream *);                                                                  \
   template void Softmax(int, size_t, size_t, const T *, const ct_stream *, T *);                                      \
   template void SoftmaxPullback(int, size_t, size_t, const T *, const T *, T *, const ct_stream *);                   \
   template int Choose(const ct_pick *, size_t, const T *, const ct_stream *, const int64_t *, const ct_stream *, T *);\
   template int ChoosePullback(const ct_pick *, size_t, const T *, const int64_t *, const ct_stream *, T *,            \
                               const ct_stream *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
