/// \file standardise.cpp
/// Batch normalisation (Ioffe and Szegedy 2015, algorithm 1): each channel of a batch normalised to mean 0 and variance
/// 1, scaled and shifted, and the pullback through mean and variance. Sums are computed in double, row by row: the
/// result is bitwise the same whichever channels are computed together. kernels.h describes `ct_channels`.
#include "kernels.hpp"
#include "view.hpp"

#include <algorithm>
#include <cmath>

namespace CladTorch::Kernels {
namespace {

/// Number of channels whose sums are kept while the rows are read: enough to read memory in runs of pages, not of
/// lines.
constexpr size_t kChannels = 1024;

/// Elements whose channels are summed while they are in the first-level cache.
constexpr size_t kElements = 4096;

/// N numbers from an address, one of them as a scalar.
template <size_t N, typename T>
inline auto NumbersAt(const T *from)
{
   return At<T, N>{0}(from);
}

/// The sum over rows of term(At), for N neighbouring channels of one element each; `row` elements lie between two rows.
template <size_t N, typename Term>
inline auto SumOfRows(size_t rows, size_t row, Term term)
{
   constexpr size_t apart = 4; // independent sums
   decltype(term(At<double, N>{0})) sums[apart] = {};
   size_t r = 0;
   for (; r + apart <= rows; r += apart)
      for (size_t a = 0; a < apart; ++a)
         sums[a] += term(At<double, N>{(r + a) * row});
   for (size_t a = 0; a + 1 < apart; ++a) // with constant indices, for which the sums stay in registers
      if (r + a < rows)
         sums[a] += term(At<double, N>{(r + a) * row});
   return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// body(N, first) for groups of N neighbours from `first` on; N is a constant that decreases at the end.
template <size_t N, typename Body>
inline void EachGroup(size_t first, size_t end, Body body)
{
   for (; first + N <= end; first += N)
      body(std::integral_constant<size_t, N>(), first);
   if constexpr (N > 1)
      EachGroup<N / 2>(first, end, body);
}

/// Up to kChannels neighbouring channels of one panel.
struct Part {
   const ct_channels &fShape;
   size_t fFirst;  ///< the first channel
   size_t fCount;  ///< channels
   size_t fOffset; ///< of the first channel's first element

   /// Rows that are processed together, a multiple of the sums of SumOfRows(): the same whichever channels a part has.
   size_t Rows() const
   {
      const size_t columns = fShape.width < kChannels ? fShape.width : kChannels, rows = kElements / columns / 4 * 4;
      return rows < 4 ? 4 : rows > 64 ? 64 : rows;
   }

   /// Where row r of the part's channel i begins, from fOffset on.
   size_t Line(size_t r, size_t i) const { return (r * fShape.width + i) * fShape.side; }

   /// sums[fCount] = for each channel the sum over its elements of term(At, mean, factor), which uses At like p[i] of pointers p
   /// that point to fOffset; mean and factor are those of the channel.
   template <typename Term>
   void Sum(const double *mean, const double *factor, double *sums, Term term) const
   {
      for (size_t i = 0; i < fCount; ++i)
         sums[i] = 0;
      if (fShape.side > 1) {
         for (size_t r = 0; r < fShape.rows; ++r)
            for (size_t i = 0; i < fCount; ++i) {
               const size_t line = Line(r, i);
               sums[i] += SumOf<double>(fShape.side, [=](auto at) {
                  at.fFirst += line;
                  return term(at, mean[i], factor[i]);
               });
            }
         return;
      }
      for (size_t r = 0, most = Rows(); r < fShape.rows; r += most) {
         const size_t rows = fShape.rows - r < most ? fShape.rows - r : most;
         EachGroup<kLanes<double>>(0, fCount, [&](auto N, size_t i) {
            const auto m = NumbersAt<N>(mean + i), f = NumbersAt<N>(factor + i);
            const size_t line = Line(r, i);
            auto sum = NumbersAt<N>(sums + i);
            sum += SumOfRows<N>(rows, fShape.width, [=](auto at) {
               at.fFirst += line;
               return term(at, m, f);
            });
            std::memcpy(sums + i, &sum, sizeof sum);
         });
      }
   }

   /// y = value(At, k) for each element, where k(i) is number i of the K values that the element's channel has in
   /// numbers[K], and At is used like p[i] of pointers p; they and y point to fOffset.
   template <typename T, size_t K, typename Value>
   void Write(const T (&numbers)[K][kChannels], T *y, Value value) const
   {
      if (fShape.side > 1) {
         for (size_t r = 0; r < fShape.rows; ++r)
            for (size_t i = 0; i < fCount; ++i) {
               const size_t line = Line(r, i);
               const auto k = [&, i](size_t which) { return numbers[which][i]; };
               CT_ELEMENTWISE
               for (size_t j = 0; j < fShape.side; ++j)
                  y[line + j] = value(At<T, 1>{line + j}, k);
            }
         return;
      }
      for (size_t first = 0, most = Rows(); first < fShape.rows; first += most) {
         const size_t end = fShape.rows - first < most ? fShape.rows : first + most;
         EachGroup<kLanes<T>>(0, fCount, [&](auto N, size_t i) {
            decltype(NumbersAt<N>(y)) own[K];
            for (size_t which = 0; which < K; ++which)
               own[which] = NumbersAt<N>(numbers[which] + i);
            const auto k = [&](size_t which) { return own[which]; };
            for (size_t r = first; r < end; ++r) {
               const size_t line = Line(r, i);
               const auto v = value(At<T, N>{line}, k);
               std::memcpy(y + line, &v, sizeof v);
            }
         });
      }
   }
};

/// body(part) for the parts of all channels, in their order.
template <typename Body>
inline void EachPart(const ct_channels &c, Body body)
{
   for (size_t first = 0, count; first < c.channels; first += count) {
      const size_t column = first % c.width, left = c.channels - first;
      count = c.width - column < left ? c.width - column : left;
      count = count < kChannels ? count : kChannels;
      body(Part{c, first, count, ((first / c.width) * c.rows * c.width + column) * c.side});
   }
}

/// Zeros where a panel has no channels.
template <typename T>
void ClearRest(const ct_channels &c, T *y)
{
   const size_t last = c.channels % c.width, panel = c.channels / c.width;
   if (last == 0)
      return;
   for (size_t r = 0; r < c.rows; ++r)
      for (size_t i = last; i < c.width; ++i)
         y[(panel * c.rows + r) * c.width + i] = 0;
}

/// The factors of the channels of a part.
struct Factors {
   double fMean[kChannels], fFactor[kChannels];

   template <typename T>
   Factors(const Part &part, T eps, const T *mean, const T *deviation)
   {
      for (size_t i = 0; i < part.fCount; ++i) {
         const double d = deviation[part.fFirst + i];
         fMean[i] = mean[part.fFirst + i];
         fFactor[i] = 1 / std::sqrt(d * d + eps);
      }
   }
};

} // namespace

template <typename T>
void ChannelSpread(const ct_channels *c, const T *x, double *mean, double *squares)
{
   const double count = static_cast<double>(c->rows) * static_cast<double>(c->side);
   EachPart(*c, [&](const Part &part) {
      double *means = mean + part.fFirst;
      std::fill_n(means, part.fCount, 0.);
      const T *from = x + part.fOffset;
      double sums[kChannels];
      part.Sum(means, means, sums, [=](auto at, auto, auto) { return at(from); });
      for (size_t i = 0; i < part.fCount; ++i)
         means[i] = sums[i] / count;
      part.Sum(means, means, squares + part.fFirst, [=](auto at, auto m, auto) { return (at(from) - m) * (at(from) - m); });
   });
}

template <typename T>
void ChannelMoments(const ct_channels *c, const T *x, T *mean, T *deviation)
{
   const double count = static_cast<double>(c->rows) * static_cast<double>(c->side);
   EachPart(*c, [&](const Part &part) {
      // The part as channels of its own.
      ct_channels own = *c;
      own.channels = part.fCount;
      double means[kChannels], squares[kChannels];
      ChannelSpread(&own, x + part.fOffset, means, squares);
      for (size_t i = 0; i < part.fCount; ++i) {
         mean[part.fFirst + i] = static_cast<T>(means[i]);
         deviation[part.fFirst + i] = static_cast<T>(std::sqrt(squares[i] / count));
      }
   });
}

template <typename T>
void Standardise(const ct_channels *c, T eps, const T *x, const T *mean, const T *deviation, const T *w, const T *b, T *y)
{
   EachPart(*c, [&](const Part &part) {
      const Factors factors(part, eps, mean, deviation);
      T numbers[3][kChannels];
      for (size_t i = 0; i < part.fCount; ++i) {
         numbers[0][i] = mean[part.fFirst + i];
         numbers[1][i] = static_cast<T>(factors.fFactor[i] * w[part.fFirst + i]);
         numbers[2][i] = b[part.fFirst + i];
      }
      const T *from = x + part.fOffset;
      part.Write(numbers, y + part.fOffset, [=](auto at, auto k) { return (at(from) - k(0)) * k(1) + k(2); });
   });
   ClearRest(*c, y);
}

template <typename T>
void StandardiseSums(const ct_channels *c, T eps, const T *x, const T *mean, const T *deviation, const T *dy, double *shift,
                     double *slope)
{
   EachPart(*c, [&](const Part &part) {
      const Factors factors(part, eps, mean, deviation);
      const T *from = x + part.fOffset, *d = dy + part.fOffset;
      part.Sum(factors.fMean, factors.fFactor, shift + part.fFirst, [=](auto at, auto, auto) { return at(d); });
      part.Sum(factors.fMean, factors.fFactor, slope + part.fFirst,
               [=](auto at, auto m, auto f) { return at(d) * ((at(from) - m) * f); });
   });
}

template <typename T>
void StandardisePullback(const ct_channels *c, size_t count, T eps, const T *x, const T *mean, const T *deviation,
                         const T *w, const double *shift, const double *slope, const T *dy, int add, T *dx)
{
   EachPart(*c, [&](const Part &part) {
      const Factors factors(part, eps, mean, deviation);
      T numbers[4][kChannels];
      for (size_t i = 0; i < part.fCount; ++i) {
         const size_t channel = part.fFirst + i;
         const double scale = factors.fFactor[i] * w[channel];
         numbers[0][i] = mean[channel];
         numbers[1][i] = static_cast<T>(scale);
         numbers[2][i] = static_cast<T>(shift[channel] / double(count));
         numbers[3][i] = static_cast<T>(factors.fFactor[i] * slope[channel] / double(count));
      }
      const T *from = x + part.fOffset, *d = dy + part.fOffset;
      T *to = dx + part.fOffset;
      const auto value = [=](auto at, auto k) { return k(1) * (at(d) - k(2) - (at(from) - k(0)) * k(3)); };
      if (add)
         part.Write(numbers, to, [=](auto at, auto k) { return at(to) + value(at, k); });
      else
         part.Write(numbers, to, value);
   });
   if (!add)
      ClearRest(*c, dx);
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void ChannelSpread(const ct_channels *, const T *, double *, double *);                                    \
   template void ChannelMoments(const ct_channels *, const T *, T *, T *);                                                    \
   template void Standardise(const ct_channels *, T, const T *, const T *, const T *, const T *, const T *, T *);      \
   template void StandardiseSums(const ct_channels *, T, const T *, const T *, const T *, const T *, double *,         \
                                 double *);                                                                            \
   template void StandardisePullback(const ct_channels *, size_t, T, const T *, const T *, const T *, const T *,       \
                                     const double *, const double *, const T *, int, T *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
