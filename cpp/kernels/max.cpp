/// \file max.cpp
/// The greatest element of each row of a strided view.
#include "kernels.hpp"
#include "rows.hpp"
#include "vector.hpp"

#include <cstdint>
#include <limits>

namespace CladTorch::Kernels {
namespace {

/// A count up to this one is exact as T.
template <typename T>
constexpr size_t kExactCount = size_t(1) << std::numeric_limits<T>::digits;

/// The greatest elements seen, side by side in K registers (or numbers) of V of them: a NaN counts as greater than all.
template <typename T, typename V, size_t K>
class Tops {
   static constexpr size_t kEach = sizeof(V) / sizeof(T);
   V fTop[K], fNaN[K];

public:
   static constexpr size_t kSide = K * kEach;

   Tops()
   {
      for (size_t k = 0; k < K; ++k) {
         fTop[k] = V{} - std::numeric_limits<T>::infinity();
         fNaN[k] = V{};
      }
   }

   void See(const T *x)
   {
      for (size_t k = 0; k < K; ++k) {
         V next;
         std::memcpy(&next, x + k * kEach, sizeof next);
         fTop[k] = Greater()(next, fTop[k]);
         fNaN[k] = next == next ? fNaN[k] : next;
      }
   }

   /// The greatest of all.
   T Max() const
   {
      V top = fTop[0], nan = fNaN[0];
      for (size_t k = 1; k < K; ++k) {
         top = Greater()(top, fTop[k]);
         nan += fNaN[k];
      }
      const T anyNaN = FoldLanes<T, kEach>(nan, [](const auto &a, const auto &b) { return a + b; });
      return anyNaN == anyNaN ? FoldLanes<T, kEach>(top, Greater()) : anyNaN;
   }

   /// Those of each side.
   void Write(T *to) const
   {
      for (size_t k = 0; k < K; ++k) {
         const V top = fNaN[k] == fNaN[k] ? fTop[k] : fNaN[k];
         std::memcpy(to + k * kEach, &top, sizeof top);
      }
   }
};

/// The greater of `top` and a row's elements.
template <typename T, typename Length>
inline T MaxOf(T top, Length n, const T *row)
{
   using Many = Tops<T, Vector<T>, 128 / kVectorBytes>;
   size_t i = 0;
   if (n >= Many::kSide) {
      Many tops;
      for (; i + Many::kSide <= n; i += Many::kSide)
         tops.See(row + i);
      const T greatest = tops.Max();
      top = greatest > top || greatest != greatest ? greatest : top;
   }
   for (; i < n; ++i)
      top = row[i] > top || row[i] != row[i] ? row[i] : top;
   return top;
}

/// y = the greatest of as many as possible of n rows of C elements, as many at a time as Tops has; returns their
/// number.
template <typename Tops, typename T>
inline size_t MaxOfSides(size_t n, size_t C, const T *x, size_t down, T *y)
{
   size_t r = 0;
   for (; r + Tops::kSide <= n; r += Tops::kSide) {
      Tops tops;
      for (size_t c = 0; c < C; ++c)
         tops.See(x + c * down + r);
      tops.Write(y + r);
   }
   return r;
}

/// y[R] = the greatest of each of R rows side by side, registers full of them at a time.
template <typename T>
void MaxSideBySide(size_t R, size_t C, const T *x, const ct_view &view, T *y)
{
   const size_t neighbours = view.sizes[view.rank - 2], down = view.strides[view.rank - 1];
   for (size_t first = 0; first < R; first += neighbours) {
      const T *from = x + Walk(view, first * C).Offset();
      size_t r = MaxOfSides<Tops<T, Vector<T>, 4>>(neighbours, C, from, down, y + first);
      r += MaxOfSides<Tops<T, Vector<T>, 1>>(neighbours - r, C, from + r, down, y + first + r);
      MaxOfSides<Tops<T, T, 1>>(neighbours - r, C, from + r, down, y + first + r);
   }
}

/// Whether equal elements share; NaNs are handled separately.
inline bool AreEven(int ties)
{
   return ties == CT_TIES_EVEN || ties == CT_TIES_EVEN_NAN;
}

/// The adjoint of an element that is not the greatest: NaN for an infinite share, as in LibTorch's amax().
template <typename T>
inline T RestOf(int ties, T share)
{
   return ties == CT_TIES_EVEN ? share * 0 : T(0);
}

/// Finds which elements of N rows side by side are the greatest of theirs, y, whose adjoint is dy; they are read twice.
template <typename T, size_t N>
class Sharing {
   int fTies;
   bool fIsNaN[N];
   T fY[N], fDy[N], fShare[N], fRest[N];
   size_t fEqual[N], fChosen[N], fSeen = 0, fGiven = 0;

public:
   Sharing(int ties, const T *y, const T *dy) : fTies(ties)
   {
      for (size_t s = 0; s < N; ++s) {
         fIsNaN[s] = y[s] != y[s];
         fY[s] = y[s];
         fDy[s] = dy[s];
         fEqual[s] = fChosen[s] = 0;
      }
   }

