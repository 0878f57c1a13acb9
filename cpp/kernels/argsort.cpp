/// \file argsort.cpp
/// The places of the first elements of each row of a strided view, in an order.
#include "kernels.hpp"
#include "order.hpp"
#include "stream.hpp"

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

} // namespace

static_assert(CT_ORDER_STABLE == 0 && CT_ORDER_TOP == 1, "FirstInOrder, which exported headers have too, takes these numbers");

/// places[R,count] = where in its row of x's view [R,C] each of the first `count` elements is.
template <typename T>
void Argsort(int order, int descending, size_t R, size_t C, size_t count, const T *x, const ct_stream *view, T *places)
{
   Row<T> room(C);
   std::pair<T, uint32_t> *const row = room.Data();
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r, places += count) {
      for (size_t first = 0, n; first < C; first += n) {
         n = C - first < kBlock ? C - first : kBlock;
         const T *from = reader.Next(n);
         for (size_t i = 0; i < n; ++i)
            row[first + i] = {from[i], static_cast<uint32_t>(first + i)};
      }
      if (descending)
         FirstInOrder<true>(order, C, count, row);
      else
         FirstInOrder<false>(order, C, count, row);
      for (size_t i = 0; i < count; ++i)
         places[i] = static_cast<T>(row[i].second);
   }
}

template void Argsort(int, int, size_t, size_t, size_t, const float *, const ct_stream *, float *);
template void Argsort(int, int, size_t, size_t, size_t, const double *, const ct_stream *, double *);

} // namespace CladTorch::Kernels
