/// \file convolve.cpp
/// Convolution along one dimension, and its pullbacks, as products of matrices, one of which is never stored: its row
/// for channel i and tap k is the signal of channel i, shifted by k.
#include "kernels.hpp"
#include "tile.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace CladTorch::Kernels {
namespace {

/// Rows of the second factor that are laid out at once if they cannot be read in place.
constexpr size_t kDepth = 128;

/// The first factor: element (m, i, k) for row, channel and tap.
template <typename T>
struct Weights {
   const T *fData;
   size_t fRow, fChannel;

   Weights From(size_t row, size_t channel, size_t tap) const
   {
      return {fData + row * fRow + channel * fChannel + tap, fRow, fChannel};
   }
};

/// The second factor: rows `fChannel` apart for each channel, and `fTap` apart for each tap.
template <typename T>
struct Rows {
   const T *fData;
   size_t fChannels, fChannel, fTaps;
   std::ptrdiff_t fTap;
};

/// The initial values of the sums: nothing, a number for each row of the result, or the result.
enum class Begin { kZero, kBias, kResult };

/// A stripe of the result, two registers wide or one; the second one stands `fSecond` columns behind the first.
template <typename T, size_t W>
struct Stripe {
   Weights<T> fWeights;
   Rows<T> fRows;
   Begin fBegin;
   const T *fBias;
   T *fResult;
   size_t fRow, fSecond;

