/// \file device.hpp
/// What the kernels of the back end cuda are made of: loops over a grid, teams that fold rows, tiles of products. No two threads
/// write one element, and every sum has a fixed order: the same bits from run to run. Where the order of additions is free,
/// threads fold every blockDim.x-th element and a tree joins them. `Index` is wide enough for all sizes of a program.
#pragma once
#include "operators.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace CladTorch::Device {

/// Four neighbours, read and written at once.
struct alignas(16) Quad {
   float f[4];
};

/// body(i) for each of n elements.
template <typename Index, typename Body>
inline void Each(Index n, Body body)
{
   for (Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += Index(gridDim.x) * blockDim.x)
      body(i);
}

/// to = value, or to += value.
template <bool Add, typename T, typename V>
inline void Put(T &to, V value)
{
   to = static_cast<T>(Add ? static_cast<V>(to) + value : value);
}

/// A row for each thread.
struct Alone {
   static unsigned First() { return blockIdx.x * blockDim.x + threadIdx.x; }
   static unsigned Stride() { return gridDim.x * blockDim.x; }
   static unsigned Rank() { return 0; }
   static unsigned Size() { return 1; }
   template <typename V, typename Join>
   static V Joined(V own, Join)
   {
      return own;
   }
};

/// A row for each block, of a power of two threads, 512 at most.
struct Block {
   static unsigned First() { return blockIdx.x; }
   static unsigned Stride() { return gridDim.x; }
   static unsigned Rank() { return threadIdx.x; }
   static unsigned Size() { return blockDim.x; }
   /// What the threads' own values give together; all of them call it.
   template <typename V, typename Join>
   static V Joined(V own, Join join)
   {
      __shared__ V values[512];
      values[threadIdx.x] = own;
      __syncthreads();
      for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
         if (threadIdx.x < half)
            values[threadIdx.x] = join(values[threadIdx.x], values[threadIdx.x + half]);
         __syncthreads();
      }
      const V all = values[0];
      __syncthreads(); // before the next call writes
      return all;
   }
};

/// body(r) for each of n rows, by the row's team.
template <typename Team, typename Index, typename Body>
inline void EachRow(Index n, Body body)
{
   for (Index r = Team::First(); r < n; r += Team::Stride())
      body(r);
}

/// body(c) for each of n elements of a row.
template <typename Team, typename Index, typename Body>
inline void EachColumn(Index n, Body body)
{
   for (Index c = Team::Rank(); c < n; c += Team::Size())
      body(c);
}

/// none joined with term(c) for each of n elements of a row.
template <typename Team, typename V, typename Index, typename Term, typename Join>
inline V Fold(V none, Index n, Term term, Join join)
{
   V own = none;
   EachColumn<Team>(n, [&](Index c) { own = join(own, static_cast<V>(term(c))); });
   return Team::Joined(own, join);
}

template <typename Team, typename V, typename Index, typename Term>
inline V Sum(Index n, Term term)
{
   return Fold<Team>(V(0), n, term, [](V a, V b) { return a + b; });
}

/// put(o, sum over d of term(o, d)) for each of n results.
template <typename Team, typename T, typename Index, typename Term, typename Writer>
inline void Sums(Index n, Index terms, Term term, Writer put)
{
   EachRow<Team>(n, [&](Index o) {
      const T sum = Sum<Team, T>(terms, [&](Index d) { return term(o, d); });
      if (Team::Rank() == 0)
         put(o, sum);
   });
}

/// y[R] = the greatest element of each row; a NaN counts as greater than all.
template <typename Team, typename T, typename Index, typename X>
inline void Max(Index R, Index C, X x, T *y)
{
   EachRow<Team>(R, [&](Index r) {
      const T top = Fold<Team>(
         -std::numeric_limits<T>::infinity(), C, [&](Index c) { return x(r, c); },
         [](T a, T b) { return a != a ? a : b > a || b != b ? b : a; });
      if (Team::Rank() == 0)
         y[r] = top;
   });
}

