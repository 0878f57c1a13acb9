/// \file FitSpec.hxx
/// \brief FitOptions for the core, and back.

#ifndef CLADTORCH_FITSPEC
#define CLADTORCH_FITSPEC

#include <CladTorch/FitOptions.hxx>

#include "CoreBox.hxx"

#include "cladtorch/src/bridge/training.rs.h"

namespace CladTorch {
namespace Internal {

/// Throws for a negative number where there must be none; the core checks the rest. More threads than cores would wait
/// for each other, so that milliseconds take seconds: there are no more.
Core::FitSpec ToSpec(const FitOptions &options);

/// The options that the core knows; the others, and fMetrics, at their defaults.
FitOptions FromSpec(const Core::FitSpec &spec);

} // namespace Internal
} // namespace CladTorch

#endif
