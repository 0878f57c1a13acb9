/// \file EventParts.hxx
/// \brief Functions of several tensors, as functions of flat events.

#ifndef CLADTORCH_EVENTPARTS
#define CLADTORCH_EVENTPARTS

#include "Observe.hxx"

#include <cstddef>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The number of elements of an event of that shape. Throws for one that no event has.
std::size_t Width(const std::vector<std::size_t> &shape);

/// `function` of tensors [events, shape...] as one of flat events [events, elements], whose elements are those of the
/// tensors, one after the other.
ListFunction OfParts(ListFunction function, std::vector<std::vector<std::size_t>> shapes);

} // namespace Internal
} // namespace CladTorch

#endif