   /// The next element of each row.
   void See(const T *x)
   {
      for (size_t s = 0; s < N; ++s) { // selects: the place of the greatest cannot be predicted
         const bool here = fIsNaN[s] ? x[s] != x[s] : x[s] == fY[s];
         fChosen[s] = here & ((fIsNaN[s] & (fTies == CT_TIES_FIRST)) | (fEqual[s] == 0)) ? fSeen : fChosen[s];
         fEqual[s] += here;
      }
      ++fSeen;
   }

   /// Called after all elements have been seen.
   void Share()
   {
      // LibTorch's amax() compares with ==, so that even shares of a NaN are 0 / 0.
      for (size_t s = 0; s < N; ++s) {
         fShare[s] = fIsNaN[s] && fTies == CT_TIES_EVEN ? std::numeric_limits<T>::quiet_NaN() : fDy[s] / static_cast<T>(fEqual[s]);
         fRest[s] = RestOf(fTies, fShare[s]);
      }
   }

   void Give(const T *x, T *adjoint)
   {
      if (AreEven(fTies))
         for (size_t s = 0; s < N; ++s)
            adjoint[s] = (fIsNaN[s] ? x[s] != x[s] : x[s] == fY[s]) ? fShare[s] : fRest[s];
      else
         for (size_t s = 0; s < N; ++s)
            adjoint[s] = fGiven == fChosen[s] ? fDy[s] : T(0);
      ++fGiven;
   }
};

template <typename T>
inline bool AnyNaN(size_t n, const T *y)
{
   bool any = false;
   for (size_t r = 0; r < n; ++r)
      any |= y[r] != y[r];
   return any;
}

/// The number of n numbers that are `top`.
template <typename T>
inline size_t CountOf(size_t n, const T *x, T top)
{
   std::uint32_t count = 0; // of a block
   for (size_t i = 0; i < n; ++i)
      count += x[i] == top;
   return count;
}

/// adjoint[n] = `share` where x is `top`, otherwise `rest`.
template <typename T>
inline void GiveShare(size_t n, const T *x, T top, T share, T rest, T *adjoint)
{
   for (size_t i = 0; i < n; ++i)
      adjoint[i] = x[i] == top ? share : rest;
}

/// dy[r] goes to the first element of row r, n elements of x, that equals y[r], which is not NaN.
template <typename T, typename Length>
inline void GiveToFirst(Length n, size_t rows, const T *x, const T *y, const T *dy, T *adjoint)
{
   for (size_t r = 0; r < rows; ++r) {
      T left = dy[r];
      for (size_t i = 0; i < n; ++i) {
         const bool here = x[r * n + i] == y[r];
         adjoint[r * n + i] = here ? left : T(0);
         left = here ? T(0) : left;
      }
   }
}

/// C elements of each of n <= kBlock rows side by side, `down` apart, with the greatest of each row, which is not NaN,
/// and its adjoint; the target of their own adjoints, `targetDown` apart.
template <typename T>
struct Beside {
   int fTies;
   size_t fN, fC;
   const T *fX;
   size_t fDown;
   const T *fY, *fDy;
   T *fDx;
   size_t fTargetDown;
};

/// GiveToFirst() of rows side by side.
template <bool Add, typename T>
__attribute__((noinline)) void GiveToFirstBeside(const Beside<T> &rows)
{
   T left[kBlock];
   std::memcpy(left, rows.fDy, rows.fN * sizeof(T));
   for (size_t c = 0; c < rows.fC; ++c) {
      const T *x = rows.fX + c * rows.fDown, *top = rows.fY;
      T *dx = rows.fDx + c * rows.fTargetDown;
      CT_ELEMENTWISE
      for (size_t i = 0; i < rows.fN; ++i) {
         const bool here = x[i] == top[i];
         const T given = here ? left[i] : T(0);
         dx[i] = Add ? dx[i] + given : given;
         left[i] = here ? T(0) : left[i];
      }
   }
}

/// Even shares for rows side by side: see Sharing. Their counts are exact as T.
template <bool Add, typename T>
__attribute__((noinline)) void GiveEvenlyBeside(const Beside<T> &rows)
{
   T shares[kBlock] = {}, rests[kBlock];
   const T *top = rows.fY;
   for (size_t c = 0; c < rows.fC; ++c) {
      const T *x = rows.fX + c * rows.fDown;
      CT_ELEMENTWISE
      for (size_t i = 0; i < rows.fN; ++i)
         shares[i] += x[i] == top[i] ? T(1) : T(0);
   }
   for (size_t i = 0; i < rows.fN; ++i) {
      shares[i] = rows.fDy[i] / shares[i];
      rests[i] = RestOf(rows.fTies, shares[i]);
   }
   for (size_t c = 0; c < rows.fC; ++c) {
      const T *x = rows.fX + c * rows.fDown;
      T *dx = rows.fDx + c * rows.fTargetDown;
      CT_ELEMENTWISE
      for (size_t i = 0; i < rows.fN; ++i) {
         const T given = x[i] == top[i] ? shares[i] : rests[i];
         dx[i] = (Add ? dx[i] : T(0)) + given;
      }
   }
}

/// See MaxPullback(); for N of the rows side by side, beginning with row `first`, if the greatest of some is a NaN.
template <bool Add, size_t N, typename T>
void GivenSideBySide(int ties, size_t first, size_t C, const T *x, const ct_view &view, const T *y, const T *dy, T *dx,
                     const ct_view &target)
{
   const size_t down = view.strides[view.rank - 1], targetDown = target.strides[target.rank - 1];
   const T *from = x + Walk(view, first * C).Offset();
   T *to = dx + Walk(target, first * C).Offset(), adjoint[N];
   Sharing<T, N> sharing(ties, y + first, dy + first);
   for (size_t c = 0; c < C; ++c)
      sharing.See(from + c * down);
   sharing.Share();
   for (size_t c = 0; c < C; ++c) {
      sharing.Give(from + c * down, adjoint);
      for (size_t s = 0; s < N; ++s)
         to[c * targetDown + s] = (Add ? to[c * targetDown + s] : T(0)) + adjoint[s];
   }
}

template <bool Add, typename T>
void GivenToAll(int ties, size_t R, size_t C, const T *x, const ct_view &view, const T *y, const T *dy, T *dx,
                const ct_view &target)
{
   constexpr size_t side = 16;
   const size_t neighbours = view.sizes[view.rank - 2];
   for (size_t start = 0; start < R; start += neighbours)
      for (size_t r = 0, n; r < neighbours; r += n) {
         const size_t first = start + r;
         n = neighbours - r < kBlock ? neighbours - r : kBlock;
         if (!AnyNaN(n, y + first) && C <= kExactCount<T>) {
            const T *from = x + Walk(view, first * C).Offset();
            T *to = dx + Walk(target, first * C).Offset();
            const Beside<T> rows = {ties, n, C, from, view.strides[view.rank - 1], y + first, dy + first, to, target.strides[target.rank - 1]};
            (AreEven(ties) ? GiveEvenlyBeside<Add, T> : GiveToFirstBeside<Add, T>)(rows);
            continue;
         }
         n = n < side ? 1 : side;
         (n == 1 ? GivenSideBySide<Add, 1, T> : GivenSideBySide<Add, side, T>)(ties, first, C, x, view, y, dy, dx, target);
      }
}

} // namespace

/// y[R] = the greatest of each row; a NaN counts as greater than all.
template <typename T>
void Max(size_t R, size_t C, const T *x, const ct_view *view, T *y)
{
   constexpr T least = -std::numeric_limits<T>::infinity();
   if (AreSideBySide(*view, C))
      return MaxSideBySide(R, C, x, *view, y);
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         for (size_t r = 0; r < rows; ++r)
            y[first + r] = MaxOf(least, length, block + r * length);
      });
   if (IsContiguous(*view)) {
      for (size_t r = 0; r < R; ++r)
         y[r] = MaxOf(least, C, x + view->offset + r * C);
      return;
   }
   Reader<T> reader(x, *view, 0);
   for (size_t r = 0; r < R; ++r) {
      y[r] = least;
      EachBlock(reader, C, [&](size_t n, const T *row) { y[r] = MaxOf(y[r], n, row); });
   }
}

