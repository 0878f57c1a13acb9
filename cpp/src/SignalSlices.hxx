// Numbers on their way between C++ and the Rust core.

#ifndef CLADTORCH_SIGNALSLICES
#define CLADTORCH_SIGNALSLICES

#include "rust/cxx.h"

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

} // namespace Internal
} // namespace CladTorch

#endif
