/// \file choose.cpp
/// Elements of a strided view picked by index.
#include "kernels.hpp"
#include "view.hpp"

namespace CladTorch::Kernels {
namespace {

inline int64_t Integer(int64_t index)
{
   return index;
}

/// A value that is not an int64 (including NaN) is out of range.
template <typename T>
int64_t Integer(T index)
{
   constexpr T kBound = T(int64_t(1) << 62);
   return index > -kBound && index < kBound ? static_cast<int64_t>(index) : INT64_MIN;
}

/// The place that an index picks along its dimension; -1 to skip it, -2 if it is out of range.
inline int64_t PlaceOf(const ct_pick &pick, int64_t at)
{
   if (pick.has_skip && at == pick.skip)
      return -1;
   at += at < 0 && pick.from_end ? static_cast<int64_t>(pick.size) : 0;
   return static_cast<size_t>(at) < pick.size ? at : -2;
}

/// Whether each index picks a whole row of neighbouring elements, as in an embedding.
inline bool PicksRows(const ct_view &indices, const ct_view &bases)
{
   if (indices.rank == 0 || bases.rank == 0)
      return false;
   const size_t i = indices.rank - 1, b = bases.rank - 1;
   return indices.strides[i] == 0 && bases.strides[b] == 1 && indices.sizes[i] == bases.sizes[b];
}

/// EachPick of whole rows of `length` elements.
template <typename Index, typename Length, typename Body>
bool EachRow(const ct_pick &pick, const Index *index, const ct_view &indices, const ct_view &bases, Length length, Body body)
{
   bool areInRange = true;
   size_t i = 0;
   WalkTogether(RowStarts(indices), RowStarts(bases), [&](size_t from, size_t step, size_t start, size_t down, size_t rows) {
      for (; areInRange && rows; --rows, from += step, start += down, i += length) {
         const int64_t at = PlaceOf(pick, Integer(index[from]));
         areInRange = at != -2;
         if (at >= 0)
            body(i, start + static_cast<size_t>(at) * pick.stride, length);
      }
   });
   return areInRange;
}

/// The first dimensions in which the index is the same, as in index_select along a later one; 0 if few picks would share it, or the views
/// have their elements in other dimensions: each has joined those that it can.
inline size_t SharedDimensions(const ct_view *indices, const ct_view *bases)
{
   if (indices->rank != bases->rank || !std::equal(indices->sizes, indices->sizes + indices->rank, bases->sizes))
      return 0;
   size_t shared = 0, times = 1;
   while (shared < indices->rank && indices->strides[shared] == 0)
      times *= indices->sizes[shared++];
   return times >= 4 && shared < indices->rank ? shared : 0;
}

/// EachPick where the index is the same in the `shared` first dimensions: it is read once.
template <typename Index, typename Body>
bool EachSharedPick(const ct_pick &pick, const Index *index, const ct_view &indices, const ct_view &bases, size_t shared,
                    Body body)
{
   constexpr size_t skipped = SIZE_MAX, most = 2048;
   const ct_view outer = Dimensions(bases, 0, shared, bases.offset), inner = Dimensions(bases, shared, bases.rank, 0),
                 chosen = Dimensions(indices, shared, indices.rank, indices.offset);
   Reader<Index> reader(index, chosen, 0);
   Walk walk(inner, 0);
   for (size_t first = 0, length; first < inner.count; first += length) {
      length = inner.count - first < most ? inner.count - first : most;
      size_t places[most];
      bool areInRange = true, all = true;
      for (size_t i = 0; i < length;) {
         const size_t read = length - i < kBlock ? length - i : kBlock;
         const Index *block = reader.Next(read);
         walk.Forward(read, [&](size_t offset, size_t stride, size_t run) {
            for (const Index *const end = block + run; block < end; ++block, ++i, offset += stride) {
               const int64_t at = PlaceOf(pick, Integer(*block));
               areInRange = areInRange && at != -2;
               all = all && at >= 0;
               places[i] = at >= 0 ? offset + static_cast<size_t>(at) * pick.stride : skipped;
            }
         });
      }
      if (!areInRange)
         return false;
      Walk rows(outer, 0);
      rows.Forward(outer.count, [&, y = first](size_t offset, size_t stride, size_t run) mutable {
         for (; run; --run, offset += stride, y += inner.count) {
            if (all) {
               for (size_t j = 0; j < length; ++j)
                  body(y + j, offset + places[j], size_t(1));
               continue;
            }
            for (size_t j = 0; j < length; ++j)
               if (places[j] != skipped)
                  body(y + j, offset + places[j], size_t(1));
         }
      });
   }
   return true;
}

/// Calls body(i, offset, length) for each of the n picks, or rows of picks, that is not skipped; false if an index is
/// out of range.
template <typename Index, typename Body>
bool EachPick(const ct_pick *pick, const Index *index, const ct_view *indices, const ct_view *bases, size_t n,
              Body body)
{
   if (n == 0)
      return true; // an index without elements is nowhere in memory
   if (PicksRows(*indices, *bases)) {
      bool areInRange = true;
      const auto rows = [&](auto length) { areInRange = EachRow(*pick, index, *indices, *bases, length, body); };
      if (const size_t length = bases->sizes[bases->rank - 1]; !WithShortLength(length, rows))
         rows(length);
      return areInRange;
   }
   if (const size_t shared = SharedDimensions(indices, bases))
      return EachSharedPick(*pick, index, *indices, *bases, shared, body);
   const ct_pick by = *pick; // in registers, whatever body writes
   bool areInRange = true;
   Reader<Index> reader(index, *indices, 0);
   Walk walk(*bases, 0);
   for (size_t first = 0, length; areInRange && first < n; first += length) {
      length = n - first < kBlock ? n - first : kBlock;
      const Index *block = reader.Next(length);
      size_t i = 0;
      walk.Forward(length, [&](size_t offset, size_t stride, size_t run) {
         if (!areInRange)
            return;
         for (const size_t end = i + run; i < end; ++i, offset += stride) {
            const int64_t at = PlaceOf(by, Integer(block[i]));
            if (at >= 0) {
               body(first + i, offset + static_cast<size_t>(at) * by.stride, size_t(1));
            } else if (at == -2) {
               areInRange = false;
               return;
            }
         }
      });
   }
   return areInRange;
}

/// The same for an index of either type.
template <typename T, typename Body>
bool EachPickOf(const ct_pick *pick, const void *index, const ct_view *indices, const ct_view *bases, size_t n, Body body)
{
   return pick->is_number ? EachPick(pick, static_cast<const T *>(index), indices, bases, n, body)
                          : EachPick(pick, static_cast<const int64_t *>(index), indices, bases, n, body);
}

} // namespace

/// y[i] = x[base view at i + index at i * stride]; 0 if the index is to be skipped. Returns 0 if an index is out of
/// range.
template <typename T>
int Choose(const ct_pick *pick, size_t n, const T *x, const ct_view *bases, const void *index,
           const ct_view *indices, T *y)
{
   for (size_t i = 0; pick->has_skip && i < n; ++i)
      y[i] = 0;
   return EachPickOf<T>(pick, index, indices, bases, n,
                        [&](size_t i, size_t offset, auto length) { CopyRow(length, x + offset, y + i); });
}

/// dx[...] += dy, the pullback of Choose.
template <typename T>
int ChoosePullback(const ct_pick *pick, size_t n, const T *dy, const void *index, const ct_view *indices, T *dx,
                   const ct_view *bases)
{
   return EachPickOf<T>(pick, index, indices, bases, n, [&](size_t i, size_t offset, auto length) {
      for (size_t j = 0; j < length; ++j)
         dx[offset + j] += dy[i + j];
   });
}

#define CT_INSTANTIATE(T)                                                                                              \
   template int Choose(const ct_pick *, size_t, const T *, const ct_view *, const void *, const ct_view *, T *);       \
   template int ChoosePullback(const ct_pick *, size_t, const T *, const void *, const ct_view *, T *,                 \
                               const ct_view *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
