/// \file Training.hxx
/// \brief A fit on its way: what its epochs are made of, whatever its events come from.

#ifndef CLADTORCH_TRAINING
#define CLADTORCH_TRAINING

#include <CladTorch/FitOptions.hxx>
#include <CladTorch/History.hxx>

#include "CoreBox.hxx"

#include "cladtorch/src/bridge/training.rs.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace CladTorch {
namespace Internal {

/// The trainer of the core, by its functions.
struct Training {
   const FitOptions &fOptions;
   std::size_t fEpochs;
   std::string fDescription;
   Core::Gives fGives = Core::Gives::Probabilities; ///< kind of the model's predictions
   std::size_t fLabels = 1;   ///< of an event
   std::string fEnded;        ///< how the fit of the checkpoint ended, if nothing is left to train
   std::function<Core::EpochPart()> fPart;                    ///< trains on the next part of an epoch
   std::function<Core::Losses()> fLosses;                     ///< of an epoch whose parts have ended
   std::function<Core::Judged(const Core::Model &)> fJudge;   ///< what the present parameters predict for the validation events
   std::function<Core::EpochRecord(Core::Losses, rust::Vec<double>)> fEndEpoch;
   std::function<rust::Vec<rust::String>()> fWarnings;
   std::function<void()> fCheckpoint;                         ///< writes one, if there is a file for it
   rust::Vec<Core::EpochRecord> fBefore;                      ///< the epochs before its checkpoint
   std::function<std::uint32_t()> fRestored;                  ///< the epoch whose parameters fFinish hands over; 0: the last
   std::function<void(Core::Model &)> fFinish;                ///< hands over what was learned

   /// On a dataset; `judges` holds the validation events, which are in `events` unless they have their own dataset.
   Training(const FitOptions &options, const Core::FitSpec &spec, Core::Trainer &trainer, const Core::Dataset &events,
            const Core::Dataset &judges);
   explicit Training(const FitOptions &options) : fOptions(options), fEpochs(static_cast<std::size_t>(options.fEpochs)) {}

   /// A history that begins with the epochs of the checkpoint. Throws for figures that the labels do not support.
   History Begin(const Core::Model &model) const;
   /// Ends an epoch of `model`: its losses and figures are the last ones of `history`. Returns whether the fit has
   /// ended.
   bool EndEpoch(const Core::Model &model, History &history) const;
   /// A copy of the model `before` with what was learned; `history` gets the epoch that its parameters come from.
   std::shared_ptr<ModelData> Finish(const std::shared_ptr<const ModelData> &before, History &history) const;
   /// The last epoch as passed to a callback.
   Epoch Last(const History &history) const;
   /// "  loss 0.5  validation 0.6  AUC 0.8" of the last epoch.
   static std::string Figures(const History &history);

private:
   static void Record(History &history, const Core::EpochRecord &epoch);
};

/// Refuses a dataset whose weight was set after its events were read.
void CheckWeight(const DatasetData &data);

/// `options` of a Resume, completed from the checkpoint; `file` is its path.
FitOptions ResumedOptions(const FitOptions &options, const std::string &file);

} // namespace Internal
} // namespace CladTorch

#endif
