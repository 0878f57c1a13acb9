#include <CladTorch/Mlp.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "FitSpec.hxx"
#include "Interrupt.hxx"
#include "Progress.hxx"
#include "ReadingThread.hxx"

#include <TError.h>

#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// [rows, outputs] row-major.
std::vector<float> Run(const ModelData &model, const DatasetData &data, bool raw)
{
   return Interruptible("the prediction", [&](const InterruptScope &) {
      std::vector<float> out(Core::dataset_rows(*data.fCore) * Core::model_outputs(*model.fCore));
      Core::model_predict(*model.fCore, *data.fCore, raw, Threads(0), {out.data(), out.size()});
      return out;
   });
}

constexpr const char *kFit = "CladTorch::Mlp::Fit";

void Warn(const rust::Vec<rust::String> &messages)
{
   for (const auto &message : messages)
      ::Warning(kFit, "%s", std::string(message).c_str());
}

void WarnOfThreads(const FitOptions &options)
{
   const auto cores = Core::cores();
   if (options.fThreads > 0 && static_cast<std::size_t>(options.fThreads) > cores)
      ::Warning(kFit, "fThreads = %d, but this process has %zu cores: the fit runs on as many threads", options.fThreads,
                cores);
}

void CheckWeight(const DatasetData &data)
{
   const auto &text = data.fWeight.fText;
   if (!text.empty() && text != data.fReadWeight)
      throw std::runtime_error("SetWeight(\"" + text + "\") came after the last Add, so that no event has this weight: call "
                               "it before Add");
}

CladTorch::Scaler ToScaler(const Core::ScalerSpec &spec)
{
   return {{spec.mean.begin(), spec.mean.end()}, {spec.deviation.begin(), spec.deviation.end()}};
}

} // namespace

Mlp::Mlp(const std::vector<std::size_t> &sizes, EActivation activation, EInit init, std::uint64_t seed)
   : fData(Guard("CladTorch::Mlp", [&] {
        return std::make_shared<ModelData>(Core::model_new({sizes.data(), sizes.size()},
                                                           static_cast<std::uint8_t>(activation),
                                                           static_cast<std::uint8_t>(init), seed));
     }))
{
}

Mlp::Mlp(const std::vector<std::size_t> &sizes, const std::string &activation, EInit init, std::uint64_t seed)
   : fData(Guard("CladTorch::Mlp", [&] {
        return Interruptible("the compilation of the activation", [&](const InterruptScope &) {
           return std::make_shared<ModelData>(Core::model_new_own({sizes.data(), sizes.size()}, activation,
                                                                  static_cast<std::uint8_t>(init), seed));
        });
     }))
{
}

Mlp::Mlp(std::shared_ptr<ModelData> data, FromCore) : fData(std::move(data)) {}

/// What RunEpochs() needs of a trainer.
struct Mlp::Training {
   const FitOptions &fOptions;
   std::size_t fEpochs;
   std::string fDescription;
   std::function<Core::EpochPart()> fPart;       ///< trains on the next part of an epoch
   std::function<Core::EpochRecord()> fEndEpoch; ///< gives its losses
   std::function<rust::Vec<rust::String>()> fWarnings;
   std::function<void(Core::Model &)> fFinish; ///< hands over what was learned
};

/// Runs epochs until all are done or Ctrl-C is pressed. The model then has what was learned, whichever it was.
History Mlp::RunEpochs(const Training &training, const InterruptScope &interrupt)
{
   const auto &options = training.fOptions;
   History history;
   history.fDescription = training.fDescription;
   if (options.fVerbose >= Core::verbosity_of_back_end(ToSpec(options)))
      std::cout << history.fDescription << std::endl;
   WarnOfThreads(options);
   Warn(training.fWarnings());
   Progress progress(training.fEpochs, options.fVerbose < 1);
   while (history.Epochs() < training.fEpochs && !history.fInterrupted) {
      const auto part = training.fPart();
      progress.Part(part.rows, part.expected);
      if (part.ended) {
         const auto epoch = training.fEndEpoch();
         history.fTrainLoss.push_back(epoch.train_loss);
         history.fValidationLoss.push_back(epoch.validation_loss);
         history.fSeconds.push_back(epoch.seconds);
         progress.Epoch(epoch.train_loss, epoch.validation_loss, epoch.seconds);
      }
      if (const auto messages = training.fWarnings(); !messages.empty()) {
         progress.Finish();
         Warn(messages);
      }
      history.fInterrupted = interrupt.Requested() && history.Epochs() < training.fEpochs;
   }
   progress.Finish();
   auto trained = std::make_shared<ModelData>(Core::model_clone(*fData->fCore));
   training.fFinish(*trained->fCore);
   trained->fLastFit = history;
   fData = std::move(trained);
   if (history.fInterrupted)
      throw Stopped("interrupted after epoch " + std::to_string(history.Epochs()) + " of " +
                    std::to_string(training.fEpochs) + "; the model keeps what it has learned, LastFit() has the losses");
   return history;
}

