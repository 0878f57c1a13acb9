#include <CladTorch/Mlp.hxx>

#include "CoreBox.hxx"
#include "Guard.hxx"
#include "Interrupt.hxx"
#include "Progress.hxx"

#include <TError.h>

#include <iostream>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// The core counts in unsigned numbers: a negative one must not wrap around.
template <class T>
T NotNegative(const char *name, std::int64_t value)
{
   if (value < 0)
      throw std::runtime_error("FitOptions::" + std::string(name) + " is " + std::to_string(value) +
                               ": it must not be negative");
   return static_cast<T>(value);
}

Core::FitSpec ToSpec(const FitOptions &options)
{
   Core::FitSpec spec;
   spec.epochs = NotNegative<std::uint32_t>("fEpochs", options.fEpochs);
   spec.batch_size = NotNegative<std::size_t>("fBatchSize", options.fBatchSize);
   spec.learning_rate = options.fLearningRate;
   spec.weight_decay = options.fWeightDecay;
   spec.momentum = options.fMomentum;
   spec.validation = options.fValidation;
   spec.seed = options.fSeed;
   spec.shuffle = options.fShuffle;
   spec.standardise = options.fStandardise;
   spec.threads = Threads(NotNegative<int>("fThreads", options.fThreads));
   spec.device = options.fDevice;
   spec.optimiser = static_cast<std::uint8_t>(options.fOptimiser);
   spec.loss = static_cast<std::uint8_t>(options.fLoss);
   spec.gradient = static_cast<std::uint8_t>(options.fGradient);
   return spec;
}

/// [rows, outputs] row-major.
std::vector<float> Run(const ModelData &model, const DatasetData &data, bool raw)
{
   std::vector<float> out(Core::dataset_rows(*data.fCore) * Core::model_outputs(*model.fCore));
   Core::model_predict(*model.fCore, *data.fCore, raw, Threads(0), {out.data(), out.size()});
   return out;
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

Mlp::Mlp(std::shared_ptr<ModelData> data, FromCore) : fData(std::move(data)) {}

History Mlp::Fit(const Dataset &data, const FitOptions &options)
{
   return Guard("CladTorch::Mlp::Fit", [&] {
      const auto &events = *data.fData->fCore;
      const auto spec = ToSpec(options);
      auto trainer = Core::trainer_new(*fData->fCore, events, spec);
      History history;
      history.fDescription = std::string(Core::trainer_describe(*trainer));
      if (options.fVerbose > 1)
         std::cout << history.fDescription << std::endl;

      Progress progress(spec.epochs, options.fVerbose < 1);
      const InterruptScope interrupt;
      while (history.Epochs() < spec.epochs && !interrupt.Requested()) {
         const auto epoch = Core::trainer_epoch(*trainer, events);
         history.fTrainLoss.push_back(epoch.train_loss);
         history.fValidationLoss.push_back(epoch.validation_loss);
         history.fSeconds.push_back(epoch.seconds);
         progress.Show(history.Epochs(), epoch.train_loss, epoch.validation_loss, epoch.seconds);
      }
      progress.Finish();
      if (history.Epochs() < spec.epochs)
         ::Warning("CladTorch::Mlp::Fit", "interrupted after epoch %zu of %u; the model keeps what it has learnt",
                   history.Epochs(), spec.epochs);

      auto trained = std::make_shared<ModelData>(Core::model_clone(*fData->fCore));
      Core::trainer_finish(*trainer, *trained->fCore);
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

void Mlp::SetParameters(const std::vector<float> &values)
{
   Guard("CladTorch::Mlp::SetParameters", [&] {
      auto changed = std::make_shared<ModelData>(Core::model_clone(*fData->fCore));
      Core::model_set_parameters(*changed->fCore, Slice(values));
      fData = std::move(changed);
   });
}

void Mlp::Save(const std::string &path) const
{
   Guard("CladTorch::Mlp::Save", [&] { Core::model_save(*fData->fCore, path); });
}

Mlp Mlp::Load(const std::string &path)
{
   return Guard("CladTorch::Mlp::Load",
                [&] { return Mlp(std::make_shared<ModelData>(Core::model_load(path)), FromCore()); });
}

void Mlp::Print() const
{
   Guard("CladTorch::Mlp::Print", [&] { std::cout << Core::model_describe(*fData->fCore) << std::flush; });
}

} // namespace CladTorch
