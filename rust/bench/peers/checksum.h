/// \file checksum.h
/// \brief Checksums that show whether two readers read the same numbers in the same places.

#ifndef CLADTORCH_BENCH_CHECKSUM
#define CLADTORCH_BENCH_CHECKSUM

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Modulo 2^53, which a double holds.
inline double Folded(std::uint64_t sum)
{
   return static_cast<double>(sum & ((std::uint64_t(1) << 53) - 1));
}

/// Sum over i of `bits(x[i]) * (2 i + 1)` modulo 2^53: a changed bit changes it, and so do two swapped numbers.
/// `read.py` has the same.
inline double Checksum(const float *x, std::size_t count)
{
   std::uint64_t sum = 0;
   for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      sum += bits * (2 * std::uint64_t(i) + 1);
   }
   return Folded(sum);
}

/// The same if rows come in any order: sum of `bits(x[row, f]) * (2 f + 1)`, modulo 2^64, to be added up.
inline std::uint64_t RowsChecksum(const float *x, std::size_t rows, std::size_t width)
{
   std::uint64_t sum = 0;
   for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t f = 0; f < width; ++f) {
         std::uint32_t bits;
         std::memcpy(&bits, x + row * width + f, sizeof bits);
         sum += bits * (2 * std::uint64_t(f) + 1);
      }
   }
   return sum;
}

#endif