History Mlp::Fit(const Dataset &data, const FitOptions &options)
{
   return Guard(kFit, [&] {
      return Interruptible("the training", [&](const InterruptScope &interrupt) {
         const auto &events = *data.fData->fCore;
         CheckWeight(*data.fData);
         const auto spec = ToSpec(options);
         auto trainer = Core::trainer_new(*fData->fCore, events, spec);
         const Training training{options,
                                 spec.epochs,
                                 std::string(Core::trainer_describe(*trainer)),
                                 [&] { return Core::trainer_part(*trainer, events); },
                                 [&] { return Core::trainer_end_epoch(*trainer, events); },
                                 [&] { return Core::trainer_warnings(*trainer); },
                                 [&](Core::Model &model) { Core::trainer_finish(*trainer, model); }};
         return RunEpochs(training, interrupt);
      });
   });
}

namespace {

/// The epochs of a stream, one after the other, each read by a thread of its own.
class StreamEpochs {
public:
   StreamEpochs(std::shared_ptr<StreamData> data, const Core::FitSpec &spec) : fData(std::move(data)), fSpec(spec) {}

   Core::EpochPart Window(Core::StreamTrainer &trainer, const Core::Model &model)
   {
      if (!fEpoch) {
         fEpoch.emplace(fData->Epoch(++fNumber, kTraining, fSpec));
         fThread.emplace(fData, **fEpoch);
      }
      return Core::stream_trainer_window(trainer, model, **fEpoch);
   }

   Core::EpochRecord End(Core::StreamTrainer &trainer)
   {
      fThread.reset();
      fEpoch.reset();
      return Core::stream_trainer_end_epoch(trainer);
   }

private:
   std::shared_ptr<StreamData> fData;
   Core::FitSpec fSpec;
   std::uint64_t fNumber = 0;
   std::optional<rust::Box<Core::Epoch>> fEpoch;
   std::optional<ReadingThread> fThread; ///< ends before what it reads for
};

} // namespace

History Mlp::Fit(const Stream &stream, const FitOptions &options)
{
   return Guard(kFit, [&] {
      return Interruptible("the training", [&](const InterruptScope &interrupt) {
         const auto &data = stream.fData;
         const auto spec = ToSpec(options);
         const SerialScope serial(true); // ROOT's part of the reading
         const auto start = [&] {
            auto sample = data->Epoch(0, kTraining, spec);
            const ReadingThread thread(data, *sample);
            return Core::stream_trainer_new(*fData->fCore, *data->fCore, spec, *sample);
         };
         auto trainer = start();
         StreamEpochs epochs(data, spec);
         const Training training{options,
                                 spec.epochs,
                                 std::string(Core::stream_trainer_describe(*trainer)),
                                 [&] { return epochs.Window(*trainer, *fData->fCore); },
                                 [&] { return epochs.End(*trainer); },
                                 [&] { return Core::stream_trainer_warnings(*trainer); },
                                 [&](Core::Model &model) { Core::stream_trainer_finish(*trainer, model); }};
         return RunEpochs(training, interrupt);
      });
   });
}

History Mlp::LastFit() const
{
   return fData->fLastFit;
}

std::vector<float> Mlp::Predict(const Dataset &data) const
{
   return Guard("CladTorch::Mlp::Predict", [&] { return Run(*fData, *data.fData, false); });
}

