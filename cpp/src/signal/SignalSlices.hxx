// Arrays on their way between C++ and the Rust core.

#ifndef CLADTORCH_SIGNALSLICES
#define CLADTORCH_SIGNALSLICES

#include "rust/cxx.h"

#include <complex>
#include <cstddef>
#include <vector>

namespace CladTorch {
namespace Internal {

inline rust::Slice<const double> Slice(const std::vector<double> &values)
{
   return {values.data(), values.size()};
}

inline std::vector<double> Copy(const rust::Vec<double> &values)
{
   return {values.begin(), values.end()};
}

/// Copies alternating real and imaginary parts.
inline std::vector<std::complex<double>> CopyComplex(const rust::Vec<double> &parts)
{
   std::vector<std::complex<double>> values;
   values.reserve(parts.size() / 2);
   for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
      values.emplace_back(parts[i], parts[i + 1]);
   return values;
}

} // namespace Internal
} // namespace CladTorch

#endif
