/// \file kernels.hpp
/// What exported headers compute with, beside the scalar functions of cpp/kernels: loops whose bounds are constants, so that
/// the compiler makes vector code of them. `ExportCpp` copies what a network uses, definition by definition.
#pragma once
#include "../../../../cpp/kernels/operators.hpp"
#include "../../../../cpp/kernels/order.hpp"

#include <cstddef>

namespace CladTorch::Kernels {

/// y[n] = b[n] + x[k] w[k][n] for N outputs whose sums stay in registers; neighbouring rows of w are `step` apart.
template <std::size_t K, std::size_t N>
inline void LayerColumns(const float *x, const float *w, std::size_t step, const float *b, float *y)
{
   float sums[N];
   for (std::size_t n = 0; n < N; ++n)
      sums[n] = b[n];
   for (std::size_t k = 0; k < K; ++k) {
      const float factor = x[k];
      const float *row = w + k * step;
      for (std::size_t n = 0; n < N; ++n)
         sums[n] += factor * row[n];
   }
   for (std::size_t n = 0; n < N; ++n)
      y[n] = sums[n];
}

/// y[N] = b[N] + x[K] w[K][N], in blocks of outputs.
template <std::size_t K, std::size_t N>
inline void Layer(const float *x, const float *w, const float *b, float *y)
{
   constexpr std::size_t kBlock = 32;
   constexpr std::size_t kWhole = N - N % kBlock;
   for (std::size_t n = 0; n != kWhole; n += kBlock)
      LayerColumns<K, kBlock>(x, w + n, N, b + n, y + n);
   if constexpr (kWhole < N)
      LayerColumns<K, N - kWhole>(x, w + kWhole, N, b + kWhole, y + kWhole);
}

/// y[N] = b[N] + w[N][K] x[K] for few outputs: each a sum of partial sums.
template <std::size_t K, std::size_t N>
inline void NarrowLayer(const float *x, const float *w, const float *b, float *y)
{
   constexpr std::size_t kLanes = 16;
   constexpr std::size_t kWhole = K - K % kLanes;
   for (std::size_t n = 0; n < N; ++n, w += K) {
      float sums[kLanes] = {};
      for (std::size_t k = 0; k != kWhole; k += kLanes)
         for (std::size_t lane = 0; lane < kLanes; ++lane)
            sums[lane] += w[k + lane] * x[k + lane];
      float sum = b[n];
      for (std::size_t k = kWhole; k < K; ++k)
         sum += w[k] * x[k];
      for (std::size_t lane = 0; lane < kLanes; ++lane)
         sum += sums[lane];
      y[n] = sum;
   }
}

/// y[M][N] += a[M][K] b[K][N], for matrices with these distances between rows and between columns.
inline void AddProduct(std::size_t M, std::size_t N, std::size_t K, const float *a, std::size_t aRow,
                       std::size_t aColumn, const float *b, std::size_t bRow, std::size_t bColumn, float *y)
{
   for (std::size_t m = 0; m < M; ++m)
      for (std::size_t k = 0; k < K; ++k)
         for (std::size_t n = 0; n < N; ++n)
            y[m * N + n] += a[m * aRow + k * aColumn] * b[k * bRow + n * bColumn];
}

/// Adds to y [events, groups, outputs, columns] the signals x [events, groups, inputs, length] convolved with w [groups,
/// outputs, inputs, taps].
template <std::size_t Events, std::size_t Groups, std::size_t Inputs, std::size_t Outputs, std::size_t Taps,
          std::size_t Dilation, std::size_t Length>
inline void AddConvolution(const float *x, const float *w, float *y)
{
   constexpr std::size_t kColumns = Length - (Taps - 1) * Dilation;
   for (std::size_t row = 0; row < Events * Groups * Outputs; ++row, y += kColumns) {
      const float *signals = x + row / Outputs * Inputs * Length;
      const float *weights = w + row % (Groups * Outputs) * Inputs * Taps;
      for (std::size_t i = 0; i < Inputs * Taps; ++i) {
         const float factor = weights[i];
         const float *from = signals + i / Taps * Length + i % Taps * Dilation;
         for (std::size_t column = 0; column < kColumns; ++column)
            y[column] += factor * from[column];
      }
   }
}

/// The same matrices added to y, whose rows and columns have distances of their own.
inline void AddTo(std::size_t M, std::size_t N, std::size_t K, const float *a, std::size_t aRow, std::size_t aColumn,
                  const float *b, std::size_t bRow, std::size_t bColumn, float *y, std::size_t yRow, std::size_t yColumn)
{
   for (std::size_t m = 0; m < M; ++m)
      for (std::size_t k = 0; k < K; ++k)
         for (std::size_t n = 0; n < N; ++n)
            y[m * yRow + n * yColumn] += a[m * aRow + k * aColumn] * b[k * bRow + n * bColumn];
}

/// Adds to dx what AddConvolution() gives back to the signals.
template <std::size_t Events, std::size_t Groups, std::size_t Inputs, std::size_t Outputs, std::size_t Taps,
          std::size_t Dilation, std::size_t Length>
inline void ConvolutionPullback(const float *dy, const float *w, float *dx)
{
   constexpr std::size_t kColumns = Length - (Taps - 1) * Dilation;
   for (std::size_t row = 0; row < Events * Groups * Outputs; ++row, dy += kColumns) {
      float *signals = dx + row / Outputs * Inputs * Length;
      const float *weights = w + row % (Groups * Outputs) * Inputs * Taps;
      for (std::size_t i = 0; i < Inputs * Taps; ++i) {
         const float factor = weights[i];
         float *to = signals + i / Taps * Length + i % Taps * Dilation;
         for (std::size_t column = 0; column < kColumns; ++column)
            to[column] += factor * dy[column];
      }
   }
}

/// x[n] = 0
inline void Zero(std::size_t n, float *x)
{
   for (std::size_t i = 0; i < n; ++i)
      x[i] = 0;
}

/// The softmax of each column of `matrices` matrices y[Columns][Side], or its logarithm.
template <std::size_t Columns, std::size_t Side, bool Logarithm>
inline void SoftmaxRows(std::size_t matrices, float *y)
{
   for (std::size_t row = 0; row < matrices * Side; ++row, y += row % Side ? 1 : (Columns - 1) * Side + 1) {
      float highest = y[0], sum = 0;
      for (std::size_t i = 1; i < Columns; ++i)
         highest = y[i * Side] > highest ? y[i * Side] : highest;
      for (std::size_t i = 0; i < Columns; ++i) {
         const float power = std::exp(y[i * Side] - highest);
         y[i * Side] = Logarithm ? y[i * Side] - highest : power;
         sum += power;
      }
      const float term = Logarithm ? std::log(sum) : 0, factor = Logarithm ? 1 : 1 / sum;
      for (std::size_t i = 0; i < Columns; ++i)
         y[i * Side] = (y[i * Side] - term) * factor;
   }
}

/// Of the value y of SoftmaxRows(): its adjoint dy becomes that of what it was made from.
template <std::size_t Columns, std::size_t Side, bool Logarithm>
inline void SoftmaxPullback(std::size_t matrices, const float *y, float *dy)
{
   for (std::size_t row = 0; row < matrices * Side; ++row) {
      const std::size_t first = row / Side * Columns * Side + row % Side;
      float sum = 0;
      for (std::size_t i = 0; i < Columns; ++i)
         sum += Logarithm ? dy[first + i * Side] : dy[first + i * Side] * y[first + i * Side];
      for (std::size_t i = 0; i < Columns; ++i) {
         const float value = y[first + i * Side];
         float &adjoint = dy[first + i * Side];
         adjoint = Logarithm ? adjoint - std::exp(value) * sum : (adjoint - sum) * value;
      }
   }
}

/// dx[rows][Columns]: dy[rows], given to the greatest elements y[rows] of the rows of x: to all of them evenly, else to the first, of NaN
/// to the last where `Last`. Where `Lost`, an even share of NaN is NaN, and the others get 0 times the share.
template <std::size_t Columns, bool Even, bool Last, bool Lost>
inline void MaxPullback(std::size_t rows, const float *x, const float *y, const float *dy, float *dx)
{
   for (std::size_t row = 0; row < rows; ++row, x += Columns, dx += Columns) {
      const bool isNaN = y[row] != y[row];
      std::size_t count = 0, chosen = 0;
      for (std::size_t i = 0; i < Columns; ++i)
         if (isNaN ? x[i] != x[i] : x[i] == y[row]) {
            chosen = count == 0 || (isNaN && Last) ? i : chosen;
            ++count;
         }
      const float share = isNaN && Lost ? std::numeric_limits<float>::quiet_NaN() : dy[row] / static_cast<float>(count);
      for (std::size_t i = 0; i < Columns; ++i) {
         const bool isOne = isNaN ? x[i] != x[i] : x[i] == y[row];
         dx[i] = Even ? (isOne ? share : Lost ? share * 0 : 0) : (count > 0 && i == chosen ? dy[row] : 0);
      }
   }
}

/// dx[rows][Columns]: dy[rows], the adjoint of the lengths y of the rows of x, given back; 0 where the length is 0.
template <std::size_t Columns>
inline void LengthPullback(std::size_t rows, const float *x, const float *y, const float *dy, float *dx)
{
   for (std::size_t row = 0; row < rows; ++row, x += Columns, dx += Columns)
      for (std::size_t i = 0; i < Columns; ++i)
         dx[i] = y[row] == 0 ? 0 : dy[row] * (x[i] / y[row]);
}

/// y: each row of x brought to mean 0 and variance 1 (plus eps), times w plus b.
template <std::size_t Columns>
inline void NormaliseRows(std::size_t rows, double eps, const float *x, const float *w, const float *b, float *y)
{
   for (; rows > 0; --rows, x += Columns, y += Columns) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < Columns; ++i)
         mean += x[i];
      mean /= Columns;
      for (std::size_t i = 0; i < Columns; ++i)
         variance += (x[i] - mean) * (x[i] - mean);
      const double factor = 1 / std::sqrt(variance / Columns + eps);
      for (std::size_t i = 0; i < Columns; ++i)
         y[i] = static_cast<float>((x[i] - mean) * factor) * w[i] + b[i];
   }
}

