/// \file FitSpec.hxx
/// \brief FitOptions for the core, and back.

#ifndef CLADTORCH_FITSPEC
#define CLADTORCH_FITSPEC

#include <CladTorch/FitOptions.hxx>

#include "CoreBox.hxx"

#include "cladtorch/src/bridge/training.rs.h"

namespace CladTorch {
namespace Internal {

/// Throws for a negative number in an option that must not be negative; the core checks the rest. Limits the threads to
/// the number of cores: more would wait for each other, so that milliseconds take seconds.
Core::FitSpec ToSpec(const FitOptions &options);

/// The options that the core knows; the others, and fMetrics, have their defaults.
FitOptions FromSpec(const Core::FitSpec &spec);

} // namespace Internal
} // namespace CladTorch

#endif
