/// \file rows.hpp
/// The rows of a strided view, as kernels that look at whole rows read them.
#pragma once
#include "view.hpp"

namespace CladTorch::Kernels {

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
inline void EachShortRows(size_t R, size_t C, const T *x, const ct_view &view, Body body)
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

/// Whether the rows that are looked at lie side by side, as where one goes down the columns of a matrix.
inline bool AreSideBySide(const ct_view &view, size_t C)
{
   return view.rank > 1 && view.sizes[view.rank - 1] == C && view.strides[view.rank - 2] == 1 && view.strides[view.rank - 1] != 1;
}

} // namespace CladTorch::Kernels
