/// \file max.cpp
/// The greatest element of each row of a strided view.
#include "kernels.hpp"
#include "rows.hpp"
#include "vector.hpp"

#include <limits>

namespace CladTorch::Kernels {
namespace {

/// The greatest elements, side by side in K registers (or numbers) V of them, of what passes by: a NaN counts as greater than all.
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

/// y = the greatest of as many as possible of n rows of C elements, as many at a time as Tops has; returns how many.
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
void MaxSideBySide(size_t R, size_t C, const T *x, const ct_stream &view, T *y)
{
   const size_t neighbours = view.sizes[view.rank - 2], down = view.strides[view.rank - 1];
   for (size_t first = 0; first < R; first += neighbours) {
      const T *from = x + Walk(view, first * C).Offset();
      size_t r = MaxOfSides<Tops<T, Vector<T>, 4>>(neighbours, C, from, down, y + first);
      r += MaxOfSides<Tops<T, Vector<T>, 1>>(neighbours - r, C, from + r, down, y + first + r);
      MaxOfSides<Tops<T, T, 1>>(neighbours - r, C, from + r, down, y + first + r);
   }
}

/// Which elements of N rows side by side are the greatest of theirs, y, whose adjoint is dy; they are seen twice.
template <typename T, size_t N>
class Sharing {
   int fTies;
   bool fIsNaN[N];
   T fY[N], fDy[N], fShare[N];
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
      for (size_t s = 0; s < N; ++s) { // selects: where the greatest one is cannot be predicted
         const bool here = fIsNaN[s] ? x[s] != x[s] : x[s] == fY[s];
         fChosen[s] = here & ((fIsNaN[s] & (fTies == CT_TIES_FIRST)) | (fEqual[s] == 0)) ? fSeen : fChosen[s];
         fEqual[s] += here;
      }
      ++fSeen;
   }

   /// After all have been seen.
   void Share()
   {
      // LibTorch's amax() compares with ==, so that even shares of a NaN are 0 / 0.
      for (size_t s = 0; s < N; ++s)
         fShare[s] = fIsNaN[s] && fTies == CT_TIES_EVEN ? std::numeric_limits<T>::quiet_NaN() : fDy[s] / static_cast<T>(fEqual[s]);
   }

   void Give(const T *x, T *adjoint)
   {
      // Times 0 where nothing is given: LibTorch's share of an infinite adjoint is no number there.
      if (fTies == CT_TIES_EVEN || fTies == CT_TIES_EVEN_NAN)
         for (size_t s = 0; s < N; ++s)
            adjoint[s] = fShare[s] * T((fIsNaN[s] ? x[s] != x[s] : x[s] == fY[s]) ? 1 : 0);
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

/// dy[r] goes to the first element of row r, n elements of x, that equals y[r], which is no NaN.
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

/// The same of a register of rows side by side, whose elements are `down` apart and their adjoints `targetDown`.
template <bool Add, typename T>
inline void GiveToFirstSideBySide(size_t C, const T *x, size_t down, const T *y, const T *dy, T *dx, size_t targetDown)
{
   const Vector<T> top = Load(y), none = {};
   Vector<T> left = Load(dy);
   for (size_t c = 0; c < C; ++c) {
      const auto here = Load(x + c * down) == top;
      const Vector<T> given = here ? left : none;
      Store(Add ? Load(dx + c * targetDown) + given : given, dx + c * targetDown);
      left = here ? none : left;
   }
}

/// See MaxPullback(); N of the rows side by side, the first of which is number `first`.
template <bool Add, size_t N, typename T>
void GivenSideBySide(int ties, size_t first, size_t C, const T *x, const ct_stream &view, const T *y, const T *dy, T *dx,
                     const ct_stream &target)
{
   const size_t down = view.strides[view.rank - 1], targetDown = target.strides[target.rank - 1];
   const T *from = x + Walk(view, first * C).Offset();
   T *to = dx + Walk(target, first * C).Offset(), adjoint[N];
   constexpr size_t L = kLanes<T>;
   if (N % L == 0 && ties == CT_TIES_FIRST && !AnyNaN(N, y + first)) {
      for (size_t s = 0; s < N; s += L)
         GiveToFirstSideBySide<Add>(C, from + s, down, y + first + s, dy + first + s, to + s, targetDown);
      return;
   }
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
void GivenToAll(int ties, size_t R, size_t C, const T *x, const ct_stream &view, const T *y, const T *dy, T *dx,
                const ct_stream &target)
{
   constexpr size_t side = 16;
   const size_t neighbours = view.sizes[view.rank - 2];
   for (size_t start = 0; start < R; start += neighbours) {
      size_t r = 0;
      for (; r + side <= neighbours; r += side)
         GivenSideBySide<Add, side>(ties, start + r, C, x, view, y, dy, dx, target);
      for (; r < neighbours; ++r)
         GivenSideBySide<Add, 1>(ties, start + r, C, x, view, y, dy, dx, target);
   }
}

} // namespace

/// y[R] = the greatest of each row; a NaN counts as greater than all.
template <typename T>
void Max(size_t R, size_t C, const T *x, const ct_stream *view, T *y)
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
void MaxPullback(int ties, size_t R, size_t C, const T *x, const ct_stream *view, const T *y, const T *dy, int add,
                      T *dx, const ct_stream *target)
{
   if (AreSideBySide(*view, C) && AreSideBySide(*target, C) &&
       view->sizes[view->rank - 2] == target->sizes[target->rank - 2])
      return (add ? GivenToAll<true, T> : GivenToAll<false, T>)(ties, R, C, x, *view, y, dy, dx, *target);
   Writer<T> writer(dx, *target, 0);
   T adjoint[kBlock];
   if (C > 0 && C <= kBlock)
      return EachShortRows(R, C, x, *view, [&](auto length, size_t first, size_t rows, const T *block) {
         const bool isPlain = ties == CT_TIES_FIRST && !AnyNaN(rows, y + first);
         if (isPlain)
            GiveToFirst(length, rows, block, y + first, dy + first, adjoint);
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
   template void Max(size_t, size_t, const T *, const ct_stream *, T *);                                               \
   template void MaxPullback(int, size_t, size_t, const T *, const ct_stream *, const T *, const T *, int, T *,        \
                                  const ct_stream *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