/// Gives dy[R] to the greatest elements of each row, y[R]: to all of them in equal shares, or to the first one (with Last, of NaN
/// to the last one). With Lost nothing but NaN comes of a NaN, and the others get 0 times the share.
template <typename Team, bool Even, bool Last, bool Lost, typename T, typename Index, typename X, typename Writer>
inline void MaxPullback(Index R, Index C, X x, const T *y, const T *dy, Writer put)
{
   EachRow<Team>(R, [&](Index r) {
      const T top = y[r], given = dy[r];
      const bool isNaN = top != top;
      const auto here = [&](Index c) {
         const T element = x(r, c);
         return isNaN ? element != element : element == top;
      };
      if (Even) {
         const Index equal = Sum<Team, Index>(C, [&](Index c) { return here(c) ? 1 : 0; });
         const T share = isNaN && Lost ? std::numeric_limits<T>::quiet_NaN() : given / static_cast<T>(equal);
         const T rest = Lost ? share * 0 : T(0);
         EachColumn<Team>(C, [&](Index c) { put(r, c, here(c) ? share : rest); });
         return;
      }
      const bool last = isNaN && Last;
      const Index chosen = Fold<Team>(
         last ? Index(0) : C, C, [&](Index c) { return here(c) ? c : last ? Index(0) : C; },
         [=](Index a, Index b) { return (a < b) != last ? a : b; });
      EachColumn<Team>(C, [&](Index c) { put(r, c, c == chosen ? given : T(0)); });
   });
}

/// y[R] = the root of the sum of the squares of each row, which are summed in double.
template <typename Team, typename T, typename Index, typename X>
inline void Length(Index R, Index C, X x, T *y)
{
   EachRow<Team>(R, [&](Index r) {
      const double sum = Sum<Team, double>(C, [&](Index c) { return double(x(r, c)) * double(x(r, c)); });
      if (Team::Rank() == 0)
         y[r] = static_cast<T>(std::sqrt(sum));
   });
}

/// put(r, c, exp(x) / its row's sum), or the logarithm of that.
template <typename Team, bool Logarithm, typename T, typename Index, typename X, typename Writer>
inline void Softmax(Index R, Index C, X x, Writer put)
{
   EachRow<Team>(R, [&](Index r) {
      const T top = Fold<Team>(
         -std::numeric_limits<T>::infinity(), C, [&](Index c) { return x(r, c); },
         [](T a, T b) { return b > a ? b : a; }); // a NaN is none
      const T sum = Sum<Team, T>(C, [&](Index c) { return Kernels::Exp(x(r, c) - top); });
      const T shift = Logarithm ? std::log(sum) : T(0), factor = 1 / sum;
      EachColumn<Team>(C, [&](Index c) {
         put(r, c, Logarithm ? (x(r, c) - top) - shift : Kernels::Exp(x(r, c) - top) * factor);
      });
   });
}

template <typename Team, bool Logarithm, typename T, typename Index, typename Y, typename Dy, typename Writer>
inline void SoftmaxPullback(Index R, Index C, Y y, Dy dy, Writer put)
{
   EachRow<Team>(R, [&](Index r) {
      const T sum = Sum<Team, T>(C, [&](Index c) { return Logarithm ? dy(r, c) : dy(r, c) * y(r, c); });
      EachColumn<Team>(C, [&](Index c) {
         put(r, c, Logarithm ? dy(r, c) - Kernels::Exp(y(r, c)) * sum : y(r, c) * (dy(r, c) - sum));
      });
   });
}

/// Mean and reciprocal deviation of a row.
template <typename Team, typename T>
struct Moments {
   T fMean, fFactor;

   template <typename Index, typename X>
   Moments(Index C, T eps, X x)
   {
      const T mean = Sum<Team, T>(C, x) / static_cast<T>(C);
      const T squares = Sum<Team, T>(C, [&](Index c) { return (x(c) - mean) * (x(c) - mean); });
      fMean = mean;
      fFactor = 1 / std::sqrt(squares / static_cast<T>(C) + eps);
   }
};

/// y[R,C] = (x - mean) / sqrt(variance + eps) * w[C] + b[C], each row by its own mean and variance.
template <typename Team, typename T, typename Index>
inline void Normalise(Index R, Index C, T eps, const T *x, const T *w, const T *b, T *y)
{
   EachRow<Team>(R, [&](Index r) {
      const T *const row = x + r * C;
      const Moments<Team, T> m(C, eps, [&](Index c) { return row[c]; });
      EachColumn<Team>(C, [&](Index c) { y[r * C + c] = (row[c] - m.fMean) * m.fFactor * w[c] + b[c]; });
   });
}