   template <size_t R>
   void Run(size_t first) const
   {
      Tile<T, R, W> tile{};
      if (fBegin == Begin::kResult)
         tile.Load(fResult + first * fRow, fRow, fSecond);
      if (fBegin == Begin::kBias)
         for (size_t r = 0; r < R; ++r)
            for (size_t h = 0; h < W; ++h)
               tile.fSums[r][h] += fBias[first + r];
      for (size_t i = 0; i < fRows.fChannels; ++i) {
         const auto weights = fWeights.From(first, i, 0);
         tile.Multiply(fRows.fTaps, weights.fData, weights.fRow, 1, fRows.fData + i * fRows.fChannel, fRows.fTap, fSecond);
      }
      tile.Store(fResult + first * fRow, fRow, fSecond);
   }
};

/// `columns` columns of the result, from one register to two.
template <typename T>
void Whole(size_t M, size_t columns, Weights<T> weights, Rows<T> rows, Begin begin, const T *bias, T *result, size_t row)
{
   constexpr size_t L = kLanes<T>;
   if (columns == L)
      RunTiles(M, Stripe<T, 1>{weights, rows, begin, bias, result, row, 0});
   else
      RunTiles(M, Stripe<T, 2>{weights, rows, begin, bias, result, row, columns - L});
}

/// The same for less than a register of columns; the columns of the rows are padded.
template <typename T>
void Cut(size_t M, size_t columns, Weights<T> weights, Rows<T> rows, Begin begin, const T *bias, T *result, size_t row)
{
   constexpr size_t L = kLanes<T>;
   T block[kTileRows * L] = {};
   for (size_t m = 0; m < M; m += kTileRows) {
      const size_t there = std::min(M - m, kTileRows);
      for (size_t r = 0; begin == Begin::kResult && r < there; ++r)
         std::memcpy(block + r * L, result + (m + r) * row, columns * sizeof(T));
      const T *own = bias ? bias + m : nullptr;
      RunTiles(there, Stripe<T, 1>{weights.From(m, 0, 0), rows, begin, own, block, L, 0});
      for (size_t r = 0; r < there; ++r)
         std::memcpy(result + (m + r) * row, block + r * L, columns * sizeof(T));
   }
}

/// Columns of a matrix, `columns` at most two registers, with rows that were laid out.
template <typename T>
void LaidOut(size_t M, size_t columns, Weights<T> weights, Rows<T> rows, Begin begin, const T *bias, T *result, size_t row)
{
   if (columns < kLanes<T>)
      Cut(M, columns, weights, rows, begin, bias, result, row);
   else
      Whole(M, columns, weights, rows, begin, bias, result, row);
}

/// The columns of the next stripe of N: two registers, or one if two would leave the last stripe more than one.
template <typename T>
size_t StripeOf(size_t N)
{
   constexpr size_t L = kLanes<T>;
   if (N <= 2 * L)
      return N;
   return N < 3 * L ? L : 2 * L;
}

/// Columns from `first` on of `taps` taps of one channel, with zeros beyond the ends of the signal of `length`
/// elements.
template <typename T>
void LayOutTaps(const T *signal, size_t length, std::ptrdiff_t first, std::ptrdiff_t step, size_t taps, size_t columns, T *to)
{
   const auto end = static_cast<std::ptrdiff_t>(length);
   for (size_t k = 0; k < taps; ++k, first += step, to += kTileColumns<T>) {
      const auto left = std::clamp<std::ptrdiff_t>(-first, 0, columns);
      const auto right = std::clamp<std::ptrdiff_t>(end - first, left, columns);
      std::fill(to, to + kTileColumns<T>, T(0));
      if (left < right)
         std::memcpy(to + left, signal + (first + left), (right - left) * sizeof(T));
   }
}

/// A stripe whose rows reach beyond the ends of the signals, `length` elements long.
template <typename T>
void AtTheEnds(size_t M, size_t first, size_t columns, Weights<T> weights, Rows<T> rows, size_t length, Begin begin,
               const T *bias, T *result, size_t row)
{
   constexpr auto P = kTileColumns<T>;
   alignas(64) T panel[kDepth * P];
   const size_t taps = std::min(rows.fTaps, kDepth), channels = std::max<size_t>(1, kDepth / rows.fTaps);
   for (size_t i = 0; i < rows.fChannels; i += channels)
      for (size_t k = 0; k < rows.fTaps; k += taps) {
         const size_t ofChannels = std::min(channels, rows.fChannels - i), ofTaps = std::min(taps, rows.fTaps - k);
         for (size_t c = 0; c < ofChannels; ++c)
            LayOutTaps(rows.fData + (i + c) * rows.fChannel, length,
                       static_cast<std::ptrdiff_t>(first) + static_cast<std::ptrdiff_t>(k) * rows.fTap, rows.fTap, ofTaps,
                       columns, panel + c * ofTaps * P);
         const Rows<T> laidOut{panel, ofChannels, ofTaps * P, ofTaps, static_cast<std::ptrdiff_t>(P)};
         LaidOut(M, columns, weights.From(0, i, k), laidOut, begin, bias, result + first, row);
         begin = Begin::kResult;
      }
}

/// Whether the rows of `columns` columns from `first` on lie within the signals.
template <typename T>
bool AreInside(size_t first, size_t columns, Rows<T> rows, size_t length)
{
   const auto last = rows.fTap * static_cast<std::ptrdiff_t>(rows.fTaps - 1);
   const auto begin = static_cast<std::ptrdiff_t>(first), end = static_cast<std::ptrdiff_t>(first + columns);
   return columns >= kLanes<T> && std::min(begin, begin + last) >= 0 &&
          std::max(end, end + last) <= static_cast<std::ptrdiff_t>(length);
}

/// result[M, N] (begins as `begin` says) += sum over channels and taps of weights times rows, which are 0 beyond the ends of
/// the signals, `length` elements long.
template <typename T>
void Correlate(size_t M, size_t N, Weights<T> weights, Rows<T> rows, size_t length, Begin begin, const T *bias, T *result)
{
   // Columns before and after those for which every tap lies inside.
   const size_t reach = (rows.fTaps - 1) * static_cast<size_t>(rows.fTap < 0 ? -rows.fTap : rows.fTap);
   const size_t head = std::min(rows.fTap < 0 ? reach : 0, N);
   const size_t inside = length > reach ? std::min(length - reach, N - head) : 0;
   for (size_t n = 0, columns; n < N; n += columns) {
      const size_t end = n < head ? head : n < head + inside ? head + inside : N;
      columns = StripeOf<T>(end - n);
      if (!AreInside(n, columns, rows, length)) {
         AtTheEnds(M, n, columns, weights, rows, length, begin, bias, result, N);
         continue;
      }
      const Rows<T> here{rows.fData + n, rows.fChannels, rows.fChannel, rows.fTaps, rows.fTap};
      Whole(M, columns, weights, here, begin, bias, result + n, N);
   }
}

/// Excess numbers of one row that LayOutSignals() writes into the next: it may write a register beyond the columns.
template <typename T>
constexpr size_t kSignalRow = kTileColumns<T> + kLanes<T>;

/// Columns [first, first + columns) of the transposed shifted signals, `depth` rows from element `at` on: a row has the
/// taps of each channel one after the other. Nothing beyond `end` is read.
template <typename T>
void LayOutSignals(const ct_convolution &c, const T *x, const T *end, size_t at, size_t depth, size_t first, size_t columns,
                   T *to)
{
   constexpr size_t L = kLanes<T>;
   for (size_t done = 0, run; done < columns; done += run) {
      const size_t channel = (first + done) / c.taps, tap = (first + done) % c.taps;
      run = std::min(c.taps - tap, columns - done);
      const T *from = x + channel * c.length + at + tap * c.dilation;
      T *there = to + done;
      const bool wide = run > 1 && run <= L && c.dilation == 1 && from + depth + L <= end;
      for (size_t l = 0; l < depth; ++l, ++from, there += kSignalRow<T>) {
         if (wide) // the excess is overwritten by the next run, or never read
            Store(Load(from), there);
         else if (c.dilation == 1 && run > L)
            std::memcpy(there, from, run * sizeof(T));
         else
            for (size_t k = 0; k < run; ++k)
               there[k] = from[k * c.dilation];
      }
   }
}

inline size_t Columns(const ct_convolution &c)
{
   return c.length - (c.taps - 1) * c.dilation;
}

/// dw[O, I K] += dy[O, N] times the transposed shifted signals of one event and group.
template <typename T>
void AddWeights(const ct_convolution &c, const T *x, const T *end, const T *dy, T *dw)
{
   const size_t N = Columns(c), D = c.inputs * c.taps;
   alignas(64) T panel[kDepth * kSignalRow<T>];
   for (size_t d = 0, columns; d < D; d += columns) {
      columns = StripeOf<T>(D - d);
      if (columns < kLanes<T>)
         std::memset(panel, 0, sizeof panel);
      for (size_t n = 0; n < N; n += kDepth) {
         const size_t depth = std::min(kDepth, N - n);
         LayOutSignals(c, x, end, n, depth, d, columns, panel);
         LaidOut<T>(c.outputs, columns, {dy + n, N, 0}, {panel, 1, 0, depth, static_cast<std::ptrdiff_t>(kSignalRow<T>)},
                    Begin::kResult, nullptr, dw + d, D);
      }
   }
}

/// body(signals, weights, results) with the first element of each event and group.
template <class Body>
void EachGroup(const ct_convolution &c, Body body)
{
   for (size_t i = 0; i < c.events * c.groups; ++i) {
      const size_t group = i % c.groups;
      body(i * c.inputs * c.length, group * c.outputs * c.inputs * c.taps, i * c.outputs * Columns(c), group * c.outputs);
   }
}

} // namespace

