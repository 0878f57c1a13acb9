#include "ModelLink.hxx"

#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace CladTorch {
namespace Internal {

namespace {

std::mutex gMutex;
std::unordered_map<const void *, std::atomic<bool> *> gTaken; ///< flag of the link that each tensor was given to last

/// The address of a tensor, and how often it was changed in place.
std::pair<const void *, std::uint32_t> Memory(const torch::Tensor &tensor)
{
   return {tensor.data_ptr(), tensor.is_inference() ? 0 : tensor._version()};
}

} // namespace

ModelLink::ModelLink(Network network, PlacedTensors tensors) : fNetwork(std::move(network)), fTensors(std::move(tensors))
{
   for (const auto &tensor : fTensors.fTensors)
      fFixed.push_back(Memory(tensor));
   if (const auto *module = fNetwork.Module())
      for (const auto &parameter : module->parameters())
         fRequired.emplace_back(parameter, parameter.requires_grad());
}

ModelLink::~ModelLink()
{
   const std::lock_guard<std::mutex> lock(gMutex);
   for (const auto &tensor : fTensors.fTensors)
      if (const auto known = gTaken.find(tensor.unsafeGetTensorImpl()); known != gTaken.end() && known->second == &fTaken)
         gTaken.erase(known);
}

std::vector<std::int64_t> ModelLink::Counts() const
{
   std::vector<std::int64_t> counts;
   for (const auto &counter : fTensors.fCounters)
      counts.push_back(counter.fTensor.item<std::int64_t>());
   return counts;
}

void ModelLink::Count(ModelData &model, std::uint64_t batches) const
{
   for (std::size_t i = 0; i < fTensors.fCounters.size(); ++i)
      model.fCounts[i] += fTensors.fCounters[i].fStep * static_cast<std::int64_t>(batches);
}

void ModelLink::Check(const ModelData &model) const
{
   const auto shared = fShared.lock();
   if (shared.get() != &model)
      return; // a copy of the model has the module now, or no model has
   const auto idle = ModuleCalls::Idle();
   const auto &[tensors, places, counters, shapes] = fTensors;
   for (std::size_t i = 0; i < tensors.size(); ++i)
      if (places[i].kind == kFixed && Memory(tensors[i]) != fFixed[i])
         throw std::runtime_error("a tensor of shape " + c10::str(tensors[i].sizes()) + " that " + fNetwork.Name() +
                                  " uses and that does not train was changed since the model was made: make a new Model");
      else if (places[i].kind != kFixed && tensors[i].data_ptr() != Address(model, i))
         throw std::runtime_error(WhyElsewhere(tensors[i]));
}

void ModelLink::CheckFit(const ModelData &model, const FitOptions &options) const
{
   if (fShared.lock().get() != &model)
      return; // as above
   const auto idle = ModuleCalls::Idle();
   for (const auto &[parameter, required] : fRequired)
      if (parameter.requires_grad() != required)
         throw std::runtime_error("requires_grad of " + Shown(parameter) + " was changed since the model was made: make a new Model of the "
                                  "module, which trains what requires a gradient then");
   if (Core::model_has_kernels(*model.fCore) && options.fGradient == kClad)
      if (const auto hooked = Hooked(fTensors.fTensors))
         throw std::runtime_error(Shown(*hooked) + " has a hook on its gradient (register_hook()), which kernels do not call: set "
                                  "fGradient = kAutograd, or make a new Model of the module");
   fNetwork.CheckBatches(options.fBatchSize);
}

void ModelLink::Share(const std::shared_ptr<ModelData> &model)
{
   const auto idle = ModuleCalls::Idle();
   const torch::NoGradGuard noGradients;
   const auto keep = [model](void *) {}; // keeps the memory as long as the tensor lives
   for (std::size_t i = 0; i < fTensors.fTensors.size(); ++i)
      if (fTensors.fPlaces[i].kind != kFixed)
         fTensors.Show(i, Address(*model, i), keep);
   for (std::size_t i = 0; i < fTensors.fCounters.size(); ++i) {
      const auto &tensor = fTensors.fCounters[i].fTensor;
      tensor.set_data(torch::from_blob(&model->fCounts[i], tensor.sizes().vec(), keep, torch::kInt64));
   }
   fShared = model;
   Take();
}

/// Claims the tensors for this link.
void ModelLink::Take()
{
   const std::lock_guard<std::mutex> lock(gMutex);
   for (std::size_t i = 0; i < fTensors.fTensors.size(); ++i) {
      if (fTensors.fPlaces[i].kind == kFixed)
         continue;
      auto &taken = gTaken[fTensors.fTensors[i].unsafeGetTensorImpl()];
      if (taken && taken != &fTaken)
         *taken = true;
      taken = &fTaken;
   }
}

/// For messages.
std::string ModelLink::Shown(const torch::Tensor &tensor) const
{
   const auto path = fNetwork.NameOf(tensor).fPath;
   return (path.empty() ? "a tensor" : "'" + path + "'") + " of " + fNetwork.Name();
}

/// Why a tensor has other memory than the model's.
std::string ModelLink::WhyElsewhere(const torch::Tensor &tensor) const
{
   const auto &name = fNetwork.Name();
   const auto what = Shown(tensor);
   if (fTaken)
      return "another Model was made of the same " + name + " since, and the module's parameters are that one's: use it, or "
             "make each Model of a module of its own";
   if (!tensor.is_cpu() || tensor.scalar_type() != torch::kFloat32)
      return what + " was moved or converted (to()) since the model was made: it is of type " +
             c10::toString(tensor.scalar_type()) + " on " + tensor.device().str() + "; make a new Model of a float32 module on "
             "the CPU";
   return what + " was replaced (torch::load, set_data) since the model was made of it: make a new Model of it, or change the "
          "parameters in place (copy_)";
}

const float *ModelLink::Address(const ModelData &model, std::size_t i) const
{
   const auto &place = fTensors.fPlaces[i];
   const auto values = place.kind == kParameter ? Core::model_parameters(*model.fCore) : Core::model_state(*model.fCore);
   return values.data() + place.start;
}

} // namespace Internal
} // namespace CladTorch
