/// \file view.hpp
/// The elements of a strided view in row-major order, a block at a time: kernels work on contiguous blocks and never
/// see strides. A contiguous view is handed out where it lies.
#pragma once
#include "elementwise.hpp"
#include "kernels.h"
#include "sums.hpp"
#include "vector.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace CladTorch::Kernels {

/// Elements that a kernel works on at once: a few operands of them stay in the first-level cache.
constexpr size_t kBlock = 256;

/// Up to so many elements a loop is faster than a call of memcpy.
constexpr size_t kShort = 16;

/// Copies H to 2 H neighbouring elements: the first H and the last H.
template <size_t H, typename T>
inline void CopyEnds(size_t n, const T *from, T *to)
{
   T first[H], last[H];
   std::memcpy(first, from, sizeof first);
   std::memcpy(last, from + n - H, sizeof last);
   std::memcpy(to, first, sizeof first);
   std::memcpy(to + n - H, last, sizeof last);
}

/// Copies n neighbouring elements: in whole registers, or parts of one, the last of which goes over what the one before it has
/// written, faster than a call of memcpy for rows of up to some kilobytes.
template <typename T>
inline void CopyRow(size_t n, const T *from, T *to)
{
   constexpr size_t lanes = kLanes<T>, most = 2048 / sizeof(T);
   if (n > most) {
      std::memcpy(to, from, n * sizeof(T));
   } else if (n >= lanes) {
      for (size_t i = 0; i < n - lanes; i += lanes)
         Store<T>(Load(from + i), to + i);
      Store<T>(Load(from + n - lanes), to + n - lanes);
   } else if (n >= 8) {
      CopyEnds<8>(n, from, to);
   } else if (n >= 4) {
      CopyEnds<4>(n, from, to);
   } else if (n >= 2) {
      CopyEnds<2>(n, from, to);
   } else if (n == 1) {
      *to = *from;
   }
}

/// Adds n neighbouring elements from H to 2 H by two registers: both are read before one is written, so that they may overlap.
template <size_t H, typename T>
inline void AddEnds(size_t n, const T *from, T *to)
{
   T first[H], last[H];
   for (size_t i = 0; i < H; ++i) {
      first[i] = to[i] + from[i];
      last[i] = to[n - H + i] + from[n - H + i];
   }
   std::memcpy(to, first, sizeof first);
   std::memcpy(to + n - H, last, sizeof last);
}

/// Adds n neighbouring elements to others, as CopyRow copies them.
template <typename T>
inline void AddRow(size_t n, const T *from, T *to)
{
   constexpr size_t lanes = kLanes<T>;
   if (n >= lanes) {
      const auto last = Load(to + n - lanes) + Load(from + n - lanes);
      for (size_t i = 0; i < n - lanes; i += lanes)
         Store<T>(Load(to + i) + Load(from + i), to + i);
      Store<T>(last, to + n - lanes);
   } else if (n >= 8) {
      AddEnds<8>(n, from, to);
   } else if (n >= 4) {
      AddEnds<4>(n, from, to);
   } else if (n >= 2) {
      AddEnds<2>(n, from, to);
   } else if (n == 1) {
      *to += *from;
   }
}

/// body(length) with one of the usual short lengths as a constant, which makes a loop over a row a few instructions; whether
/// it is one of them.
template <typename Body>
inline bool WithShortLength(size_t length, Body body)
{
   switch (length) {
   case 2: body(std::integral_constant<size_t, 2>()); return true;
   case 4: body(std::integral_constant<size_t, 4>()); return true;
   case 8: body(std::integral_constant<size_t, 8>()); return true;
   case 16: body(std::integral_constant<size_t, 16>()); return true;
   default: return false;
   }
}

/// Where in a view a walk through it stands.
class Walk {
   const ct_view &fView;
   size_t fIndex[CT_RANK] = {};
   size_t fOffset;

   /// From the end of dimension d to the next element of the one before it.
   void Carry(size_t d)
   {
      while (fIndex[d] == fView.sizes[d]) {
         fOffset -= fIndex[d] * fView.strides[d];
         fIndex[d] = 0;
         if (d-- == 0)
            return;
         ++fIndex[d];
         fOffset += fView.strides[d];
      }
   }

public:
   /// Stands at element `begin` of the view.
   Walk(const ct_view &view, size_t begin) : fView(view), fOffset(view.offset)
   {
      for (size_t d = view.rank; begin && d-- > 0; begin /= view.sizes[d]) {
         fIndex[d] = begin % view.sizes[d];
         fOffset += fIndex[d] * view.strides[d];
      }
   }

   size_t Offset() const { return fOffset; }

