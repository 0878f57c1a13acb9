#include <CladTorch/Model.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "FilePath.hxx"
#include "FitSpec.hxx"
#include "Interrupt.hxx"
#include "Progress.hxx"
#include "ReadingThread.hxx"

#include "cladtorch/src/bridge/process.rs.h"
#include "cladtorch/src/bridge/stream.rs.h"
#include "cladtorch/src/bridge/training.rs.h"

#include <TError.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

std::shared_ptr<ModelData> ModelData::Copy() const
{
   auto copy = std::make_shared<ModelData>(Core::model_clone(*fCore));
   copy->fClass = fClass;
   copy->fFromFile = fFromFile;
   copy->fDrawn = fDrawn.load();
   copy->fModule = fModule;
   copy->fCounts = fCounts;
   copy->fLastFit = fLastFit;
   return copy;
}

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

Model::Model(std::shared_ptr<ModelData> data, FromCore) : fData(std::move(data)) {}

/// A method by the name that the user knows, for messages.
std::string Model::Where(const char *method) const
{
   return std::string("CladTorch::") + fData->fClass + "::" + method;
}

/// To be read, once it is sure that the module behind it still has its parameters.
const ModelData &Model::Data() const
{
   if (fData->fModule)
      fData->fModule->Check(*fData);
   return *fData;
}

namespace {
/// Says once of a model that it knows nothing yet.
const ModelData &Told(const ModelData &model)
{
   if (model.fDrawn.exchange(false))
      ::Warning((std::string("CladTorch::") + model.fClass).c_str(),
                "the model was not trained and was given no parameters: it predicts with random initial weights");
   return model;
}
} // namespace

/// What later changes do not reach.
std::shared_ptr<const ModelData> Model::Frozen() const
{
   if (!Told(Data()).fModule)
      return fData;
   auto copy = fData->Copy();
   copy->fCore->freeze();
   return copy;
}

/// What RunEpochs() needs of a trainer.
struct Model::Training {
   const FitOptions &fOptions;
   std::size_t fEpochs;
   std::string fDescription;
   std::function<Core::EpochPart()> fPart;       ///< trains on the next part of an epoch
   std::function<Core::EpochRecord()> fEndEpoch; ///< gives its losses
   std::function<rust::Vec<rust::String>()> fWarnings;
   std::function<void()> fCheckpoint; ///< writes one, if there is a file for it
   rust::Vec<Core::EpochRecord> fBefore; ///< the epochs before the checkpoint that it goes on from
   std::function<std::uint32_t()> fRestored; ///< the epoch whose parameters fFinish hands over; 0: the last
   std::function<void(Core::Model &)> fFinish; ///< hands over what was learned
};

/// The model is `data` from now on, and so is the module behind it.
void Model::Replace(std::shared_ptr<ModelData> data)
{
   if (data->fModule)
      data->fModule->Share(data);
   fData = std::move(data);
}

template <class Epoch>
void Model::Record(History &history, const Epoch &epoch)
{
   history.fTrainLoss.push_back(epoch.train_loss);
   history.fValidationLoss.push_back(epoch.validation_loss);
   history.fSeconds.push_back(epoch.seconds);
   history.fLearningRate.push_back(epoch.learning_rate);
}

