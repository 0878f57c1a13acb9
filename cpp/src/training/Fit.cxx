// Fits of models, and how they continue from checkpoints.

#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "CoreBox.hxx"
#include "FilePath.hxx"
#include "FitSpec.hxx"
#include "Interrupt.hxx"
#include "LiveCanvas.hxx"
#include "Progress.hxx"
#include "Ranks.hxx"
#include "ReadingThread.hxx"
#include "Training.hxx"

#include "cladtorch/src/bridge/process.rs.h"
#include "cladtorch/src/bridge/stream.rs.h"
#include "cladtorch/src/bridge/training.rs.h"

#include <TError.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

namespace CladTorch {

using namespace Internal;

namespace {

void Warn(const std::string &where, const rust::Vec<rust::String> &messages)
{
   for (const auto &message : messages)
      ::Warning(where.c_str(), "%s", std::string(message).c_str());
}

void WarnOfThreads(const std::string &where, const FitOptions &options)
{
   const auto cores = Core::cores();
   if (options.fThreads > 0 && static_cast<std::size_t>(options.fThreads) > cores)
      ::Warning(where.c_str(), "fThreads = %d, but this process has %zu cores: the fit runs on as many threads", options.fThreads,
                cores);
}

/// Asks the callback whether the fit ends here.
bool Ends(const Training &training, const History &history)
{
   const auto &callback = training.fOptions.fCallback;
   if (!callback)
      return false;
   const auto epoch = training.Last(history);
   try {
      return callback(epoch);
   } catch (const Interrupted &) {
      throw;
   } catch (const std::exception &e) {
      throw std::runtime_error("fCallback threw after epoch " + std::to_string(epoch.fNumber) + ": " + e.what());
   }
}

/// Refuses class numbers for a loss that would treat them as values, if rows of 0 and 1 may be meant.
void CheckClassNumbers(const LossData &loss, const Dataset &data, std::size_t outputs, const FitOptions &options)
{
   const auto labels = data.Labels();
   const auto isClass = [outputs](float label) { return label >= 0 && label < outputs && label == std::floor(label); };
   // By chance this may be true of the events of one rank.
   if (!loss.fMayMeanRows || AnyRank(options, !std::all_of(labels.begin(), labels.end(), isClass)))
      return;
   const auto count = std::to_string(outputs);
   throw std::runtime_error("the labels are class numbers from 0 to " + std::to_string(outputs - 1) + ", and the loss, which treats all outputs alike, takes "
                            "them as [events, 1] and as rows [events, " + count + "] of 0 and 1: say which. y.flatten() are the numbers [events], "
                            "(y.flatten().unsqueeze(1) == torch::arange(" + count + ")).to(torch::kFloat) the rows");
}

} // namespace

/// Runs epochs until all are done, the callback ends the fit or Ctrl-C is pressed. In all cases the model then has what
/// was learned, also if the figures of an epoch or the callback noticed Ctrl-C.
History Model::RunEpochs(const Training &training, const InterruptScope &interrupt)
{
   const auto &options = training.fOptions;
   const auto where = Where("Fit");
   auto history = training.Begin(*fData->fCore);
   if (options.fVerbose >= Core::verbosity_of_back_end(ToSpec(options), *fData->fCore))
      std::cout << history.fDescription << std::endl;
   WarnOfThreads(where, options);
   Warn(where, training.fWarnings());
   Progress progress(training.fEpochs, history.Epochs(), options.fVerbose < 1);
   LiveCanvas canvas(options.fLive);
   bool ended = !training.fEnded.empty(), stopped = false, isWhole = true;
   if (ended && options.fVerbose > 0)
      std::cout << "the fit of the checkpoint " << training.fEnded << ": the model is the one that it gave" << std::endl;
   while (!ended && !history.fInterrupted) {
      const auto part = training.fPart();
      progress.Part(part.rows, part.expected);
      if (part.ended) {
         try {
            const bool last = training.EndEpoch(*fData->fCore, history);
            stopped = Ends(training, history) && !last;
            ended = last || stopped;
         } catch (...) {
            if (!interrupt.Requested())
               throw;
            if (IsShared(options)) // the others are in the middle of an epoch, too, and wait for this process
               throw std::runtime_error("interrupted within the figures of an epoch");
            history.fInterrupted = true;
            isWhole = false; // a checkpoint would resume the epoch after its losses
            break;
         }
         progress.Epoch(Training::Figures(history), history.fSeconds.back());
         canvas.Update(history, ended);
      }
      if (const auto messages = training.fWarnings(); !messages.empty()) {
         progress.Finish();
         Warn(where, messages);
      }
      history.fInterrupted = AnyRank(options, interrupt.Requested()) && !ended;
   }
   progress.Finish();
   if ((history.fInterrupted && isWhole) || stopped)
      training.fCheckpoint();
   auto trained = training.Finish(fData, history);
   if (history.fRestoredEpoch && options.fVerbose > 0)
      std::cout << "the model has the parameters of epoch " << history.fRestoredEpoch << ", validation loss "
                << history.fValidationLoss[history.fRestoredEpoch - 1] << std::endl;
   Replace(std::move(trained));
   if (history.fInterrupted)
      throw Stopped("interrupted after epoch " + std::to_string(history.Epochs()) + " of " +
                    std::to_string(training.fEpochs) + "; the model keeps what it has learned, LastFit() has the losses");
   return history;
}

namespace {

/// Labels of an event.
std::size_t LabelsOf(const DatasetData &data)
{
   return std::max<std::size_t>(1, Core::dataset_label_width(*data.fCore));
}

std::size_t LabelsOf(const StreamData &data)
{
   return std::max<std::size_t>(1, Core::stream_targets(*data.fCore).size());
}

} // namespace

History Model::FitDataset(const Dataset &data, const FitOptions &options, const Dataset *validation,
                          const std::string &path, const LossData &loss)
{
   return LongCall(Where(path.empty() ? "Fit" : "Resume"), [&](const InterruptScope &interrupt) {
      return OnRanks(options, [&](const FitOptions &own) {
         const auto &events = *data.fData->fCore;
         CheckWeight(*data.fData);
         CheckClassNumbers(loss, data, Outputs(), options);
         if (validation)
            CheckWeight(*validation->fData);
         const auto spec = ToSpec(own);
         const auto &judges = validation ? *validation->fData->fCore : events;
         const auto &model = *DataToFit(own).fCore;
         auto trainer = validation ? Core::trainer_validated(model, events, judges, spec, *loss.fCore)
                                   : Core::trainer_new(model, events, spec, *loss.fCore);
         if (!path.empty())
            Core::trainer_resume(*trainer, path);
         return RunEpochs(Training(own, spec, *trainer, events, judges), interrupt);
      });
   }, "the training");
}

History Model::Fit(const Dataset &data, const FitOptions &options)
{
   return FitDataset(data, options, nullptr, "", {Core::fit_loss_of_options()});
}

History Model::Fit(const Dataset &data, const Dataset &validation, const FitOptions &options)
{
   return FitDataset(data, options, &validation, "", {Core::fit_loss_of_options()});
}

History Model::Fit(const Dataset &data, const FitOptions &options, const TensorLoss &loss)
{
   return FitDataset(data, options, nullptr, "", *loss.Observe(Outputs(), LabelsOf(*data.fData)));
}

History Model::Fit(const Dataset &data, const Dataset &validation, const FitOptions &options, const TensorLoss &loss)
{
   return FitDataset(data, options, &validation, "", *loss.Observe(Outputs(), LabelsOf(*data.fData)));
}

namespace {

/// The epochs of a stream, one after the other, each read by its own thread.
class StreamEpochs {
public:
   /// Skips the first `before` epochs.
   StreamEpochs(std::shared_ptr<StreamData> data, const Core::FitSpec &spec, std::uint64_t before)
      : fData(std::move(data)), fSpec(spec), fNumber(before)
   {
   }

