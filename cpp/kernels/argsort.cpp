/// \file argsort.cpp
/// The places of the first elements of each row of a strided view, in a given order.
#include "kernels.hpp"
#include "order.hpp"
#include "rows.hpp"
#include "vector.hpp"

#include <cstdlib>

namespace CladTorch::Kernels {
namespace {

/// Memory for a row's elements and their places, without the C++ runtime, which is not linked here.
template <typename T>
class Row {
   static constexpr size_t kUsual = 256;
   std::pair<T, uint32_t> fUsual[kUsual], *fElements = fUsual;

public:
   explicit Row(size_t columns)
   {
      if (columns <= kUsual)
         return;
      fElements = static_cast<std::pair<T, uint32_t> *>(std::malloc(columns * sizeof *fElements));
      if (!fElements)
         std::abort(); // as Rust's allocator does
   }
   Row(const Row &) = delete;
   Row &operator=(const Row &) = delete;
   ~Row()
   {
      if (fElements != fUsual)
         std::free(fElements);
   }

   std::pair<T, uint32_t> *Data() { return fElements; }
};

/// Rows of at most this many columns are ordered by counting, for each element, those that come before it.
constexpr size_t kCounted = 64;

/// The places of the first `count` of C <= kCounted elements whose order is unique. False if it is not unique, or if
/// there is a NaN: two elements then have the same number before them.
template <bool Descending, typename T>
bool CountPlaces(size_t C, size_t count, const T *x, T *places)
{
   T row[kCounted];
   int32_t before[kCounted];
   for (size_t i = 0; i < kCounted; ++i)
      row[i] = i < C ? x[i] : 0;
   for (size_t first = 0; first < C; first += kLanes<T>) {
      const Vector<T> mine = Load(row + first);
      auto counts = decltype(mine < mine){};
      for (size_t j = 0; j < C; ++j) {
         const Vector<T> other = x[j] - Vector<T>{}; // in each lane
         counts -= Descending ? other > mine : other < mine; // true is -1
      }
      for (size_t i = 0; i < kLanes<T>; ++i)
         before[first + i] = static_cast<int32_t>(counts[i]);
   }
   uint64_t taken = 0;
   for (size_t i = 0; i < C; ++i) {
      const auto place = static_cast<size_t>(before[i]);
      if (place >= count)
         continue;
      if (taken >> place & 1)
         return false;
      taken |= uint64_t(1) << place;
      places[place] = static_cast<T>(i);
   }
   // Equal elements leave a gap behind them.
   return taken == (count == kCounted ? ~uint64_t(0) : (uint64_t(1) << count) - 1);
}

/// The places of a row's first elements.
template <typename T>
class Ranker {
   const int fOrder;
   const size_t fColumns, fCount;
   Row<T> fRow;

public:
   Ranker(int order, size_t columns, size_t count) : fOrder(order), fColumns(columns), fCount(count), fRow(columns) {}

