/// \file Score.hxx
/// \brief One event predicted inside an event loop.

#ifndef CLADTORCH_SCORE
#define CLADTORCH_SCORE

#include <cstddef>

namespace CladTorch {
namespace Internal {

struct ModelData;

/// The result of Predict() for one event. An error is thrown but not printed, because every event could print it.
/// \param row [size]
/// \param out [outputs]
void Score(const ModelData &model, const float *row, std::size_t size, float *out, std::size_t outputs);

} // namespace Internal
} // namespace CladTorch

#endif
