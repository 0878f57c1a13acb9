/// \file Flatten.hxx
/// \brief A column's numbers as the float32 of a row.

#ifndef CLADTORCH_FLATTEN
#define CLADTORCH_FLATTEN

#include "Collector.hxx"

namespace CladTorch {
namespace Internal {

/// Converts `numbers` to `target.fLength` floats, truncated or padded; for a mask to 1 for each element and 0 for each
/// pad. For a column of objects all are converted.
/// \param out [target.fLength], or for objects as many as `numbers`
/// \return Whether all are finite; otherwise `bad` is the first that is not.
bool Flatten(const Numbers &numbers, const ColumnTarget &target, float *out, std::string &bad);

} // namespace Internal
} // namespace CladTorch

#endif
