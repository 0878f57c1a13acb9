#include <CladTorch/Model.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "FilePath.hxx"
#include "FitSpec.hxx"
#include "Interrupt.hxx"

#include "cladtorch/src/bridge/process.rs.h"
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
   copy->fTrained = fTrained;
   copy->fStart = fStart;
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

/// The data for reading, after a check that the module that the model came from still has its parameters.
const ModelData &Model::Data() const
{
   if (fData->fModule)
      fData->fModule->Check(*fData);
   return *fData;
}

/// Data() for a fit with these options.
const ModelData &Model::DataToFit(const FitOptions &options) const
{
   if (Data().fModule)
      fData->fModule->CheckFit(*fData, options);
   return *fData;
}

void Internal::TellUnlike(const ModelData &model, rust::Slice<const float> features)
{
   if (model.fToldUnlike)
      return;
   const auto message = Core::model_unlike(*model.fCore, features);
   if (!message.empty() && !model.fToldUnlike.exchange(true))
      ::Warning((std::string("CladTorch::") + model.fClass).c_str(), "%s", std::string(message).c_str());
}

namespace {
/// Warns once per model that it is untrained.
const ModelData &Told(const ModelData &model)
{
   if (model.fDrawn.exchange(false))
      ::Warning((std::string("CladTorch::") + model.fClass).c_str(),
                "the model was not trained and was given no parameters: it predicts with random initial weights");
   return model;
}
} // namespace

/// A snapshot that later changes do not affect.
std::shared_ptr<const ModelData> Model::Frozen() const
{
   if (!Told(Data()).fModule)
      return fData;
   auto copy = fData->Copy();
   copy->fCore->freeze();
   return copy;
}

/// From now on the model is `data`, and so is the module that it came from.
void Model::Replace(std::shared_ptr<ModelData> data)
{
   if (data->fModule)
      data->fModule->Share(data);
   fData = std::move(data);
}

History Model::LastFit() const
{
   return fData->fLastFit;
}

std::vector<float> Model::Predict(const Dataset &data) const
{
   return LongCall(Where("Predict"), [&] { return Outputs(data, false); });
}

std::vector<float> Model::Logits(const Dataset &data) const
{
   return LongCall(Where("Logits"), [&] { return Outputs(data, true); });
}

std::vector<float> Model::Outputs(const Dataset &data, bool raw) const
{
   auto outputs = Run(Data(), *data.fData, raw);
   Told(*fData); // before an error, not after it
   TellUnlike(*fData, Core::dataset_features(*data.fData->fCore));
   return outputs;
}

std::vector<float> Model::Gradient(const Dataset &data) const
{
   return LongCall(Where("Gradient"), [&] {
      const auto &model = Data();
      const auto &events = *data.fData->fCore;
      std::vector<float> gradient(Core::dataset_rows(events) * Outputs() * Inputs());
      Core::model_gradient(*model.fCore, events, Threads(0), {gradient.data(), gradient.size()});
      Told(model);
      return gradient;
   });
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

Dataset Model::NewDataset() const
{
   return Guard(Where("NewDataset").c_str(), [&] {
      const auto columns = Core::model_columns(*fData->fCore);
      if (columns.empty())
         throw std::runtime_error("the model has no columns yet: train it with Fit, or set them with SetColumns");
      return Dataset(std::make_shared<DatasetData>(Core::dataset_new(columns)), FromCore());
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

/// Runs `change` on a copy: other models that share the data keep it, and so does this one if `change` throws.
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
             model.fDrawn = model.fTrained = false;
             model.fStart = nullptr;
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

/// The parameters of this name, also in the state before its first fit.
void Model::SetFrozen(const char *method, const std::string &name, bool frozen)
{
   Guard(Where(method).c_str(), [&] {
      const auto change = [&](const ModelData &from) {
         auto changed = from.Copy();
         Core::model_freeze(*changed->fCore, name, frozen);
         return changed;
      };
      auto changed = change(Data());
      if (changed->fStart)
         changed->fStart = change(*changed->fStart);
      Replace(std::move(changed));
   });
}

void Model::Freeze(const std::string &name)
{
   SetFrozen("Freeze", name, true);
}

void Model::Unfreeze(const std::string &name)
{
   SetFrozen("Unfreeze", name, false);
}

void Model::Save(const std::string &path) const
{
   LongCall(Where("Save"), [&] { Core::model_save(*Data().fCore, FilePath(path)); });
}

void Model::ExportOnnx(const std::string &path) const
{
   LongCall(Where("ExportOnnx"), [&] { Core::model_export_onnx(*Data().fCore, FilePath(path)); });
}

void Model::ExportCpp(const std::string &path, bool gradient) const
{
   LongCall(Where("ExportCpp"), [&] { Core::model_export_cpp(*Data().fCore, FilePath(path), gradient); });
}

void Model::SaveWeights(const std::string &path) const
{
   LongCall(Where("SaveWeights"), [&] { Core::model_save_weights(*Data().fCore, FilePath(path)); });
}

void Model::LoadWeights(const std::string &path)
{
   LongCall(Where("LoadWeights"), [&] {
      Change("LoadWeights", [&](ModelData &model) {
         const bool hasColumns = Core::model_load_weights(*model.fCore, FilePath(path));
         model.fFromFile = model.fFromFile || hasColumns;
         model.fDrawn = false;
         model.fTrained = true; // on unknown events
         model.fStart = nullptr;
      });
   });
}

std::shared_ptr<ModelData> Internal::LoadModel(rust::Box<Core::Model> (*load)(rust::Str, rust::Str),
                                               const std::string &path, const std::string &activation)
{
   return Interruptible("the compilation of the activation",
                        [&](const InterruptScope &) { return FromFile(load(FilePath(path), activation)); });
}

std::shared_ptr<ModelData> Internal::FromFile(rust::Box<Core::Model> core)
{
   auto loaded = std::make_shared<ModelData>(std::move(core));
   loaded->fFromFile = true;
   loaded->fTrained = !Core::model_meaning(*loaded->fCore).empty();
   return loaded;
}

Model Model::Load(const std::string &path, const std::string &activation)
{
   return LongCall("CladTorch::Model::Load", [&] { return Model(LoadModel(Core::model_load, path, activation), FromCore()); });
}

Model Model::LoadOnnx(const std::string &path, const std::string &output)
{
   return LongCall("CladTorch::Model::LoadOnnx", [&] {
      auto loaded = std::make_shared<ModelData>(Core::model_load_onnx(FilePath(path), output));
      loaded->fFromFile = true;
      loaded->fTrained = true; // on unknown events
      return Model(loaded, FromCore());
   });
}

void Model::Print() const
{
   Guard(Where("Print").c_str(), [&] { std::cout << Core::model_describe(*fData->fCore) << std::flush; });
}

} // namespace CladTorch
