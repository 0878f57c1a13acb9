/// \file MetricChecks.hxx
/// \brief Which figures judge which models.

#ifndef CLADTORCH_METRICCHECKS
#define CLADTORCH_METRICCHECKS

#include <CladTorch/Metric.hxx>

#include "CoreBox.hxx"

#include <vector>

namespace CladTorch {
namespace Internal {

/// Throws for an EMetric that does not judge the model's predictions, and names those that do.
void CheckMetrics(const std::vector<Metric> &metrics, Core::Gives gives);

} // namespace Internal
} // namespace CladTorch

#endif
