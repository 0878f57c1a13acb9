/// \file transpose.hpp
/// Between dense memory and a view whose neighbours lie across its rows, as those of a transposed matrix do: by tiles, so that
/// every cache line is met once.
#pragma once
#include "view.hpp"
#include "vector.hpp"

namespace CladTorch::Kernels {

/// Rows and columns of a matrix, in a view [rows, columns] whose rows are neighbours and whose columns are fColumnStride apart,
/// and in dense memory where rows are fRowStride apart.
struct Plane {
   size_t fRows, fColumns, fColumnStride, fRowStride;
};

/// The dimension of neighbouring elements of a view, if it is not the last one; else its rank.
inline size_t NeighboursOf(const ct_view &view)
{
   if (view.rank < 2 || view.strides[view.rank - 1] <= 1)
      return view.rank;
   for (size_t d = 0; d + 1 < view.rank; ++d)
      if (view.strides[d] == 1)
         return d;
   return view.rank;
}

/// Whether going along the last dimension leaps through memory and going along another does not; in a view worth the tiles.
inline bool IsAcross(const ct_view &view)
{
   const size_t neighbours = NeighboursOf(view);
   return neighbours < view.rank && view.sizes[neighbours] >= 4 && view.sizes[view.rank - 1] >= 4;
}

/// Calls body(offset, dense, plane) for each matrix of a view that IsAcross(): where it begins in the view's memory and in a
/// dense copy of the view.
template <typename Body>
inline void EachPlane(const ct_view &view, Body body)
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

/// A whole tile of Transpose(), by registers.
template <bool Add, typename T>
inline void TransposeTile(const T *from, size_t fromStride, T *to, size_t toStride)
{
   constexpr size_t lanes = kLanes<T>;
   for (size_t i = 0; i < kTile<T>; i += lanes)
      for (size_t j = 0; j < kTile<T>; j += lanes) {
         Square<T> square;
         for (size_t r = 0; r < lanes; ++r)
            square.fRows[r] = Load(from + (j + r) * fromStride + i);
         square.Transpose();
         for (size_t r = 0; r < lanes; ++r) {
            T *row = to + (i + r) * toStride + j;
            Store<T>(Add ? Load(row) + square.fRows[r] : square.fRows[r], row);
         }
      }
}

/// to[a * toStride + b] (Add: +)= from[b * fromStride + a] for a < A and b < B.
template <bool Add, typename T>
void Transpose(size_t A, size_t B, const T *from, size_t fromStride, T *to, size_t toStride)
{
   constexpr size_t tile = kTile<T>;
   const auto part = [](size_t begin, size_t end) { return end - begin < tile ? end - begin : tile; };
   for (size_t b = 0; b < B; b += tile)
      for (size_t a = 0; a < A; a += tile) {
         const size_t rows = part(a, A), columns = part(b, B);
         const T *source = from + b * fromStride + a;
         T *target = to + a * toStride + b;
         if (rows == tile && columns == tile) {
            TransposeTile<Add>(source, fromStride, target, toStride);
            continue;
         }
         for (size_t i = 0; i < rows; ++i)
            for (size_t j = 0; j < columns; ++j)
               // Not 0 plus the number, which has another sign where that is -0.
               target[i * toStride + j] = Add ? target[i * toStride + j] + source[j * fromStride + i] : source[j * fromStride + i];
      }
}

/// Between a plane of a view and dense memory.
template <bool Add, typename T>
void FromAcross(const Plane &plane, const T *from, T *to)
{
   Transpose<Add>(plane.fRows, plane.fColumns, from, plane.fColumnStride, to, plane.fRowStride);
}
template <bool Add, typename T>
void ToAcross(const Plane &plane, const T *from, T *to)
{
   Transpose<Add>(plane.fColumns, plane.fRows, from, plane.fRowStride, to, plane.fColumnStride);
}

} // namespace CladTorch::Kernels