   Core::EpochPart Window(Core::StreamTrainer &trainer, const Core::Model &model)
   {
      if (!fEpoch) {
         fEpoch.emplace(fData->EpochOfRank(++fNumber, fSpec));
         fThread.emplace(fData, **fEpoch);
      }
      return Core::stream_trainer_window(trainer, model, **fEpoch);
   }

   Core::Losses Losses(Core::StreamTrainer &trainer, const DatasetData *validation)
   {
      fThread.reset();
      fEpoch.reset();
      return validation ? Core::stream_trainer_losses_validated(trainer, *validation->fCore)
                        : Core::stream_trainer_losses(trainer);
   }

private:
   std::shared_ptr<StreamData> fData;
   Core::FitSpec fSpec;
   std::uint64_t fNumber;
   std::optional<rust::Box<Core::Epoch>> fEpoch;
   std::optional<ReadingThread> fThread; ///< ends before the objects that it reads for
};

} // namespace

History Model::FitStream(const Stream &stream, const FitOptions &options, const Dataset *validation,
                         const std::string &path, const LossData &loss)
{
   return LongCall(Where(path.empty() ? "Fit" : "Resume"), [&](const InterruptScope &interrupt) {
      return OnRanks(options, [&](const FitOptions &own) {
         const auto &data = stream.fData;
         auto spec = ToSpec(own);
         if (validation) {
            CheckWeight(*validation->fData);
            spec.validation = 0;
         }
         const SerialScope serial(true); // ROOT's part of the reading
         const auto start = [&] {
            auto sample = data->Epoch(0, kTraining, spec);
            const ReadingThread thread(data, *sample);
            const auto &model = *DataToFit(own).fCore;
            return validation ? Core::stream_trainer_validated(model, *data->fCore, *validation->fData->fCore, spec,
                                                               *loss.fCore, *sample)
                              : Core::stream_trainer_new(model, *data->fCore, spec, *loss.fCore, *sample);
         };
         auto trainer = start();
         if (!path.empty())
            Core::stream_trainer_resume(*trainer, path);
         Training training(own);
         training.fDescription = std::string(Core::stream_trainer_describe(*trainer));
         training.fGives = Core::stream_trainer_gives(*trainer);
         training.fLabels = LabelsOf(*data);
         training.fEnded = std::string(Core::stream_trainer_ended(*trainer));
         training.fBefore = Core::stream_trainer_history(*trainer);
         StreamEpochs epochs(data, spec, training.fBefore.size());
         training.fPart = [&] { return epochs.Window(*trainer, *fData->fCore); };
         training.fLosses = [&] { return epochs.Losses(*trainer, validation ? validation->fData.get() : nullptr); };
         training.fJudge = [&](const Core::Model &model) {
            return validation ? Core::stream_trainer_judge_validated(*trainer, model, *validation->fData->fCore)
                              : Core::stream_trainer_judge(*trainer, model);
         };
         training.fEndEpoch = [&](Core::Losses losses, rust::Vec<double> metrics) {
            return Core::stream_trainer_end_epoch(*trainer, losses, std::move(metrics));
         };
         training.fWarnings = [&] { return Core::stream_trainer_warnings(*trainer); };
         training.fCheckpoint = [&] { Core::stream_trainer_checkpoint(*trainer); };
         training.fRestored = [&] { return Core::stream_trainer_restored(*trainer); };
         training.fFinish = [&](Core::Model &model) { Core::stream_trainer_finish(*trainer, model); };
         return RunEpochs(training, interrupt);
      });
   }, "the training");
}

History Model::Fit(const Stream &stream, const FitOptions &options)
{
   return FitStream(stream, options, nullptr, "", {Core::fit_loss_of_options()});
}

History Model::Fit(const Stream &stream, const Dataset &validation, const FitOptions &options)
{
   return FitStream(stream, options, &validation, "", {Core::fit_loss_of_options()});
}

History Model::Fit(const Stream &stream, const FitOptions &options, const TensorLoss &loss)
{
   return FitStream(stream, options, nullptr, "", *loss.Observe(Outputs(), LabelsOf(*stream.fData)));
}

History Model::Fit(const Stream &stream, const Dataset &validation, const FitOptions &options, const TensorLoss &loss)
{
   return FitStream(stream, options, &validation, "", *loss.Observe(Outputs(), LabelsOf(*stream.fData)));
}

/// Calls `fit` with the options and the path of the checkpoint at `path`.
template <class F>
History Model::ResumeBy(const std::string &path, const FitOptions &options, F fit)
{
   return LongCall(Where("Resume"), [&] {
      const auto file = FilePath(path);
      return fit(ResumedOptions(options, file), file);
   });
}

History Model::Resume(const Dataset &data, const std::string &path, const FitOptions &options)
{
   return ResumeBy(path, options, [&](const FitOptions &resumed, const std::string &file) {
      return FitDataset(data, resumed, nullptr, file, {Core::fit_loss_of_options()});
   });
}

History Model::Resume(const Dataset &data, const Dataset &validation, const std::string &path, const FitOptions &options)
{
   return ResumeBy(path, options, [&](const FitOptions &resumed, const std::string &file) {
      return FitDataset(data, resumed, &validation, file, {Core::fit_loss_of_options()});
   });
}

History Model::Resume(const Stream &stream, const std::string &path, const FitOptions &options)
{
   return ResumeBy(path, options, [&](const FitOptions &resumed, const std::string &file) {
      return FitStream(stream, resumed, nullptr, file, {Core::fit_loss_of_options()});
   });
}

History Model::Resume(const Stream &stream, const Dataset &validation, const std::string &path, const FitOptions &options)
{
   return ResumeBy(path, options, [&](const FitOptions &resumed, const std::string &file) {
      return FitStream(stream, resumed, &validation, file, {Core::fit_loss_of_options()});
   });
}

} // namespace CladTorch