   template <bool Descending>
   void Rank(Reader<T> &reader, T *places)
   {
      std::pair<T, uint32_t> *const row = fRow.Data();
      for (size_t first = 0, n; first < fColumns; first += n) {
         n = fColumns - first < kBlock ? fColumns - first : kBlock;
         const T *from = reader.Next(n);
         if (fColumns <= kCounted && fOrder != CT_ORDER_TOP_UNSORTED && CountPlaces<Descending>(n, fCount, from, places))
            return;
         for (size_t i = 0; i < n; ++i)
            row[first + i] = {from[i], static_cast<uint32_t>(first + i)};
      }
      FirstInOrder<Descending>(fOrder, fColumns, fCount, row);
      for (size_t i = 0; i < fCount; ++i)
         places[i] = static_cast<T>(row[i].second);
   }
};

/// Whether a comes before b if neither is less than the other; a NaN is greater than all numbers.
template <bool Descending, typename T>
inline bool Precedes(T a, T b)
{
   const bool before = Descending ? a > b : a < b, aIsNaN = a != a, bIsNaN = b != b;
   return before | (Descending ? aIsNaN & !bIsNaN : !aIsNaN & bIsNaN);
}

/// The first of C elements, `down` apart, of each of n <= kBlock rows side by side, and its place.
template <bool Descending, typename T>
__attribute__((noinline)) void FirstBeside(size_t n, size_t C, const T *x, size_t down, T *first, uint32_t *place)
{
   std::memcpy(first, x, n * sizeof(T));
   std::fill(place, place + n, uint32_t(0));
   for (size_t c = 1; c < C; ++c) {
      const T *row = x + c * down;
      CT_ELEMENTWISE
      for (size_t i = 0; i < n; ++i) {
         const bool precedes = Precedes<Descending>(row[i], first[i]);
         first[i] = precedes ? row[i] : first[i];
         place[i] = precedes ? static_cast<uint32_t>(c) : place[i];
      }
   }
}

/// The place of the first of n elements, several of which are examined side by side.
template <bool Descending, typename T>
size_t FirstOf(size_t n, const T *x)
{
   constexpr size_t sides = 32;
   T first[sides];
   uint32_t place[sides];
   FirstBeside<Descending>(sides, n / sides, x, sides, first, place);
   size_t found = place[0] * sides;
   for (size_t i = 1; i < sides; ++i) {
      const size_t at = place[i] * sides + i;
      if (Precedes<Descending>(x[at], x[found]) || (at < found && !Precedes<Descending>(x[found], x[at])))
         found = at;
   }
   for (size_t i = n / sides * sides; i < n; ++i)
      found = Precedes<Descending>(x[i], x[found]) ? i : found;
   return found;
}

/// places[R] = the place of the first element in its row of x's view [R,C]; false for a view that is better read
/// otherwise.
template <bool Descending, typename T>
bool FirstPlaces(size_t R, size_t C, const T *x, const ct_view &view, T *places)
{
   if (AreSideBySide(view, C)) {
      const size_t neighbours = view.sizes[view.rank - 2];
      T first[kBlock];
      uint32_t place[kBlock];
      for (size_t start = 0; start < R; start += neighbours)
         for (size_t r = 0, n; r < neighbours; r += n) {
            n = neighbours - r < kBlock ? neighbours - r : kBlock;
            const T *from = x + Walk(view, (start + r) * C).Offset();
            FirstBeside<Descending>(n, C, from, view.strides[view.rank - 1], first, place);
            for (size_t i = 0; i < n; ++i)
               places[start + r + i] = static_cast<T>(place[i]);
         }
      return true;
   }
   if (!IsContiguous(view) || C <= kCounted)
      return false;
   for (size_t r = 0; r < R; ++r)
      places[r] = static_cast<T>(FirstOf<Descending>(C, x + view.offset + r * C));
   return true;
}

} // namespace

static_assert(CT_ORDER_STABLE == 0 && CT_ORDER_TOP == 1, "FirstInOrder, which exported headers have too, takes these numbers");

/// places[R,count] = the place of each of the first `count` elements in its row of x's view [R,C].
template <typename T>
void Argsort(int order, int descending, size_t R, size_t C, size_t count, const T *x, const ct_view *view, T *places)
{
   if (order == CT_ORDER_STABLE && count == 1 && C > 0 &&
       (descending ? FirstPlaces<true, T> : FirstPlaces<false, T>)(R, C, x, *view, places))
      return;
   Ranker<T> ranker(order, C, count);
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r, places += count) {
      if (descending)
         ranker.template Rank<true>(reader, places);
      else
         ranker.template Rank<false>(reader, places);
   }
}

template void Argsort(int, int, size_t, size_t, size_t, const float *, const ct_view *, float *);
template void Argsort(int, int, size_t, size_t, size_t, const double *, const ct_view *, double *);

} // namespace CladTorch::Kernels
