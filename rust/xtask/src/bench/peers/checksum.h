/// \file checksum.h
/// \brief What shows that two readers read the same numbers in the same places.

#ifndef CLADTORCH_BENCH_CHECKSUM
#define CLADTORCH_BENCH_CHECKSUM

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Sum over i of `bits(x[i]) * (2 i + 1)` modulo 2^53: a bit that differs changes it, two numbers that change places
/// too, and a double holds it. `read.py` has the same.
inline double Checksum(const float *x, std::size_t count)
{
   std::uint64_t sum = 0;
   for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      sum += bits * (2 * std::uint64_t(i) + 1);
   }
   return static_cast<double>(sum & ((std::uint64_t(1) << 53) - 1));
}

#endif
