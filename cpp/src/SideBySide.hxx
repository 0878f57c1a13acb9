/// \file SideBySide.hxx
/// \brief Several fits to the same events that run at once, each on a share of the threads.

#ifndef CLADTORCH_SIDEBYSIDE
#define CLADTORCH_SIDEBYSIDE

#include <CladTorch/FitOptions.hxx>
#include <CladTorch/History.hxx>

#include "CoreBox.hxx"
#include "Interrupt.hxx"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// One of several fits.
struct FitTask {
   std::shared_ptr<const ModelData> fBefore;
   FitOptions fOptions;
   std::vector<std::uint32_t> fRows;         ///< of the dataset, to train on; empty: all
   std::shared_ptr<ModelData> fTrained = {}; ///< a copy of fBefore that was trained
   std::vector<std::string> fWarnings = {};
};

/// Runs all of them. Throws what one of them throws, and Stopped at Ctrl-C; fTrained of the others may then be missing.
/// \param what Of one fit, for the lines that are printed as fits end: "fold".
void FitSideBySide(const std::string &where, const std::string &what, std::vector<FitTask> &tasks, const DatasetData &data,
                   const InterruptScope &interrupt);

/// Refuses options that belong to a single fit.
void CheckSeveralFits(const FitOptions &options);

} // namespace Internal
} // namespace CladTorch

#endif
