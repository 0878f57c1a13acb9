/// \file Fills.hxx
/// \brief Tensors that a function fills with one number, as operators instead of constants.

#ifndef CLADTORCH_FILLS
#define CLADTORCH_FILLS

#include "Observe.hxx"

#include <cstddef>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The constants, of three observations of one function, that the function itself fills with one number, and whose
/// shapes differ: zeros({x.size(0), 4}).
std::vector<std::size_t> FillsOfOtherShapes(const Observation &first, const Observation (&others)[2]);

/// Replaces these constants of the observation by aten::full. Its fRecorded is unchanged. Throws Unobservable if one is
/// not filled with one number.
void SpellOutFills(Observation &observation, const std::vector<std::size_t> &fills);

} // namespace Internal
} // namespace CladTorch

#endif