/// Runs epochs until all are done or Ctrl-C is pressed. The model then has what was learned, whichever it was.
History Model::RunEpochs(const Training &training, const InterruptScope &interrupt)
{
   const auto &options = training.fOptions;
   const auto where = Where("Fit");
   History history;
   history.fDescription = training.fDescription;
   if (options.fVerbose >= Core::verbosity_of_back_end(ToSpec(options), *fData->fCore))
      std::cout << history.fDescription << std::endl;
   WarnOfThreads(where, options);
   Warn(where, training.fWarnings());
   for (const auto &epoch : training.fBefore)
      Record(history, epoch);
   Progress progress(training.fEpochs, history.Epochs(), options.fVerbose < 1);
   bool ended = false;
   while (!ended && !history.fInterrupted) {
      const auto part = training.fPart();
      progress.Part(part.rows, part.expected);
      if (part.ended) {
         const auto epoch = training.fEndEpoch();
         Record(history, epoch);
         ended = epoch.last;
         progress.Epoch(epoch.train_loss, epoch.validation_loss, epoch.seconds);
      }
      if (const auto messages = training.fWarnings(); !messages.empty()) {
         progress.Finish();
         Warn(where, messages);
      }
      history.fInterrupted = interrupt.Requested() && !ended;
   }
   progress.Finish();
   if (history.fInterrupted)
      training.fCheckpoint();
   history.fRestoredEpoch = training.fRestored();
   if (history.fRestoredEpoch && options.fVerbose > 0)
      std::cout << "the model has the parameters of epoch " << history.fRestoredEpoch << ", validation loss "
                << history.fValidationLoss[history.fRestoredEpoch - 1] << std::endl;
   auto trained = fData->Copy();
   training.fFinish(*trained->fCore);
   trained->fFromFile = trained->fDrawn = false;
   if (trained->fModule)
      trained->fModule->Count(*trained, Core::model_batches(*trained->fCore) - Core::model_batches(*fData->fCore));
   trained->fLastFit = history;
   Replace(std::move(trained));
   if (history.fInterrupted)
      throw Stopped("interrupted after epoch " + std::to_string(history.Epochs()) + " of " +
                    std::to_string(training.fEpochs) + "; the model keeps what it has learned, LastFit() has the losses");
   return history;
}

History Model::FitDataset(const Dataset &data, const FitOptions &options, const Dataset *validation,
                          const std::string &path, const LossData &loss)
{
   return Guard(Where(path.empty() ? "Fit" : "Resume").c_str(), [&] {
      return Interruptible("the training", [&](const InterruptScope &interrupt) {
         const auto &events = *data.fData->fCore;
         CheckWeight(*data.fData);
         if (validation)
            CheckWeight(*validation->fData);
         const auto spec = ToSpec(options);
         const auto &judges = validation ? *validation->fData->fCore : events;
         auto trainer = validation ? Core::trainer_validated(*Data().fCore, events, judges, spec)
                                   : Core::trainer_new(*Data().fCore, events, spec, *loss.fCore);
         if (!path.empty())
            Core::trainer_resume(*trainer, path);
         const Training training{options,
                                 spec.epochs,
                                 std::string(Core::trainer_describe(*trainer)),
                                 [&] { return Core::trainer_part(*trainer, events); },
                                 [&] { return Core::trainer_end_epoch(*trainer, judges); },
                                 [&] { return Core::trainer_warnings(*trainer); },
                                 [&] { Core::trainer_checkpoint(*trainer); },
                                 Core::trainer_history(*trainer),
                                 [&] { return Core::trainer_restored(*trainer); },
                                 [&](Core::Model &model) { Core::trainer_finish(*trainer, model); }};
         return RunEpochs(training, interrupt);
      });
   });
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
   const auto labels = std::max<std::size_t>(1, Core::dataset_label_width(*data.fData->fCore));
   return FitDataset(data, options, nullptr, "", *loss.Observe(Outputs(), labels));
}

namespace {

/// The epochs of a stream, one after the other, each read by a thread of its own.
class StreamEpochs {
public:
   /// Those after the first `before`.
   StreamEpochs(std::shared_ptr<StreamData> data, const Core::FitSpec &spec, std::uint64_t before)
      : fData(std::move(data)), fSpec(spec), fNumber(before)
   {
   }

   Core::EpochPart Window(Core::StreamTrainer &trainer, const Core::Model &model)
   {
      if (!fEpoch) {
         fEpoch.emplace(fData->Epoch(++fNumber, kTraining, fSpec));
         fThread.emplace(fData, **fEpoch);
      }
      return Core::stream_trainer_window(trainer, model, **fEpoch);
   }

   Core::EpochRecord End(Core::StreamTrainer &trainer, const Core::Dataset *validation)
   {
      fThread.reset();
      fEpoch.reset();
      return validation ? Core::stream_trainer_end_validated(trainer, *validation)
                        : Core::stream_trainer_end_epoch(trainer);
   }

private:
   std::shared_ptr<StreamData> fData;
   Core::FitSpec fSpec;
   std::uint64_t fNumber;
   std::optional<rust::Box<Core::Epoch>> fEpoch;
   std::optional<ReadingThread> fThread; ///< ends before what it reads for
};

} // namespace