/// dx[R,C] (Add: +)= the pullback of Normalise.
template <typename Team, bool Add, typename T, typename Index>
inline void NormalisePullback(Index R, Index C, T eps, const T *x, const T *w, const T *dy, T *dx)
{
   EachRow<Team>(R, [&](Index r) {
      const T *const row = x + r * C, *const d = dy + r * C;
      const Moments<Team, T> m(C, eps, [&](Index c) { return row[c]; });
      const T shift = Sum<Team, T>(C, [&](Index c) { return d[c] * w[c]; }) / static_cast<T>(C);
      const T slope =
         Sum<Team, T>(C, [&](Index c) { return d[c] * w[c] * ((row[c] - m.fMean) * m.fFactor); }) / static_cast<T>(C);
      EachColumn<Team>(C, [&](Index c) {
         Put<Add>(dx[r * C + c], m.fFactor * (d[c] * w[c] - shift - (row[c] - m.fMean) * m.fFactor * slope));
      });
   });
}

/// moments[R,2] = mean and reciprocal deviation of each row.
template <typename Team, typename T, typename Index>
inline void RowMoments(Index R, Index C, T eps, const T *x, T *moments)
{
   EachRow<Team>(R, [&](Index r) {
      const Moments<Team, T> m(C, eps, [&](Index c) { return x[r * C + c]; });
      if (Team::Rank() == 0) {
         moments[2 * r] = m.fMean;
         moments[2 * r + 1] = m.fFactor;
      }
   });
}

/// Where element j of a channel lies in a batch [rows, channels, side].
template <typename Index>
inline Index InChannel(Index channels, Index side, Index channel, Index j)
{
   return (j / side * channels + channel) * side + j % side;
}

/// value[2, channels] = mean and root mean squared deviation of the `count` elements of each channel.
template <typename Team, typename T, typename Index>
inline void ChannelMoments(Index channels, Index side, Index count, const T *x, T *value)
{
   EachRow<Team>(channels, [&](Index k) {
      const auto at = [&](Index j) { return double(x[InChannel(channels, side, k, j)]); };
      const double mean = Sum<Team, double>(count, at) / double(count);
      const double squares = Sum<Team, double>(count, [&](Index j) { return (at(j) - mean) * (at(j) - mean); });
      if (Team::Rank() == 0) {
         value[k] = static_cast<T>(mean);
         value[channels + k] = static_cast<T>(std::sqrt(squares / double(count)));
      }
   });
}

/// What a channel is scaled by.
template <typename T>
inline double FactorOf(T deviation, T eps)
{
   return 1 / std::sqrt(double(deviation) * double(deviation) + double(eps));
}

/// sums[2, channels] = for each channel the sums of dy and of dy times the standardised x.
template <typename Team, typename T, typename Index>
inline void StandardiseSums(Index channels, Index side, Index count, T eps, const T *x, const T *moments, const T *dy,
                            double *sums)
{
   EachRow<Team>(channels, [&](Index k) {
      const double mean = moments[k], factor = FactorOf(moments[channels + k], eps);
      const double shift =
         Sum<Team, double>(count, [&](Index j) { return dy[InChannel(channels, side, k, j)]; });
      const double slope = Sum<Team, double>(count, [&](Index j) {
         const Index i = InChannel(channels, side, k, j);
         return double(dy[i]) * ((double(x[i]) - mean) * factor);
      });
      if (Team::Rank() == 0) {
         sums[k] = shift;
         sums[channels + k] = slope;
      }
   });
}

/// dx of element i, of channel k, from StandardiseSums().
template <typename T, typename Index>
inline T StandardiseSlope(Index channels, Index count, T eps, Index k, T x, const T *moments, const T *w, T dy,
                          const double *sums)
{
   const double factor = FactorOf(moments[channels + k], eps);
   const T scale = static_cast<T>(factor * double(w[k]));
   const T shift = static_cast<T>(sums[k] / double(count)), slope = static_cast<T>(factor * sums[channels + k] / double(count));
   return scale * (dy - shift - (x - moments[k]) * slope);
}

/// Whether element i of a row stands before element j. A NaN is greater than all numbers; equals stand as in the row.
template <bool Descending, typename T, typename Index>
inline bool Precedes(T a, Index i, T b, Index j)
{
   if (Descending ? a > b || (a != a && b == b) : a < b || (a == a && b != b))
      return true;
   if (Descending ? b > a || (b != b && a == a) : b < a || (b == b && a != a))
      return false;
   return i < j;
}