   bool AtRowStart() const { return fIndex[fView.rank - 1] == 0; }

   /// Whether the next n elements are in one row, with such a stride.
   bool IsInRow(size_t n, size_t stride) const
   {
      const size_t last = fView.rank - 1;
      return fView.strides[last] == stride && n <= fView.sizes[last] - fIndex[last];
   }

   /// Steps over n elements of one row.
   void SkipInRow(size_t n)
   {
      const size_t last = fView.rank - 1;
      fIndex[last] += n;
      fOffset += n * fView.strides[last];
      if (fIndex[last] == fView.sizes[last])
         Carry(last);
   }

   /// Steps over whole rows of a view of two dimensions.
   void SkipRows(size_t rows)
   {
      fIndex[0] += rows;
      fOffset += rows * fView.strides[0];
   }

   /// Steps over n elements where these are whole rows of neighbouring elements: calls rows(length, offset, stride, count) for those
   /// of each plane, with a constant length if it is a usual short one. Else returns false.
   template <typename Rows>
   bool ForwardRows(size_t n, Rows rows)
   {
      const size_t last = fView.rank - 1, down = fView.rank - 2;
      if (n == 0 || fView.rank < 2 || fView.strides[last] != 1 || n % fView.sizes[last] || !AtRowStart())
         return false;
      const auto all = [&](auto length) {
         for (size_t left = n / length, count; left; left -= count) {
            count = std::min(left, fView.sizes[down] - fIndex[down]);
            rows(length, fOffset, fView.strides[down], count);
            fIndex[down] += count;
            fOffset += count * fView.strides[down];
            if (fIndex[down] == fView.sizes[down])
               Carry(down);
         }
      };
      if (!WithShortLength(fView.sizes[last], all))
         all(fView.sizes[last]);
      return true;
   }

   /// Steps over n elements, calling run(offset, stride, length) for each stretch along the last dimension.
   template <typename Run>
   void Forward(size_t n, Run run)
   {
      if (fView.rank == 0) {
         for (; n; --n)
            run(fOffset, size_t(0), size_t(1));
         return;
      }
      const size_t last = fView.rank - 1, stride = fView.strides[last];
      while (n) {
         const size_t room = fView.sizes[last] - fIndex[last], length = n < room ? n : room;
         run(fOffset, stride, length);
         n -= length;
         fIndex[last] += length;
         fOffset += length * stride;
         if (fIndex[last] == fView.sizes[last])
            Carry(last);
      }
   }
};

/// Calls body(offset, stride, offset, stride, length) for each stretch along which both views, of as many elements, have one stride.
template <typename Body>
inline void WalkTogether(const ct_view &a, const ct_view &b, Body body)
{
   Walk first(a, 0), second(b, 0);
   first.Forward(a.count, [&](size_t from, size_t step, size_t run) {
      second.Forward(run, [&](size_t there, size_t down, size_t length) {
         body(from, step, there, down, length);
         from += length * step;
      });
   });
}

/// The dimensions from `first` to before `last` of a view.
inline ct_view Dimensions(const ct_view &view, size_t first, size_t last, size_t offset)
{
   ct_view part{1, 0, last - first, offset, {}, {}};
   for (size_t d = first; d < last; ++d) {
      part.sizes[d - first] = view.sizes[d];
      part.strides[d - first] = view.strides[d];
      part.count *= view.sizes[d];
   }
   return part;
}

/// The first element of each row of the last dimension.
inline ct_view RowStarts(const ct_view &view)
{
   return Dimensions(view, 0, view.rank - 1, view.offset);
}

/// Whether the view's elements lie one after the other.
inline bool IsContiguous(const ct_view &view)
{
   return view.rank == 0 || (view.rank == 1 && view.strides[0] == 1);
}

/// Whether each row of the view is the same memory and short: its blocks can all be the same, too.
inline bool IsPeriodic(const ct_view &view)
{
   return view.rank == 2 && view.strides[0] == 0 && view.sizes[1] > 0 && view.sizes[1] <= kBlock;
}

/// Whether each row of the view is one number, repeated a few times.
inline bool HasShortConstantRows(const ct_view &view)
{
   return view.rank == 2 && view.strides[1] == 0 && view.sizes[1] > 0 && view.sizes[1] <= kShort;
}

/// How many elements of these views to take at once: whole rows of one that repeats its rows, or its numbers, which are one number
/// in each block if rows are long enough.
inline size_t BlockOf(const ct_view *views, size_t count, size_t begin)
{
   for (size_t i = 0; i < count; ++i) {
      const size_t columns = views[i].rank == 2 ? views[i].sizes[1] : 0;
      if (columns == 0 || begin % columns != 0)
         continue;
      if (views[i].strides[1] == 0 && columns >= kBlock / 4 && columns <= kBlock)
         return columns;
      if (IsPeriodic(views[i]) || HasShortConstantRows(views[i]))
         return kBlock - kBlock % columns;
   }
   return kBlock;
}