/// Adds to dx what NormaliseRows() gives back to the rows of x.
template <std::size_t Columns>
inline void NormalisePullback(std::size_t rows, double eps, const float *x, const float *w, const float *dy, float *dx)
{
   for (; rows > 0; --rows, x += Columns, dy += Columns, dx += Columns) {
      double mean = 0, variance = 0, sum = 0, slope = 0;
      for (std::size_t i = 0; i < Columns; ++i)
         mean += x[i];
      mean /= Columns;
      for (std::size_t i = 0; i < Columns; ++i)
         variance += (x[i] - mean) * (x[i] - mean);
      const double factor = 1 / std::sqrt(variance / Columns + eps);
      for (std::size_t i = 0; i < Columns; ++i) {
         const double given = static_cast<double>(dy[i]) * w[i];
         sum += given;
         slope += given * (x[i] - mean) * factor;
      }
      for (std::size_t i = 0; i < Columns; ++i) {
         const double given = static_cast<double>(dy[i]) * w[i], place = (x[i] - mean) * factor;
         dx[i] += static_cast<float>((given - sum / Columns - place * slope / Columns) * factor);
      }
   }
}

/// places[rows][Count]: where the first elements of each row of x are, in an order of FirstInOrder.
template <int Order, bool Descending, std::size_t Columns, std::size_t Count>
inline void PlacesInOrder(std::size_t rows, const float *x, float *places)
{
   std::pair<float, std::uint32_t> row[Columns];
   for (; rows > 0; --rows, x += Columns, places += Count) {
      for (std::size_t i = 0; i < Columns; ++i)
         row[i] = {x[i], static_cast<std::uint32_t>(i)};
      FirstInOrder<Descending>(Order, Columns, Count, row);
      for (std::size_t i = 0; i < Count; ++i)
         places[i] = static_cast<float>(row[i].second);
   }
}

/// Whether it is a place among `size` elements; a negative one may count from the end.
template <bool FromEnd>
inline bool IsPlace(float place, std::size_t size)
{
   return (FromEnd ? place >= -static_cast<float>(size) : place >= 0) && place < static_cast<float>(size);
}

/// The place, or the nearest one.
template <bool FromEnd>
inline std::size_t Bounded(float place, std::size_t size)
{
   const float counted = FromEnd && place < 0 ? place + static_cast<float>(size) : place;
   return counted > 0 ? std::min(static_cast<std::size_t>(counted), size - 1) : 0;
}

} // namespace CladTorch::Kernels
