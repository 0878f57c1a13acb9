#include <CladTorch/Mlp.hxx>
#include <CladTorch/Guard.hxx>

#include "Cancellable.hxx"
#include "CoreBox.hxx"
#include "FitSpec.hxx"
#include "Interrupt.hxx"
#include "Progress.hxx"
#include "ReadingThread.hxx"

#include <TError.h>

#include <iostream>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// [rows, outputs] row-major.
std::vector<float> Run(const ModelData &model, const DatasetData &data, bool raw)
{
   std::vector<float> out(Core::dataset_rows(*data.fCore) * Core::model_outputs(*model.fCore));
   const InterruptScope interrupt;
   Core::model_predict(*model.fCore, *data.fCore, raw, Threads(0), {out.data(), out.size()});
   interrupt.Check("the prediction");
   return out;
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
        return Cancellable([&] {
           return std::make_shared<ModelData>(Core::model_new_own({sizes.data(), sizes.size()}, activation,
                                                                  static_cast<std::uint8_t>(init), seed));
        });
     }))
{
}

Mlp::Mlp(std::shared_ptr<ModelData> data, FromCore) : fData(std::move(data)) {}

/// Runs up to `epochs` epochs; `run` gives the losses of one, or `false` where it was interrupted.
History Mlp::RunEpochs(std::size_t epochs, const FitOptions &options, std::string description,
                       const std::function<bool(Core::EpochRecord &)> &run)
{
   History history;
   history.fDescription = std::move(description);
   if (options.fVerbose > 1)
      std::cout << history.fDescription << std::endl;
   Progress progress(epochs, options.fVerbose < 1);
   Core::EpochRecord epoch{};
   while (history.Epochs() < epochs && run(epoch)) {
      history.fTrainLoss.push_back(epoch.train_loss);
      history.fValidationLoss.push_back(epoch.validation_loss);
      history.fSeconds.push_back(epoch.seconds);
      progress.Show(history.Epochs(), epoch.train_loss, epoch.validation_loss, epoch.seconds);
   }
   progress.Finish();
   if (history.Epochs() < epochs)
      ::Warning("CladTorch::Mlp::Fit", "interrupted after epoch %zu of %zu; the model keeps what it has learnt",
                history.Epochs(), epochs);
   return history;
}

History Mlp::Fit(const Dataset &data, const FitOptions &options)
{
   return Guard("CladTorch::Mlp::Fit", [&] {
      const auto &events = *data.fData->fCore;
      const auto spec = ToSpec(options);
      const auto make = [&] { return Core::trainer_new(*fData->fCore, events, spec); };
      auto trainer = options.fLossFunction.empty() ? make() : Cancellable(make);
      const InterruptScope interrupt;
      const auto run = [&](Core::EpochRecord &epoch) {
         if (interrupt.Requested())
            return false;
         epoch = Core::trainer_epoch(*trainer, events);
         return true;
      };
      auto history = RunEpochs(spec.epochs, options, std::string(Core::trainer_describe(*trainer)), run);
      auto trained = std::make_shared<ModelData>(Core::model_clone(*fData->fCore));
      Core::trainer_finish(*trainer, *trained->fCore);
      fData = std::move(trained);
      return history;
   });
}

History Mlp::Fit(const Stream &stream, const FitOptions &options)
{
   return Guard("CladTorch::Mlp::Fit", [&] {
      const auto &data = stream.fData;
      const auto spec = ToSpec(options);
      const SerialScope serial(true); // ROOT's part of the reading
      const InterruptScope interrupt;
      const auto start = [&] {
         auto sample = data->Epoch(0, kTraining, spec);
         const ReadingThread thread(data, *sample);
         return Core::stream_trainer_new(*fData->fCore, *data->fCore, spec, *sample);
      };
      auto trainer = options.fLossFunction.empty() ? start() : Cancellable(start);
      std::uint64_t number = 0;
      const auto run = [&](Core::EpochRecord &record) {
         auto epoch = data->Epoch(++number, kTraining, spec);
         const ReadingThread thread(data, *epoch);
         do {
            if (interrupt.Requested())
               return false;
         } while (Core::stream_trainer_window(*trainer, *fData->fCore, *epoch));
         record = Core::stream_trainer_end_epoch(*trainer);
         return true;
      };
      auto history = RunEpochs(spec.epochs, options, std::string(Core::stream_trainer_describe(*trainer)), run);
      auto trained = std::make_shared<ModelData>(Core::model_clone(*fData->fCore));
      Core::stream_trainer_finish(*trainer, *trained->fCore);
      fData = std::move(trained);
      return history;
   });
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
      return activation.empty() ? load() : Cancellable(load);
   });
}

void Mlp::Print() const
{
   Guard("CladTorch::Mlp::Print", [&] { std::cout << Core::model_describe(*fData->fCore) << std::flush; });
}

} // namespace CladTorch