/// Reads a view.
template <typename T>
class Reader {
   const T *fData;
   Walk fWalk;
   bool fContiguous, fRepeats; ///< repeats: what the first block holds, each one does
   size_t fColumns = 0, fRow = 0; ///< of short constant rows: how many numbers, and how far apart
   size_t fFilled = 0; ///< where it repeats, or with the number at fNumber
   const T *fNumber = nullptr;
   T fRoom[kBlock + kShort]; ///< with room for the rest of a row

   /// n elements that are all the same number.
   const T *Repeat(size_t n)
   {
      const T *number = fData + fWalk.Offset();
      if (number != fNumber || n > fFilled)
         for (size_t i = 0; i < n; ++i)
            fRoom[i] = *number;
      fFilled = number == fNumber && fFilled > n ? fFilled : n;
      fNumber = number;
      fWalk.SkipInRow(n);
      return fRoom;
   }

public:
   /// Copies the next n elements, of a view that is not contiguous.
   void Gather(size_t n, T *to)
   {
      const auto rows = [&](auto columns, size_t offset, size_t stride, size_t count) {
         for (size_t r = 0; r < count; ++r, to += columns)
            CopyRow(columns, fData + offset + r * stride, to);
      };
      if (fWalk.ForwardRows(n, rows))
         return;
      fWalk.Forward(n, [&](size_t offset, size_t stride, size_t length) {
         const T *from = fData + offset;
         if (stride == 1)
            CopyRow(length, from, to);
         else if (stride == 0)
            for (size_t i = 0; i < length; ++i)
               to[i] = *from;
         else if (stride == 2) // which is vector code
            for (size_t i = 0; i < length; ++i)
               to[i] = from[2 * i];
         else
            for (size_t i = 0; i < length; ++i)
               to[i] = from[i * stride];
         to += length;
      });
   }

   /// From element `begin` on; every call of Next() but the last one is for a multiple of `block` elements.
   Reader(const T *data, const ct_view &view, size_t begin, size_t block = 1)
      : fData(data),
        fWalk(view, begin),
        fContiguous(IsContiguous(view)),
        fRepeats((view.rank == 1 && view.strides[0] == 0) ||
                 (IsPeriodic(view) && begin % view.sizes[1] == 0 && block % view.sizes[1] == 0))
   {
      if (HasShortConstantRows(view) && begin % view.sizes[1] == 0 && block % view.sizes[1] == 0) {
         fColumns = view.sizes[1];
         fRow = view.strides[0];
      }
      if (fContiguous || fColumns)
         fData += fWalk.Offset();
   }

   /// The next 0 < n <= kBlock elements: in place, or gathered; valid until the next call.
   const T *Next(size_t n)
   {
      if (fContiguous) {
         const T *from = fData;
         fData += n;
         return from;
      }
      if (fColumns) {
         for (size_t first = 0; first < n; first += fColumns, fData += fRow)
            for (size_t i = 0; i < kShort; ++i) // more than a row has: of a fixed length
               fRoom[first + i] = *fData;
      } else if (!fRepeats) {
         if (fWalk.IsInRow(n, 1)) {
            const T *from = fData + fWalk.Offset();
            fWalk.SkipInRow(n);
            return from;
         }
         if (fWalk.IsInRow(n, 0))
            return Repeat(n);
         fNumber = nullptr;
         Gather(n, fRoom);
      } else if (fFilled < n) {
         Gather(n - fFilled, fRoom + fFilled);
         fFilled = n;
      }
      return fRoom;
   }
};

/// The sum of the few numbers of a short row.
template <typename T, typename Length>
inline T ShortTotal(Length length, const T *x)
{
   T sum = 0;
   for (size_t i = 0; i < length; ++i)
      sum += x[i];
   return sum;
}

/// totals[width] += rows of so many numbers, `stride` apart: a few dozen of them before the totals, so that errors do not grow with
/// their number.
template <typename T>
inline void AddRowsTo(double *totals, size_t rows, size_t width, const T *x, size_t stride)
{
   constexpr size_t most = 64;
   for (size_t start = 0; start < rows; start += most) {
      T sums[kBlock] = {};
      for (size_t r = start; r < start + most && r < rows; ++r)
         for (size_t i = 0; i < width; ++i)
            sums[i] += x[r * stride + i];
      for (size_t i = 0; i < width; ++i)
         totals[i] += sums[i];
   }
}

