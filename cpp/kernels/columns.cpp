/// \file columns.cpp
/// From the numbers of a file to rows of float32.
#include "columns.hpp"
#include "vector.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace CladTorch::Kernels {
namespace {

template <typename Bits>
Bits Swapped(Bits bits)
{
   if constexpr (sizeof(Bits) == 8)
      return __builtin_bswap64(bits);
   else if constexpr (sizeof(Bits) == 4)
      return __builtin_bswap32(bits);
   else if constexpr (sizeof(Bits) == 2)
      return __builtin_bswap16(bits);
   else
      return bits;
}

/// The float of the number at `bytes`; `Bits` is the unsigned type of its size.
template <typename T, typename Bits>
float Number(const uint8_t *bytes)
{
   Bits bits;
   std::memcpy(&bits, bytes, sizeof bits);
   bits = Swapped(bits);
   if constexpr (std::is_same_v<T, bool>) {
      return bits != 0;
   } else {
      T number;
      std::memcpy(&number, &bits, sizeof number);
      return static_cast<float>(number);
   }
}

/// Numbers that wait in the first-level cache for their way past the others.
constexpr size_t kStage = 4096;

/// One register to an aligned address, past the caches.
inline void Stream(Vector<float> v, float *to)
{
#if defined(__AVX512F__)
   _mm512_stream_ps(to, reinterpret_cast<__m512>(v));
#elif defined(__AVX__)
   _mm256_stream_ps(to, reinterpret_cast<__m256>(v));
#elif defined(__SSE2__)
   _mm_stream_ps(to, reinterpret_cast<__m128>(v));
#else
   Store(v, to);
#endif
}

/// Nobody may see what comes after before what was streamed.
inline void EndOfStream()
{
#if defined(__SSE2__)
   _mm_sfence();
#endif
}

/// Copies n numbers past the caches. A plain store would fetch each line from memory before it overwrites it, and crowd
/// out what is needed sooner.
void CopyPast(const float *from, size_t n, float *to)
{
   size_t i = 0;
   for (; i < n && reinterpret_cast<uintptr_t>(to + i) % kVectorBytes; ++i)
      to[i] = from[i];
   for (; i + kLanes<float> <= n; i += kLanes<float>)
      Stream(Load(from + i), to + i);
   for (; i < n; ++i)
      to[i] = from[i];
}

/// The largest magnitude of n numbers as bits: those of infinity, or more, where one is not finite.
template <typename T, typename Bits>
uint32_t Convert(size_t n, const uint8_t *bytes, float *values)
{
   constexpr uint32_t kMagnitude = 0x7fffffff;
   uint32_t largest = 0;
   for (size_t i = 0; i < n; ++i) {
      values[i] = Number<T, Bits>(bytes + i * sizeof(Bits));
      if constexpr (std::is_floating_point_v<T>) {
         uint32_t bits;
         std::memcpy(&bits, &values[i], sizeof bits);
         bits &= kMagnitude;
         largest = bits > largest ? bits : largest;
      }
   }
   return largest;
}

template <typename T, typename Bits>
int ConvertAll(size_t n, const uint8_t *bytes, float *values, int past)
{
   constexpr uint32_t kInfinity = 0x7f800000;
   if (!past)
      return Convert<T, Bits>(n, bytes, values) < kInfinity;
   alignas(64) float stage[kStage];
   uint32_t largest = 0;
   for (size_t first = 0; first < n; first += kStage) {
      const size_t count = std::min(kStage, n - first);
      largest = std::max(largest, Convert<T, Bits>(count, bytes + first * sizeof(Bits), stage));
      CopyPast(stage, count, values + first);
   }
   EndOfStream();
   return largest < kInfinity;
}

typedef float Octet __attribute__((vector_size(32)));
constexpr size_t kOctet = 8;

/// Eight rows of eight columns from `row` on; three rounds of exchanges.
inline void Transpose(const float *const *columns, size_t row, size_t width, float *rows)
{
   Octet pairs[8], quads[8];
   for (int i = 0; i < 8; i += 2) {
      Octet a, b;
      std::memcpy(&a, columns[i] + row, sizeof a);
      std::memcpy(&b, columns[i + 1] + row, sizeof b);
      pairs[i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
      pairs[i + 1] = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
   }
   for (int i = 0; i < 8; i += 4)
      for (int j = 0; j < 2; ++j) {
         const Octet a = pairs[i + j], b = pairs[i + j + 2];
         quads[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
         quads[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
      }
   for (int i = 0; i < 4; ++i) {
      const Octet a = quads[i], b = quads[i + 4];
      const Octet low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
      const Octet high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
      std::memcpy(rows + i * width, &low, sizeof low);
      std::memcpy(rows + (i + 4) * width, &high, sizeof high);
   }
}

/// Rows [first, first + R) of eight columns.
void EightColumns(size_t first, size_t R, const float *const *columns, size_t width, float *rows)
{
   size_t row = 0;
   for (; row + kOctet <= R; row += kOctet)
      Transpose(columns, first + row, width, rows + row * width);
   for (; row < R; ++row)
      for (size_t c = 0; c < kOctet; ++c)
         rows[row * width + c] = columns[c][first + row];
}

/// The same of C columns, fewer than eight.
template <size_t C>
void FewColumns(size_t first, size_t R, const float *const *columns, size_t width, float *rows)
{
   const float *from[C];
   for (size_t c = 0; c < C; ++c)
      from[c] = columns[c] + first;
   for (size_t row = 0; row < R; ++row)
      for (size_t c = 0; c < C; ++c)
         rows[row * width + c] = from[c][row];
}

/// The same of any number.
void Columns(size_t first, size_t R, const float *const *columns, size_t C, size_t width, float *rows)
{
   switch (C) {
   case 0: return;
   case 1: return FewColumns<1>(first, R, columns, width, rows);
   case 2: return FewColumns<2>(first, R, columns, width, rows);
   case 3: return FewColumns<3>(first, R, columns, width, rows);
   case 4: return FewColumns<4>(first, R, columns, width, rows);
   case 5: return FewColumns<5>(first, R, columns, width, rows);
   case 6: return FewColumns<6>(first, R, columns, width, rows);
   case 7: return FewColumns<7>(first, R, columns, width, rows);
   }
   // The last eight are taken with some that have been written already.
   for (size_t c = 0; c < C; c += kOctet) {
      const size_t from = std::min(c, C - kOctet);
      EightColumns(first, R, columns + from, width, rows + from);
   }
}

} // namespace

int ConvertColumn(int element, size_t n, const uint8_t *bytes, float *values, int past)
{
   switch (element) {
   case CT_BOOL: return ConvertAll<bool, uint8_t>(n, bytes, values, past);
   case CT_I8: return ConvertAll<int8_t, uint8_t>(n, bytes, values, past);
   case CT_U8: return ConvertAll<uint8_t, uint8_t>(n, bytes, values, past);
   case CT_I16: return ConvertAll<int16_t, uint16_t>(n, bytes, values, past);
   case CT_U16: return ConvertAll<uint16_t, uint16_t>(n, bytes, values, past);
   case CT_I32: return ConvertAll<int32_t, uint32_t>(n, bytes, values, past);
   case CT_U32: return ConvertAll<uint32_t, uint32_t>(n, bytes, values, past);
   case CT_I64: return ConvertAll<int64_t, uint64_t>(n, bytes, values, past);
   case CT_U64: return ConvertAll<uint64_t, uint64_t>(n, bytes, values, past);
   case CT_F32: return ConvertAll<float, uint32_t>(n, bytes, values, past);
   default: return ConvertAll<double, uint64_t>(n, bytes, values, past);
   }
}

void Interleave(size_t R, const float *const *columns, size_t C, size_t width, float *rows, int past)
{
   const size_t block = kStage / std::max<size_t>(C, 1) / kOctet * kOctet; // rows
   if (!past || C != width || block == 0)
      return Columns(0, R, columns, C, width, rows);
   constexpr size_t kLine = 64 / sizeof(float);
   alignas(64) float stage[kStage];
   for (size_t first = 0; first < R; first += block) {
      const size_t count = std::min(block, R - first);
      // The stretches are too short for the processor to see by itself where they go on.
      for (size_t c = 0; c < C; ++c)
         for (size_t next = first + block; next < std::min(R, first + 2 * block); next += kLine)
            __builtin_prefetch(columns[c] + next);
      Columns(first, count, columns, C, C, stage);
      CopyPast(stage, count * C, rows + first * C);
   }
   EndOfStream();
}

} // namespace CladTorch::Kernels
