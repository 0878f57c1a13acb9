/// \file columns.cpp
/// From the numbers of a file to rows of float32.
#include "columns.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

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

/// Whether all numbers are finite, by the largest magnitude.
template <typename T, typename Bits>
int Convert(size_t n, const uint8_t *bytes, float *values)
{
   constexpr uint32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;
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
   return largest < kInfinity;
}

typedef float Octet __attribute__((vector_size(32)));

/// Eight rows of eight columns; three rounds of exchanges.
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
      std::memcpy(rows + (row + i) * width, &low, sizeof low);
      std::memcpy(rows + (row + i + 4) * width, &high, sizeof high);
   }
}

} // namespace

int ConvertColumn(int element, size_t n, const uint8_t *bytes, float *values)
{
   switch (element) {
   case CT_BOOL: return Convert<bool, uint8_t>(n, bytes, values);
   case CT_I8: return Convert<int8_t, uint8_t>(n, bytes, values);
   case CT_U8: return Convert<uint8_t, uint8_t>(n, bytes, values);
   case CT_I16: return Convert<int16_t, uint16_t>(n, bytes, values);
   case CT_U16: return Convert<uint16_t, uint16_t>(n, bytes, values);
   case CT_I32: return Convert<int32_t, uint32_t>(n, bytes, values);
   case CT_U32: return Convert<uint32_t, uint32_t>(n, bytes, values);
   case CT_I64: return Convert<int64_t, uint64_t>(n, bytes, values);
   case CT_U64: return Convert<uint64_t, uint64_t>(n, bytes, values);
   case CT_F32: return Convert<float, uint32_t>(n, bytes, values);
   default: return Convert<double, uint64_t>(n, bytes, values);
   }
}

void Interleave(size_t R, const float *const *columns, size_t width, float *rows)
{
   size_t row = 0;
   for (; row + 8 <= R; row += 8)
      Transpose(columns, row, width, rows);
   for (; row < R; ++row)
      for (size_t c = 0; c < 8; ++c)
         rows[row * width + c] = columns[c][row];
}

} // namespace CladTorch::Kernels