/// Writes to a view or adds to it. Elements of the view may be the same memory (a broadcast dimension has stride 0):
/// adding sums over it, and writing to it is the caller's mistake.
template <typename T>
class Writer {
   T *fData;
   const ct_view &fView;
   Walk fWalk;
   bool fSumsRows; ///< short rows, each added up to a number
   size_t fColumns; ///< all rows are added up to one of so many numbers; 0: they are not
   bool fHasTotals = false;
   double fTotals[kBlock]; ///< that row, where rows are many, so that errors do not grow with their number

   /// Adds up n numbers, whole short rows that begin where the walk stands.
   void AddRows(size_t n, const T *values)
   {
      const size_t columns = fView.sizes[1], rows = n / columns;
      T *to = fData + fWalk.Offset();
      const auto sums = [&](auto length) {
         for (size_t r = 0; r < rows; ++r)
            to[r * fView.strides[0]] += ShortTotal(length, values + r * length);
      };
      if (!WithShortLength(columns, sums))
         sums(columns);
      fWalk.SkipRows(rows);
   }

   /// Adds n numbers, whole rows, to the totals: several short rows side by side, which is vector code.
   void AddToTotals(size_t n, const T *values)
   {
      if (fColumns == 1) {
         fTotals[0] += Total(n, values);
         return;
      }
      constexpr size_t wide = 64;
      for (size_t width = fColumns < wide ? wide - wide % fColumns : fColumns; n;) {
         width = n < width ? n : width;
         double sums[kBlock];
         std::fill(sums, sums + width, 0.0);
         AddRowsTo(sums, n / width, width, values, width);
         for (size_t first = 0; first < width; first += fColumns)
            for (size_t c = 0; c < fColumns; ++c)
               fTotals[c] += sums[first + c];
         values += n - n % width;
         n %= width;
      }
   }

public:
   Writer(T *data, const ct_view &view, size_t begin)
      : fData(data),
        fView(view),
        fWalk(view, begin),
        fSumsRows(HasShortConstantRows(view)),
        fColumns(IsPeriodic(view) ? view.sizes[1] : view.rank == 0 || (view.rank == 1 && view.strides[0] == 0) ? 1 : 0)
   {
      for (size_t c = 0; c < fColumns; ++c)
         fTotals[c] = 0;
   }

   Writer(const Writer &) = delete;
   Writer &operator=(const Writer &) = delete;

   ~Writer()
   {
      for (size_t c = 0; fHasTotals && c < fColumns; ++c)
         fData[fView.offset + (fView.rank == 2 ? c * fView.strides[1] : 0)] += static_cast<T>(fTotals[c]);
   }

   void Store(size_t n, const T *values)
   {
      const auto rows = [&](auto columns, size_t offset, size_t stride, size_t count) {
         for (size_t r = 0; r < count; ++r, values += columns)
            CopyRow(columns, values, fData + offset + r * stride);
      };
      if (fWalk.ForwardRows(n, rows))
         return;
      fWalk.Forward(n, [&](size_t offset, size_t stride, size_t length) {
         T *to = fData + offset;
         if (stride == 1)
            CopyRow(length, values, to);
         else
            for (size_t i = 0; i < length; ++i)
               to[i * stride] = values[i];
         values += length;
      });
   }

   void Put(bool add, size_t n, const T *values)
   {
      if (add)
         Add(n, values);
      else
         Store(n, values);
   }

   void Add(size_t n, const T *values)
   {
      if (fColumns && n % fColumns == 0 && (fView.rank < 2 || fWalk.AtRowStart())) {
         fHasTotals = true;
         return AddToTotals(n, values);
      }
      if (fSumsRows && n % fView.sizes[1] == 0 && fWalk.AtRowStart())
         return AddRows(n, values);
      const auto rows = [&](auto columns, size_t offset, size_t stride, size_t count) {
         for (size_t r = 0; r < count; ++r, values += columns) {
            T *to = fData + offset + r * stride;
            CT_ELEMENTWISE
            for (size_t c = 0; c < columns; ++c)
               to[c] += values[c];
         }
      };
      if (fWalk.ForwardRows(n, rows))
         return;
      fWalk.Forward(n, [&](size_t offset, size_t stride, size_t length) {
         T *to = fData + offset;
         if (stride == 0) {
            *to += Total(length, values);
         } else if (stride == 1) {
            CT_ELEMENTWISE
            for (size_t i = 0; i < length; ++i)
               to[i] += values[i];
         } else {
            for (size_t i = 0; i < length; ++i)
               to[i * stride] += values[i];
         }
         values += length;
      });
   }
};

} // namespace CladTorch::Kernels