/// dx (add: +)= dy given to the greatest elements of a row, as `ties` says.
template <typename T>
void MaxPullback(int ties, size_t R, size_t C, const T *x, const ct_view *view, const T *y, const T *dy, int add,
                      T *dx, const ct_view *target)
{
   if (AreSideBySide(*view, C) && AreSideBySide(*target, C) &&
       view->sizes[view->rank - 2] == target->sizes[target->rank - 2])
      return (add ? GivenToAll<true, T> : GivenToAll<false, T>)(ties, R, C, x, *view, y, dy, dx, *target);
   Writer<T> writer(dx, *target, 0);
   T adjoint[kBlock];
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         const bool isPlain = !AnyNaN(rows, y + first);
         if (isPlain && !AreEven(ties))
            GiveToFirst(length, rows, block, y + first, dy + first, adjoint);
         else if (isPlain)
            for (size_t r = 0; r < rows; ++r) {
               const T *row = block + r * length, top = y[first + r];
               const T share = dy[first + r] / static_cast<T>(CountOf<T>(length, row, top));
               GiveShare<T>(length, row, top, share, RestOf(ties, share), adjoint + r * length);
            }
         for (size_t r = 0; !isPlain && r < rows; ++r) {
            Sharing<T, 1> sharing(ties, y + first + r, dy + first + r);
            for (size_t i = 0; i < length; ++i)
               sharing.See(block + r * length + i);
            sharing.Share();
            for (size_t i = 0; i < length; ++i)
               sharing.Give(block + r * length + i, adjoint + r * length + i);
         }
         writer.Put(add, rows * length, adjoint);
      });
   Reader<T> seen(x, *view, 0), given(x, *view, 0);
   for (size_t r = 0; r < R; ++r) {
      if (AreEven(ties) && y[r] == y[r]) {
         size_t count = 0;
         EachBlock(seen, C, [&](size_t n, const T *row) { count += CountOf(n, row, y[r]); });
         const T share = dy[r] / static_cast<T>(count);
         EachBlock(given, C, [&](size_t n, const T *row) {
            GiveShare(n, row, y[r], share, RestOf(ties, share), adjoint);
            writer.Put(add, n, adjoint);
         });
         continue;
      }
      Sharing<T, 1> sharing(ties, y + r, dy + r);
      EachBlock(seen, C, [&](size_t n, const T *row) {
         for (size_t i = 0; i < n; ++i)
            sharing.See(row + i);
      });
      sharing.Share();
      EachBlock(given, C, [&](size_t n, const T *row) {
         for (size_t i = 0; i < n; ++i)
            sharing.Give(row + i, adjoint + i);
         writer.Put(add, n, adjoint);
      });
   }
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Max(size_t, size_t, const T *, const ct_view *, T *);                                                 \
   template void MaxPullback(int, size_t, size_t, const T *, const ct_view *, const T *, const T *, int, T *,          \
                                  const ct_view *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