template <typename T>
void Convolve(const ct_convolution *c, const T *x, const T *w, const T *bias, T *y)
{
   EachGroup(*c, [&](size_t signals, size_t weights, size_t results, size_t outputs) {
      const Rows<T> rows{x + signals, c->inputs, c->length, c->taps, static_cast<std::ptrdiff_t>(c->dilation)};
      Correlate<T>(c->outputs, Columns(*c), {w + weights, c->inputs * c->taps, c->taps}, rows, c->length,
                   bias ? Begin::kBias : Begin::kZero, bias ? bias + outputs : nullptr, y + results);
   });
}

template <typename T>
void ConvolvePullback(const ct_convolution *c, const T *w, const T *dy, int add, T *dx)
{
   const size_t N = Columns(*c);
   EachGroup(*c, [&](size_t signals, size_t weights, size_t results, size_t) {
      const Rows<T> rows{dy + results, c->outputs, N, c->taps, -static_cast<std::ptrdiff_t>(c->dilation)};
      Correlate<T>(c->inputs, c->length, {w + weights, c->taps, c->inputs * c->taps}, rows, N,
                   add ? Begin::kResult : Begin::kZero, nullptr, dx + signals);
   });
}

template <typename T>
void ConvolveWeightPullback(const ct_convolution *c, const T *x, const T *dy, int add, T *dw)
{
   if (!add)
      std::fill(dw, dw + c->groups * c->outputs * c->inputs * c->taps, T(0));
   const T *end = x + c->events * c->groups * c->inputs * c->length;
   EachGroup(*c, [&](size_t signals, size_t weights, size_t results, size_t) {
      AddWeights(*c, x + signals, end, dy + results, dw + weights);
   });
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Convolve(const ct_convolution *, const T *, const T *, const T *, T *);                               \
   template void ConvolvePullback(const ct_convolution *, const T *, const T *, int, T *);                             \
   template void ConvolveWeightPullback(const ct_convolution *, const T *, const T *, int, T *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