History Model::FitStream(const Stream &stream, const FitOptions &options, const Dataset *validation,
                         const std::string &path, const LossData &loss)
{
   return Guard(Where(path.empty() ? "Fit" : "Resume").c_str(), [&] {
      return Interruptible("the training", [&](const InterruptScope &interrupt) {
         const auto &data = stream.fData;
         auto spec = ToSpec(options);
         if (validation) {
            CheckWeight(*validation->fData);
            spec.validation = 0;
         }
         const SerialScope serial(true); // ROOT's part of the reading
         const auto start = [&] {
            auto sample = data->Epoch(0, kTraining, spec);
            const ReadingThread thread(data, *sample);
            const auto &model = *Data().fCore;
            return validation
                      ? Core::stream_trainer_validated(model, *data->fCore, *validation->fData->fCore, spec, *sample)
                      : Core::stream_trainer_new(model, *data->fCore, spec, *loss.fCore, *sample);
         };
         auto trainer = start();
         if (!path.empty())
            Core::stream_trainer_resume(*trainer, path);
         auto before = Core::stream_trainer_history(*trainer);
         StreamEpochs epochs(data, spec, before.size());
         const Training training{options,
                                 spec.epochs,
                                 std::string(Core::stream_trainer_describe(*trainer)),
                                 [&] { return epochs.Window(*trainer, *fData->fCore); },
                                 [&] { return epochs.End(*trainer, validation ? validation->fData->fCore.operator->() : nullptr); },
                                 [&] { return Core::stream_trainer_warnings(*trainer); },
                                 [&] { Core::stream_trainer_checkpoint(*trainer); },
                                 std::move(before),
                                 [&] { return Core::stream_trainer_restored(*trainer); },
                                 [&](Core::Model &model) { Core::stream_trainer_finish(*trainer, model); }};
         return RunEpochs(training, interrupt);
      });
   });
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
   const auto labels = std::max<std::size_t>(1, Core::stream_targets(*stream.fData->fCore).size());
   return FitStream(stream, options, nullptr, "", *loss.Observe(Outputs(), labels));
}

/// Calls `fit` with the path of a checkpoint and the options of its fit.
template <class F>
History Model::ResumeBy(const std::string &path, F fit)
{
   return Guard(Where("Resume").c_str(), [&] {
      const auto file = FilePath(path);
      return fit(FromSpec(Core::checkpoint_options(file)), file);
   });
}

History Model::Resume(const Dataset &data, const std::string &path)
{
   return ResumeBy(path, [&](const FitOptions &options, const std::string &file) {
      return FitDataset(data, options, nullptr, file, {Core::fit_loss_of_options()});
   });
}

History Model::Resume(const Dataset &data, const Dataset &validation, const std::string &path)
{
   return ResumeBy(path, [&](const FitOptions &options, const std::string &file) {
      return FitDataset(data, options, &validation, file, {Core::fit_loss_of_options()});
   });
}

History Model::Resume(const Stream &stream, const std::string &path)
{
   return ResumeBy(path, [&](const FitOptions &options, const std::string &file) {
      return FitStream(stream, options, nullptr, file, {Core::fit_loss_of_options()});
   });
}

History Model::Resume(const Stream &stream, const Dataset &validation, const std::string &path)
{
   return ResumeBy(path, [&](const FitOptions &options, const std::string &file) {
      return FitStream(stream, options, &validation, file, {Core::fit_loss_of_options()});
   });
}

History Model::LastFit() const
{
   return fData->fLastFit;
}

std::vector<float> Model::Predict(const Dataset &data) const
{
   return Guard(Where("Predict").c_str(), [&] { return Outputs(data, false); });
}

std::vector<float> Model::Logits(const Dataset &data) const
{
   return Guard(Where("Logits").c_str(), [&] { return Outputs(data, true); });
}

