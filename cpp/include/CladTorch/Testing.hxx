/// \file CladTorch/Testing.hxx
/// \brief What the tests of CladTorch need and users do not; not part of the umbrella header.

#ifndef CLADTORCH_TESTING
#define CLADTORCH_TESTING

namespace CladTorch {
namespace Testing {

/// Panics inside the Rust core; arrives as CladTorch::Error.
void ProvokePanic();

} // namespace Testing
} // namespace CladTorch

#endif
