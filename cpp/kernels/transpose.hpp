/// \file transpose.hpp
/// Between dense memory and a view whose neighbours lie across its rows, as those of a transposed matrix do: by tiles, so that
/// every cache line is met once.
#pragma once
#include "stream.hpp"

namespace CladTorch::Kernels {

/// Rows and columns of a matrix, in a view [rows, columns] whose rows are neighbours and whose columns are fColumnStride apart,
/// and in dense memory where rows are fRowStride apart.
struct Plane {
   size_t fRows, fColumns, fColumnStride, fRowStride;
};

/// The dimension of neighbouring elements of a view, if it is not the last one; else its rank.
inline size_t NeighboursOf(const ct_stream &view)
{
   if (view.rank < 2 || view.strides[view.rank - 1] <= 1)
      return view.rank;
   for (size_t d = 0; d + 1 < view.rank; ++d)
      if (view.strides[d] == 1)
         return d;
   return view.rank;
}

/// Whether going along the last dimension leaps through memory and going along another does not; in a view worth the tiles.
inline bool IsAcross(const ct_stream &view)
{
   const size_t neighbours = NeighboursOf(view);
   return neighbours < view.rank && view.sizes[neighbours] >= 4 && view.sizes[view.rank - 1] >= 4;
}

/// Calls body(offset, dense, plane) for each matrix of a view that IsAcross(): where it begins in the view's memory and in a
/// dense copy of the view.
template <typename Body>
inline void EachPlane(const ct_stream &view, Body body)
{
   const size_t last = view.rank - 1, neighbours = NeighboursOf(view);
   size_t index[CT_RANK] = {}, dense[CT_RANK] = {};
   dense[last] = 1;
   for (size_t d = last; d > 0; --d)
      dense[d - 1] = dense[d] * view.sizes[d];
   const Plane plane = {view.sizes[neighbours], view.sizes[last], view.strides[last], dense[neighbours]};
   size_t offset = view.offset, to = 0;
   while (view.count) {
      body(offset, to, plane);
      size_t d = last;
      for (;;) {
         if (d-- == 0)
            return;
         if (d == neighbours)
            continue;
         offset += view.strides[d];
         to += dense[d];
         if (++index[d] < view.sizes[d])
            break;
         offset -= index[d] * view.strides[d];
         to -= index[d] * dense[d];
         index[d] = 0;
      }
   }
}

/// Rows and columns of a tile: a cache line of either.
template <typename T>
constexpr size_t kTile = 64 / sizeof(T);

/// Calls body(r, c, rows, columns) for the tiles of a plane.
template <typename T, typename Body>
inline void EachTile(const Plane &plane, Body body)
{
   constexpr size_t tile = kTile<T>;
   for (size_t c = 0; c < plane.fColumns; c += tile)
      for (size_t r = 0; r < plane.fRows; r += tile)
         body(r, c, plane.fRows - r < tile ? plane.fRows - r : tile, plane.fColumns - c < tile ? plane.fColumns - c : tile);
}

/// to[r * row stride + c] (Add: +)= from[r + c * column stride]
template <bool Add, typename T>
void FromAcross(const Plane &plane, const T *from, T *to)
{
   EachTile<T>(plane, [&](size_t first, size_t c, size_t rows, size_t columns) {
      T tile[kTile<T>][kTile<T>];
      for (size_t j = 0; j < columns; ++j)
         for (size_t i = 0; i < rows; ++i)
            tile[i][j] = from[first + i + (c + j) * plane.fColumnStride];
      for (size_t i = 0; i < rows; ++i) {
         T *row = to + (first + i) * plane.fRowStride + c;
         for (size_t j = 0; j < columns; ++j)
            row[j] = (Add ? row[j] : T(0)) + tile[i][j];
      }
   });
}

/// to[r + c * column stride] (Add: +)= from[r * row stride + c]
template <bool Add, typename T>
void ToAcross(const Plane &plane, const T *from, T *to)
{
   EachTile<T>(plane, [&](size_t first, size_t c, size_t rows, size_t columns) {
      T tile[kTile<T>][kTile<T>];
      for (size_t i = 0; i < rows; ++i)
         for (size_t j = 0; j < columns; ++j)
            tile[j][i] = from[(first + i) * plane.fRowStride + c + j];
      for (size_t j = 0; j < columns; ++j) {
         T *column = to + first + (c + j) * plane.fColumnStride;
         for (size_t i = 0; i < rows; ++i)
            column[i] = (Add ? column[i] : T(0)) + tile[j][i];
      }
   });
}

} // namespace CladTorch::Kernels
