/// \file map.cpp
/// The scalar functions of operators.hpp over strided views, and their pullbacks with the derivatives that Clad made.
#include "generated/derivatives.hpp"
#include "kernels.hpp"
#include "library.hpp"
#include "operators.hpp"
#include "rest.hpp"
#include "view.hpp"
#include "transpose.hpp"

namespace CladTorch::Kernels {
namespace {

/// A loop over a block: y[i] = f(x[0][i], ...), or with dy the part of its pullback for one operand.
#define CT_MAP(F, ...)                                                                                                 \
   CT_LOOP F##Loop(size_t n, const T *const *x, const T *, T *y)                                                       \
   {                                                                                                                   \
      CT_ELEMENTWISE                                                                                                   \
      for (size_t i = 0; i < n; ++i)                                                                                   \
         y[i] = F(__VA_ARGS__);                                                                                        \
   }
#define CT_MAP_1(F) CT_MAP(F, x[0][i])
#define CT_MAP_2(F) CT_MAP(F, x[0][i], x[1][i])
#define CT_MAP_3(F) CT_MAP(F, x[0][i], x[1][i], x[2][i])
CT_UNARY(CT_MAP_1)
CT_FLAT_UNARY(CT_MAP_1)
CT_BINARY(CT_MAP_2)
CT_FLAT(CT_MAP_2)
CT_TERNARY(CT_MAP_3)
CT_MAP_2(GreaterOf)
CT_MAP_2(SmallerOf)
CT_MAP_3(Between)

// The pullbacks add to the adjoints of all operands; unused ones cost nothing.
#define CT_PULL(F, WHICH, ...)                                                                                         \
   CT_LOOP F##PullLoop##WHICH(size_t n, const T *const *x, const T *dy, T *adjoint)                                    \
   {                                                                                                                   \
      CT_ELEMENTWISE                                                                                                   \
      for (size_t i = 0; i < n; ++i) {                                                                                 \
         T kept = 0, d1 = 0, d2 = 0;                                                                                   \
         (void)d1, (void)d2;                                                                                           \
         F##_pullback(__VA_ARGS__);                                                                                    \
         adjoint[i] = kept;                                                                                            \
      }                                                                                                                \
   }
#define CT_PULL_1(F)                                                                                                   \
   CT_LOOP F##PullLoop0(size_t n, const T *const *x, const T *dy, T *adjoint)                                          \
   {                                                                                                                   \
      CT_ELEMENTWISE                                                                                                   \
      for (size_t i = 0; i < n; ++i)                                                                                   \
         adjoint[i] = F##_pushforward(x[0][i], dy[i]).pushforward;                                                     \
   }
#define CT_PULL_2(F)                                                                                                   \
   CT_PULL(F, 0, x[0][i], x[1][i], dy[i], &kept, &d1)                                                                  \
   CT_PULL(F, 1, x[0][i], x[1][i], dy[i], &d1, &kept)
#define CT_PULL_3(F)                                                                                                   \
   CT_PULL(F, 0, x[0][i], x[1][i], x[2][i], dy[i], &kept, &d1, &d2)                                                    \
   CT_PULL(F, 1, x[0][i], x[1][i], x[2][i], dy[i], &d1, &kept, &d2)                                                    \
   CT_PULL(F, 2, x[0][i], x[1][i], x[2][i], dy[i], &d1, &d2, &kept)
CT_UNARY(CT_PULL_1)
CT_BINARY(CT_PULL_2)
CT_TERNARY(CT_PULL_3)

/// The loop of a function of the mathematical library, in whole registers only: the library's vector functions round
/// differently from its scalar ones, and an element must not depend on its place.
template <size_t A, typename T, void (*Loop)(size_t, const T *const *, const T *, T *)>
void Whole(size_t n, const T *const *x, const T *dy, T *y)
{
   constexpr size_t lanes = 64 / sizeof(T);
   const size_t whole = n / lanes * lanes, rest = n - whole;
   Loop(whole, x, dy, y);
   if (!rest)
      return;
   T operands[A][lanes], adjoints[lanes], results[lanes];
   const T *last[A];
   for (size_t a = 0; a < A; ++a) {
      last[a] = operands[a];
      for (size_t i = 0; i < lanes; ++i)
         operands[a][i] = x[a][whole + (i < rest ? i : 0)];
   }
   for (size_t i = 0; i < lanes; ++i)
      adjoints[i] = dy ? dy[whole + (i < rest ? i : 0)] : T(0);
   Loop(lanes, last, adjoints, results);
   for (size_t i = 0; i < rest; ++i)
      y[whole + i] = results[i];
}

/// A scalar function's loops.
template <typename T>
struct Function {
   using Loop = void (*)(size_t, const T *const *, const T *, T *);
   size_t fArity;
   Loop fForward, fPullbacks[3];
};

/// Loop, a block at a time: of vector code that is exact for most numbers (Exact, which returns whether it was for
/// all), otherwise of the function itself.
template <typename T, bool (*Exact)(size_t, const T *, const T *, const T *, T *),
          void (*Loop)(size_t, const T *const *, const T *, T *)>
void RestLoop(size_t n, const T *const *x, const T *dy, T *y)
{
   for (size_t first = 0, length; first < n; first += length) {
      length = n - first < kBlock ? n - first : kBlock;
      const T *operands[2] = {x[0] + first, x[1] + first}, *adjoint = dy ? dy + first : nullptr;
      T results[kBlock]; // y may be the memory of an operand
      if (Exact(length, operands[0], operands[1], adjoint, results))
         std::memcpy(y + first, results, length * sizeof(T));
      else
         Loop(length, operands, adjoint, y + first);
   }
}

/// The loop that produces the same numbers with less arithmetic, or the given one.
template <typename T>
constexpr typename Function<T>::Loop Fastest(typename Function<T>::Loop loop)
{
   using Loop = typename Function<T>::Loop;
   constexpr Loop faster[][2] = {{MaximumLoop<T>, GreaterOfLoop<T>},
                                 {MinimumLoop<T>, SmallerOfLoop<T>},
                                 {ClampLoop<T>, BetweenLoop<T>},
                                 {RemainderLoop<T>, RestLoop<T, Rests<true, T>, RemainderLoop<T>>},
                                 {RemainderPullLoop1<T>, RestLoop<T, RestSlopes<true, T>, RemainderPullLoop1<T>>},
                                 {FmodLoop<T>, RestLoop<T, Rests<false, T>, FmodLoop<T>>}};
   for (const auto &pair : faster)
      if (loop == pair[0])
         return pair[1];
   return loop;
}

template <typename T>
constexpr Function<T> kFunctions[] = {
#define CT_ENTRY_1(F) {1, F##Loop<T>, {F##PullLoop0<T>}},
#define CT_ENTRY_LIBRARY_1(F) {1, Whole<1, T, F##Loop<T>>, {Whole<1, T, F##PullLoop0<T>>}},
#define CT_ENTRY_FLAT_1(F) {1, F##Loop<T>, {}},
#define CT_ENTRY_2(F) {2, Fastest<T>(F##Loop<T>), {F##PullLoop0<T>, Fastest<T>(F##PullLoop1<T>)}},
#define CT_ENTRY_LIBRARY_2(F) {2, Whole<2, T, F##Loop<T>>, {Whole<2, T, F##PullLoop0<T>>, Whole<2, T, F##PullLoop1<T>>}},
#define CT_ENTRY_FLAT_2(F) {2, F##Loop<T>, {}},
#define CT_ENTRY_3(F) {3, Fastest<T>(F##Loop<T>), {F##PullLoop0<T>, F##PullLoop1<T>, F##PullLoop2<T>}},
   CT_UNARY_OWN(CT_ENTRY_1) CT_UNARY_LIBRARY(CT_ENTRY_LIBRARY_1) CT_FLAT_UNARY(CT_ENTRY_FLAT_1) CT_BINARY_OWN(CT_ENTRY_2)
      CT_BINARY_LIBRARY(CT_ENTRY_LIBRARY_2) CT_FLAT(CT_ENTRY_FLAT_2) CT_TERNARY(CT_ENTRY_3)};

/// Calls body(length, operands) for operands that are all read in place, without a reader: with up to `most` elements.
template <size_t A, typename T, typename Body>
void EachBlockInPlace(size_t begin, size_t n, size_t most, const T *const *x, const ct_view *views, Body body)
{
   const T *operands[3];
   for (size_t i = 0; i < A; ++i)
      operands[i] = x[i] + views[i].offset + begin;
   for (size_t length; n; n -= length) {
      length = n < most ? n : most;
      body(length, operands);
      for (size_t i = 0; i < A; ++i)
         operands[i] += length;
   }
}

/// Calls body(length, operands) for each block of the A operands x, from element `begin` on; blocks have `most`
/// elements if all operands are read in place.
template <size_t A, typename T, typename Body>
void EachBlock(size_t begin, size_t n, size_t most, const T *const *x, const ct_view *views, Body body)
{
   constexpr size_t second = A > 1 ? 1 : 0, third = A > 2 ? 2 : 0;
   if (IsContiguous(views[0]) && IsContiguous(views[second]) && IsContiguous(views[third]))
      return EachBlockInPlace<A>(begin, n, most, x, views, body);
   const size_t block = BlockOf(views, A, begin);
   Reader<T> a(x[0], views[0], begin, block), b(x[second], views[second], begin, block),
      c(x[third], views[third], begin, block);
   for (size_t length; n; n -= length) {
      length = n < block ? n : block;
      const T *operands[3] = {a.Next(length)};
      if constexpr (A > 1)
         operands[1] = b.Next(length);
      if constexpr (A > 2)
         operands[2] = c.Next(length);
      body(length, operands);
   }
}

/// The same if the number of operands is known only at run time.
template <typename T, typename Body>
void Blocks(size_t operands, size_t begin, size_t n, size_t most, const T *const *x, const ct_view *views, Body body)
{
   switch (operands) {
   case 1: return EachBlock<1>(begin, n, most, x, views, body);
   case 2: return EachBlock<2>(begin, n, most, x, views, body);
   case 3: return EachBlock<3>(begin, n, most, x, views, body);
   }
}

/// Adds R rows of C numbers to one row with the stride `stride`: a strip of columns at a time.
template <typename T>
void AddDown(size_t R, size_t C, const T *x, T *y, size_t stride)
{
   for (size_t first = 0; first < C; first += kBlock) {
      const size_t width = C - first < kBlock ? C - first : kBlock;
      double totals[kBlock] = {};
      AddRowsTo(totals, R, width, x + first, C);
      for (size_t i = 0; i < width; ++i)
         y[(first + i) * stride] += static_cast<T>(totals[i]);
   }
}

/// Whether the rows of both views, of neighbouring elements, are as long.
inline bool HaveSameRows(const ct_view &a, const ct_view &b)
{
   return a.rank > 1 && b.rank > 1 && a.strides[a.rank - 1] == 1 && b.strides[b.rank - 1] == 1 &&
          a.sizes[a.rank - 1] == b.sizes[b.rank - 1];
}

/// Whether rows of the view are the same memory.
inline bool HasSameRow(const ct_view &view)
{
   return std::find(view.strides, view.strides + view.rank, 0) != view.strides + view.rank;
}

/// Copies rows to rows, or adds them.
template <bool kAdds, typename T>
void TransferRows(const T *x, const ct_view &view, T *y, const ct_view &target)
{
   const auto all = [&](auto length) {
      WalkTogether(RowStarts(view), RowStarts(target), [&](size_t from, size_t step, size_t to, size_t down, size_t rows) {
         for (; rows; --rows, from += step, to += down) {
            if (kAdds)
               AddRow(length, x + from, y + to);
            else
               CopyRow(length, x + from, y + to);
         }
      });
   };
   if (const size_t columns = view.sizes[view.rank - 1]; !WithShortLength(columns, all))
      all(columns);
}

/// Copies the n elements of a view of x block by block to a view of y.
template <typename T, void (Writer<T>::*Put)(size_t, const T *)>
void Transfer(size_t n, const T *x, const ct_view &view, T *y, const ct_view &target)
{
   constexpr bool adds = Put == &Writer<T>::Add;
   if (n == 0)
      return;
   if (IsContiguous(target) && IsAcross(view))
      return EachPlane(view, [&](size_t from, size_t to, const Plane &plane) {
         FromAcross<adds>(plane, x + from, y + target.offset + to);
      });
   if (IsContiguous(view) && IsAcross(target))
      return EachPlane(target, [&](size_t to, size_t from, const Plane &plane) {
         ToAcross<adds>(plane, x + view.offset + from, y + to);
      });
   if (adds && IsContiguous(view) && target.rank == 2 && target.strides[0] == 0 && target.sizes[1] > kBlock)
      return AddDown(target.sizes[0], target.sizes[1], x + view.offset, y + target.offset, target.strides[1]);
   if (HaveSameRows(view, target) && !(adds && HasSameRow(target))) // a Writer adds up in double
      return TransferRows<adds>(x, view, y, target);
   Writer<T> writer(y, target, 0);
   if (IsContiguous(view))
      return (writer.*Put)(n, x + view.offset);
   const size_t block = BlockOf(&view, 1, 0);
   Reader<T> reader(x, view, 0, block);
   if (!adds && IsContiguous(target) && !IsPeriodic(view) && !HasShortConstantRows(view))
      return reader.Gather(n, y + target.offset);
   for (size_t length; n; n -= length) {
      length = n < block ? n : block;
      (writer.*Put)(length, reader.Next(length));
   }
}

/// The number of Identity, the first of all functions.
constexpr int kIdentity = 0;

/// n contiguous elements.
inline ct_view DenseOf(size_t n)
{
   ct_view dense = {};
   dense.count = dense.extent = n;
   dense.rank = 1;
   dense.sizes[0] = n;
   dense.strides[0] = 1;
   return dense;
}

} // namespace

template <typename T>
void Map(int function, size_t begin, size_t n, const T *const *x, const ct_view *views, T *y)
{
   if (const auto dense = DenseOf(n); function == kIdentity && begin == 0 && n == views[0].count)
      return Copy(n, x[0], views, y, &dense);
   const auto &f = kFunctions<T>[function];
   Blocks(f.fArity, begin, n, n, x, views, [&](size_t length, const T *const *operands) {
      f.fForward(length, operands, nullptr, y);
      y += length;
   });
}

template <typename T>
void MapPullback(int function, size_t which, size_t n, const T *const *x, const ct_view *views,
                 const T *dy, int add, T *dx, const ct_view *target)
{
   if (const auto dense = DenseOf(n); function == kIdentity)
      return (add ? Accumulate<T> : Copy<T>)(n, dy, &dense, dx, target);
   const auto &f = kFunctions<T>[function];
   const auto pullback = f.fPullbacks[which];
   if (IsContiguous(*target)) {
      dx += target->offset;
      return Blocks(f.fArity, 0, n, add ? kBlock : n, x, views, [&](size_t length, const T *const *operands) {
         T adjoint[kBlock], *to = add ? adjoint : dx;
         pullback(length, operands, dy, to);
         for (size_t i = 0; add && i < length; ++i)
            dx[i] += adjoint[i];
         dy += length;
         dx += length;
      });
   }
   Writer<T> writer(dx, *target, 0);
   Blocks(f.fArity, 0, n, kBlock, x, views, [&](size_t length, const T *const *operands) {
      T adjoint[kBlock];
      pullback(length, operands, dy, adjoint);
      writer.Put(add, length, adjoint);
      dy += length;
   });
}

template <typename T>
void Accumulate(size_t n, const T *x, const ct_view *view, T *y, const ct_view *target)
{
   Transfer<T, &Writer<T>::Add>(n, x, *view, y, *target);
}

template <typename T>
void Copy(size_t n, const T *x, const ct_view *view, T *y, const ct_view *target)
{
   Transfer<T, &Writer<T>::Store>(n, x, *view, y, *target);
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Map(int, size_t, size_t, const T *const *, const ct_view *, T *);                                     \
   template void MapPullback(int, size_t, size_t, const T *const *, const ct_view *, const T *, int, T *,              \
                             const ct_view *);                                                                         \
   template void Accumulate(size_t, const T *, const ct_view *, T *, const ct_view *);                                 \
   template void Copy(size_t, const T *, const ct_view *, T *, const ct_view *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
