/// \file torch/ExportTorchScript.cxx
/// \brief Model::ExportTorchScript(): a model as a network that PyTorch loads.

#include <CladTorch/Model.hxx>
#include <CladTorch/Torch/Guard.hxx>

#include "CoreBox.hxx"
#include "FilePath.hxx"
#include "Interrupt.hxx"
#include "CleanDispatch.hxx"
#include "ScriptOf.hxx"

#include "cladtorch/src/bridge/files.rs.h"

#include <ATen/CPUGeneratorImpl.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace CladTorch {

using namespace Internal;

namespace {

using Script = torch::jit::Module;

/// Number of events on which a network is compared with its model, and the largest allowed difference of predictions.
constexpr std::int64_t kTrialEvents = 5;

/// Throws if the network does not compute the model's predictions.
void Compare(Script script, const Core::Model &model)
{
   const auto inputs = static_cast<std::int64_t>(Core::model_inputs(model));
   auto x = torch::randn({kTrialEvents, inputs}, at::detail::createCPUGenerator(1));
   const auto whole = Core::model_whole_features(model);
   for (std::size_t i = 0; i < whole.size(); ++i)
      if (whole[i])
         x.select(1, static_cast<std::int64_t>(i)).zero_(); // a category that is in every table
   const auto expected = Core::model_predictions(model, {x.data_ptr<float>(), static_cast<std::size_t>(x.numel())});
   const auto y = script.forward({x}).toTensor().detach().contiguous();
   const char *other = "PyTorch computes something else than Predict() with these operators";
   if (static_cast<std::size_t>(y.numel()) != expected.size())
      throw std::runtime_error(other);
   const auto predicted = torch::from_blob(const_cast<float *>(expected.data()), y.sizes().vec());
   if (!AreAlike(y, predicted))
      throw std::runtime_error(other);
}

std::string Saved(const Script &script)
{
   std::ostringstream file;
   script.save(file);
   return file.str();
}

} // namespace

void Model::ExportTorchScript(const std::string &path) const
{
   LongCall(Where("ExportTorchScript"), [&] {
      const auto &model = *Data().fCore;
      const CleanDispatch outside;
      const c10::InferenceMode normal(false);
      const torch::NoGradGuard withoutGradients;
      const auto spec = Core::model_script(model);
      std::string file;
      try {
         const auto script = ScriptOf(spec);
         Compare(script, model);
         file = Saved(script);
      } catch (const c10::Error &e) {
         throw std::runtime_error(std::string("a TorchScript network cannot be made: ") + e.what_without_backtrace());
      }
      Core::write_file(FilePath(path), {reinterpret_cast<const std::uint8_t *>(file.data()), file.size()});
   });
}

} // namespace CladTorch
