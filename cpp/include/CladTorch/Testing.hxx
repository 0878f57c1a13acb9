/// \file CladTorch/Testing.hxx
/// \brief Hooks for CladTorch's own tests; not part of the umbrella header.

#ifndef CLADTORCH_TESTING
#define CLADTORCH_TESTING

namespace CladTorch {
namespace Testing {

/// Panics inside the Rust core; arrives as CladTorch::Error.
void ProvokePanic();

} // namespace Testing
} // namespace CladTorch

#endif
