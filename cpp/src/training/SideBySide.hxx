/// \file SideBySide.hxx
/// \brief Several fits to the same events that run at once, each on a share of the threads.

#ifndef CLADTORCH_SIDEBYSIDE
#define CLADTORCH_SIDEBYSIDE

#include <CladTorch/FitOptions.hxx>
#include <CladTorch/History.hxx>

#include "CoreBox.hxx"
#include "Interrupt.hxx"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

/// One of several fits.
struct FitTask {
   std::shared_ptr<const ModelData> fBefore;
   FitOptions fOptions;
   std::shared_ptr<const std::vector<std::uint32_t>> fRows = {}; ///< rows of the dataset to train on; none: all
   std::shared_ptr<ModelData> fTrained = {}; ///< a trained copy of fBefore
   std::vector<std::string> fWarnings = {};
   bool fMayFail = false;                    ///< its exception is kept in fError
   std::string fError = {};
};

/// The rows of a dataset in folds.
struct Folds {
   /// \param foldOf [rows], below `count`
   Folds(const rust::Vec<std::uint32_t> &foldOf, std::size_t count);

   std::vector<std::vector<std::uint32_t>> fHeld;                            ///< [folds], the rows of each
   std::vector<std::shared_ptr<const std::vector<std::uint32_t>>> fOthers; ///< [folds], all others
};

/// Runs all tasks. Throws the exception of a task that may not fail, and Stopped at Ctrl-C; fTrained of the others may
/// then be missing.
/// \param ended Called in this thread with the number of each task that has ended, in any order.
void FitSideBySide(std::vector<FitTask> &tasks, const DatasetData &data, const InterruptScope &interrupt,
                   const std::function<void(std::size_t)> &ended);

/// Prints the losses and warnings of a task that has ended.
/// \param what The name of a task: "fold". They are counted from 0.
void SayEnded(const std::string &where, const std::string &what, std::size_t number, const std::vector<FitTask> &tasks);

/// The epoch whose parameters a fit kept, from 0 on.
std::size_t KeptEpoch(const History &history);

/// The mean of a figure over several fits, and its standard error from their spread.
struct FitMean {
   /// \param values NaN is left out. Without others the mean is NaN, and with a single one the error.
   explicit FitMean(const std::vector<double> &values);

   double fMean, fError;
};

/// The model from which several fits start: never with parameters that may have seen the events that judge.
/// \param what For the message: "cross-validate".
std::shared_ptr<const ModelData> StartOf(const std::shared_ptr<ModelData> &model, const std::string &what);

/// The predictions of `model` for the events `rows`, and the values before the last step: [rows, outputs] of both.
std::pair<std::vector<float>, std::vector<float>>
PredictRows(const Core::Dataset &events, const ModelData &model, const std::vector<std::uint32_t> &rows);

/// Refuses options that belong to a single fit.
void CheckSeveralFits(const FitOptions &options);

} // namespace Internal
} // namespace CladTorch

#endif