std::vector<float> Mlp::Logits(const Dataset &data) const
{
   return Guard("CladTorch::Mlp::Logits", [&] { return Run(*fData, *data.fData, true); });
}

std::size_t Mlp::Inputs() const
{
   return Core::model_inputs(*fData->fCore);
}

std::size_t Mlp::Outputs() const
{
   return Core::model_outputs(*fData->fCore);
}

std::vector<std::string> Mlp::Columns() const
{
   return Guard("CladTorch::Mlp::Columns", [&] {
      std::vector<std::string> names;
      for (const auto &column : Core::model_columns(*fData->fCore))
         names.emplace_back(column.name);
      return names;
   });
}

std::vector<std::string> Mlp::Targets() const
{
   return Guard("CladTorch::Mlp::Targets", [&] { return Strings(Core::model_targets(*fData->fCore)); });
}

FloatView Mlp::Parameters() const
{
   const auto values = Core::model_parameters(*fData->fCore);
   return {values.data(), values.size(), 0, fData};
}

/// Runs `change` on a copy: who shares the model keeps it as it was, and so does this one where it throws.
template <class F>
void Mlp::Change(const char *method, F change)
{
   Guard(method, [&] {
      auto changed = std::make_shared<ModelData>(Core::model_clone(*fData->fCore));
      changed->fFromFile = fData->fFromFile;
      change(*changed);
      fData = std::move(changed);
   });
}

void Mlp::SetParameters(const std::vector<float> &values)
{
   Change("CladTorch::Mlp::SetParameters",
          [&](ModelData &model) { Core::model_set_parameters(*model.fCore, Slice(values)); });
}

void Mlp::SetColumns(const std::vector<std::string> &names)
{
   Guard("CladTorch::Mlp::SetColumns", [&] { SetColumns(Dataset(names)); });
}

void Mlp::SetColumns(const Dataset &data)
{
   Change("CladTorch::Mlp::SetColumns", [&](ModelData &model) {
      Core::model_set_columns(*model.fCore, Core::dataset_columns(*data.fData->fCore));
      model.fFromFile = false;
   });
}

CladTorch::Scaler Mlp::Scaler() const
{
   return ToScaler(Core::model_scaler(*fData->fCore));
}

void Mlp::SetScaler(const std::vector<double> &mean, const std::vector<double> &deviation)
{
   Change("CladTorch::Mlp::SetScaler",
          [&](ModelData &model) { Core::model_set_scaler(*model.fCore, Slice(mean), Slice(deviation)); });
}

CladTorch::Scaler Mlp::TargetScaler() const
{
   return ToScaler(Core::model_target_scaler(*fData->fCore));
}

void Mlp::SetTargetScaler(const std::vector<double> &mean, const std::vector<double> &deviation)
{
   Change("CladTorch::Mlp::SetTargetScaler",
          [&](ModelData &model) { Core::model_set_target_scaler(*model.fCore, Slice(mean), Slice(deviation)); });
}

FitOptions Mlp::Options() const
{
   return Guard("CladTorch::Mlp::Options", [&] { return FromSpec(Core::model_options(*fData->fCore)); });
}

void Mlp::SetOptions(const FitOptions &options)
{
   Change("CladTorch::Mlp::SetOptions",
          [&](ModelData &model) { Core::model_set_options(*model.fCore, ToSpec(options)); });
}

void Mlp::Save(const std::string &path) const
{
   Guard("CladTorch::Mlp::Save", [&] { Core::model_save(*fData->fCore, path); });
}

Mlp Mlp::Load(const std::string &path, const std::string &activation)
{
   return Guard("CladTorch::Mlp::Load", [&] {
      const auto load = [&] {
         auto loaded = std::make_shared<ModelData>(Core::model_load(path, activation));
         loaded->fFromFile = true;
         return Mlp(std::move(loaded), FromCore());
      };
      return Interruptible("the compilation of the activation", [&](const InterruptScope &) { return load(); });
   });
}

void Mlp::Print() const
{
   Guard("CladTorch::Mlp::Print", [&] { std::cout << Core::model_describe(*fData->fCore) << std::flush; });
}

} // namespace CladTorch