/// Puts the places[K] of a row's first elements, which stand in their order, where LibTorch's topk on GPUs puts them unless it is to
/// sort them (gatherTopK in ATen/native/cuda/TensorTopK.cu): those of elements that equal the last one last, else as in the row.
template <typename T, typename Index, typename X>
inline void Unsort(Index K, X x, T *places)
{
   const T last = x(places[K - 1]);
   const auto isLast = [=](T place) {
      const T own = x(place);
      return own == last || (own != own && last != last);
   };
   for (Index i = 1; i < K; ++i) {
      const T place = places[i];
      const bool own = isLast(place);
      Index to = i;
      for (; to > 0; --to) {
         const T before = places[to - 1];
         const bool other = isLast(before);
         if (other == own ? before < place : own)
            break;
         places[to] = before;
      }
      places[to] = place;
   }
}

inline int64_t Integer(int64_t index)
{
   return index;
}

/// What is no int64 (NaN, too) is one that is out of range.
template <typename T>
inline int64_t Integer(T index)
{
   constexpr T kBound = T(int64_t(1) << 62);
   return index > -kBound && index < kBound ? static_cast<int64_t>(index) : std::numeric_limits<int64_t>::min();
}

/// Where among `size` elements an index picks; -2 where it is out of range.
inline int64_t PlaceOf(int64_t at, int64_t size, bool fromEnd)
{
   if (at < 0 && fromEnd)
      at += size;
   return at < 0 || at >= size ? -2 : at;
}

/// put(b, s, i, j, sum over k of a(b, i, k) b(b, k, j)) for each of `batches` products [M,K] x [K,N], the terms of part s alone:
/// `length` of them, or what is left. 256 threads make tiles of 16 R by 16 C elements. AlongRows says for each factor
/// whether neighbours in memory are those in a row.
template <unsigned R, unsigned C, bool AlongRowsA, bool AlongRowsB, typename T, typename Index, typename A, typename B, typename Writer>
inline void Products(Index batches, Index splits, Index length, Index M, Index N, Index K, A a, B b, Writer put)
{
   constexpr unsigned kSide = 16, kDepth = 16, kRows = kSide * R, kColumns = kSide * C;
   __shared__ T left[kDepth][kRows + 1], right[kDepth][kColumns + 1];
   const unsigned t = threadIdx.x, x = t % kSide, y = t / kSide;
   const Index down = (M + kRows - 1) / kRows, across = (N + kColumns - 1) / kColumns;
   for (Index tile = blockIdx.x; tile < batches * splits * down * across; tile += gridDim.x) {
      const Index row = tile / across % down * kRows, column = tile % across * kColumns;
      const Index split = tile / (across * down) % splits, batch = tile / (across * down * splits);
      const Index end = (split + 1) * length < K ? (split + 1) * length : K;
      T sums[R][C] = {};
      for (Index first = split * length; first < end; first += kDepth) {
         for (unsigned e = t; e < kDepth * kRows; e += kSide * kSide) {
            const unsigned k = AlongRowsA ? e % kDepth : e / kRows, i = AlongRowsA ? e / kDepth : e % kRows;
            left[k][i] = row + i < M && first + k < end ? a(batch, row + i, first + k) : T(0);
         }
         for (unsigned e = t; e < kDepth * kColumns; e += kSide * kSide) {
            const unsigned k = AlongRowsB ? e / kColumns : e % kDepth, j = AlongRowsB ? e % kColumns : e / kDepth;
            right[k][j] = column + j < N && first + k < end ? b(batch, first + k, column + j) : T(0);
         }
         __syncthreads();
         for (unsigned k = 0; k < kDepth; ++k)
            for (unsigned r = 0; r < R; ++r)
               for (unsigned c = 0; c < C; ++c)
                  sums[r][c] = std::fma(left[k][y + r * kSide], right[k][x + c * kSide], sums[r][c]);
         __syncthreads();
      }
      for (unsigned r = 0; r < R; ++r)
         for (unsigned c = 0; c < C; ++c)
            if (row + y + r * kSide < M && column + x + c * kSide < N)
               put(batch, split, Index(row + y + r * kSide), Index(column + x + c * kSide), sums[r][c]);
   }
}

} // namespace CladTorch::Device