std::vector<float> Model::Outputs(const Dataset &data, bool raw) const
{
   auto outputs = Run(Data(), *data.fData, raw);
   Told(*fData); // rather than beside an error
   return outputs;
}

std::size_t Model::Inputs() const
{
   return Core::model_inputs(*fData->fCore);
}

std::size_t Model::Outputs() const
{
   return Core::model_outputs(*fData->fCore);
}

std::vector<std::string> Model::Columns() const
{
   return Guard(Where("Columns").c_str(), [&] {
      std::vector<std::string> names;
      for (const auto &column : Core::model_columns(*fData->fCore))
         names.emplace_back(column.name);
      return names;
   });
}

std::vector<std::string> Model::Targets() const
{
   return Guard(Where("Targets").c_str(), [&] { return Strings(Core::model_targets(*fData->fCore)); });
}

FloatView Model::Parameters() const
{
   const auto values = Core::model_parameters(*fData->fCore);
   return {values.data(), values.size(), 0, fData};
}

/// Runs `change` on a copy: who shares the model keeps it as it was, and so does this one where it throws.
template <class F>
void Model::Change(const char *method, F change)
{
   Guard(Where(method).c_str(), [&] {
      auto changed = Data().Copy();
      changed->fLastFit = {};
      change(*changed);
      Replace(std::move(changed));
   });
}

void Model::SetParameters(const std::vector<float> &values)
{
   Change("SetParameters",
          [&](ModelData &model) {
             Core::model_set_parameters(*model.fCore, Slice(values));
             model.fDrawn = false;
          });
}

void Model::SetColumns(const std::vector<std::string> &names)
{
   Guard(Where("SetColumns").c_str(), [&] { SetColumns(Dataset(names)); });
}

void Model::SetColumns(const Dataset &data)
{
   Change("SetColumns", [&](ModelData &model) {
      Core::model_set_columns(*model.fCore, Core::dataset_columns(*data.fData->fCore));
      model.fFromFile = false;
   });
}

CladTorch::Scaler Model::Scaler() const
{
   return ToScaler(Core::model_scaler(*fData->fCore));
}

void Model::SetScaler(const std::vector<double> &mean, const std::vector<double> &deviation)
{
   Change("SetScaler",
          [&](ModelData &model) { Core::model_set_scaler(*model.fCore, Slice(mean), Slice(deviation)); });
}

CladTorch::Scaler Model::TargetScaler() const
{
   return ToScaler(Core::model_target_scaler(*fData->fCore));
}

void Model::SetTargetScaler(const std::vector<double> &mean, const std::vector<double> &deviation)
{
   Change("SetTargetScaler",
          [&](ModelData &model) { Core::model_set_target_scaler(*model.fCore, Slice(mean), Slice(deviation)); });
}

FitOptions Model::Options() const
{
   return Guard(Where("Options").c_str(), [&] { return FromSpec(Core::model_options(*fData->fCore)); });
}

void Model::SetOptions(const FitOptions &options)
{
   Change("SetOptions",
          [&](ModelData &model) { Core::model_set_options(*model.fCore, ToSpec(options)); });
}

void Model::Save(const std::string &path) const
{
   Guard(Where("Save").c_str(), [&] { Core::model_save(*Data().fCore, FilePath(path)); });
}

std::shared_ptr<ModelData> Internal::LoadModel(rust::Box<Core::Model> (*load)(rust::Str, rust::Str),
                                               const std::string &path, const std::string &activation)
{
   return Interruptible("the compilation of the activation", [&](const InterruptScope &) {
      auto loaded = std::make_shared<ModelData>(load(FilePath(path), activation));
      loaded->fFromFile = true;
      return loaded;
   });
}

Model Model::Load(const std::string &path, const std::string &activation)
{
   return Guard("CladTorch::Model::Load", [&] { return Model(LoadModel(Core::model_load, path, activation), FromCore()); });
}

void Model::Print() const
{
   Guard(Where("Print").c_str(), [&] { std::cout << Core::model_describe(*fData->fCore) << std::flush; });
}

} // namespace CladTorch
