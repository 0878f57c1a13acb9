/// \file torch/Model.cxx
/// \brief A module or function of LibTorch, observed as what a model computes.

#include <CladTorch/Torch/Guard.hxx>
#include <CladTorch/Torch/Model.hxx>

#include "../CoreBox.hxx"
#include "DynamicBatch.hxx"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

/// Events of the first observation. Not 1, which is broadcast, and hardly the length of another dimension.
constexpr std::int64_t kEvents = 6;

/// Most numbers of an event.
constexpr std::size_t kWidest = 1 << 24;

/// Switches a module and its parts to one mode; each has its own again at the end.
class ModeScope {
public:
   ModeScope(torch::nn::Module *module, bool training)
   {
      if (!module)
         return;
      for (const auto &part : module->modules())
         fBefore.emplace_back(part, part->is_training());
      module->train(training);
   }
   ~ModeScope()
   {
      for (const auto &[part, training] : fBefore)
         part->train(training); // its parts, too, which come after it
   }
   ModeScope(const ModeScope &) = delete;
   ModeScope &operator=(const ModeScope &) = delete;

private:
   std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> fBefore;
};

/// A function observed in one mode.
struct InOneMode {
   DynamicBatch fBatch;
   rust::Vec<Core::ObservedGraph> fOne; ///< of a single event; empty where it does not take that
   std::string fWhyNotOne;
};

/// A class as users write it: Sequential for torch::nn::SequentialImpl.
std::string ShortName(const torch::nn::Module &module)
{
   const std::string ending = "Impl";
   auto name = module.name();
   name.erase(0, name.rfind(':') + 1);
   const auto length = name.size();
   if (length > ending.size() && name.compare(length - ending.size(), ending.size(), ending) == 0)
      name.resize(length - ending.size());
   return name;
}

torch::Tensor Events(std::int64_t rows, const std::vector<std::size_t> &shape)
{
   std::vector<std::int64_t> sizes{rows};
   sizes.insert(sizes.end(), shape.begin(), shape.end());
   auto generator = at::detail::createCPUGenerator(1);
   return torch::randn(sizes, generator);
}

std::string Shown(const std::vector<std::size_t> &shape)
{
   std::string text;
   for (const auto size : shape)
      text += (text.empty() ? "" : ", ") + std::to_string(size);
   return "[" + text + "]";
}

InOneMode Look(const ListFunction &function, const std::vector<std::size_t> &shape, const std::string &name)
{
   const Wanted wanted{{false}, true, true}; // as a fit calls it
   InOneMode seen{DynamicBatch(function, {Events(kEvents, shape)}, wanted, name), {}, ""};
   try {
      auto one = Observe(function, {Events(1, shape)}, wanted, name);
      CheckSameConstants(seen.fBatch.First(), one, name);
      seen.fOne.push_back(std::move(one.fGraph));
   } catch (const Thrown &thrown) {
      seen.fWhyNotOne = thrown.Message();
   } catch (const std::exception &e) {
      seen.fWhyNotOne = e.what();
   }
   return seen;
}

InOneMode
LookInMode(const ListFunction &function, torch::nn::Module *module, bool training, const std::vector<std::size_t> &shape,
           const std::string &name)
{
   const ModeScope mode(module, training);
   try {
      return Look(function, shape, name);
   } catch (const Thrown &thrown) {
      throw std::runtime_error(name + " throws for " + std::to_string(kEvents) + " events of shape " + Shown(shape) +
                               ": " + thrown.Message());
   }
}

void CheckShape(const std::vector<std::size_t> &shape)
{
   std::size_t width = 1;
   for (const auto size : shape) {
      if (size == 0 || size > kWidest / width)
         throw std::runtime_error("an event of shape " + Shown(shape) + ": give the sizes of one event's dimensions, such as "
                                  "{1, 128}, at most " + std::to_string(kWidest) + " numbers");
      width *= size;
   }
   if (shape.empty())
      throw std::runtime_error("an event without dimensions: give its shape, such as {28} for 28 numbers");
}

/// The tensors that the function captured in both modes, each once, the parameters first and in the module's order.
class CapturedTensors {
public:
   CapturedTensors(const torch::nn::Module *module, const Observation &training)
   {
      const auto begin = training.fConstants.begin();
      fTensors.assign(begin, begin + static_cast<std::ptrdiff_t>(training.fParameters));
      fParameters = fTensors.size();
      if (module) {
         const auto known = module->parameters();
         const auto place = [&](const torch::Tensor &tensor) {
            return std::find_if(known.begin(), known.end(), [&](const auto &one) { return one.is_same(tensor); });
         };
         std::stable_sort(fTensors.begin(), fTensors.end(), [&](const auto &a, const auto &b) { return place(a) < place(b); });
      }
   }

   /// Where each constant of an observation is.
   rust::Vec<std::size_t> Places(const Observation &observation)
   {
      rust::Vec<std::size_t> places;
      for (const auto &constant : observation.fConstants) {
         const auto known = std::find_if(fTensors.begin(), fTensors.end(),
                                         [&](const auto &tensor) { return SamePlace(tensor, constant); });
         places.push_back(static_cast<std::size_t>(known - fTensors.begin()));
         if (known == fTensors.end())
            fTensors.push_back(constant);
      }
      return places;
   }

   void Check(const std::string &name) const
   {
      for (std::size_t i = 0; i < fTensors.size(); ++i) {
         const auto &tensor = fTensors[i];
         const auto what = name + " uses a tensor of shape " + c10::str(tensor.sizes());
         if (!tensor.is_cpu() || tensor.layout() != torch::kStrided)
            throw std::runtime_error(what + " on " + tensor.device().str() + " or sparse: move the module with to(torch::kCPU)");
         if (i < fParameters && tensor.scalar_type() != torch::kFloat32)
            throw std::runtime_error(what + " and type " + c10::toString(tensor.scalar_type()) +
                                     ": a model trains in float32, convert the module with to(torch::kFloat32)");
         if (i < fParameters && !tensor.is_leaf())
            throw std::runtime_error(what + " that requires a gradient and was computed from others: compute it inside of the "
                                     "function, so that those are the parameters");
      }
   }

   const TensorList &All() const { return fTensors; }
   rust::Vec<bool> AreParameters() const
   {
      rust::Vec<bool> are;
      for (std::size_t i = 0; i < fTensors.size(); ++i)
         are.push_back(i < fParameters);
      return are;
   }

private:
   TensorList fTensors;
   std::size_t fParameters;
};

/// The captured tensors are views of a model's parameters and state.
class Link : public ModuleLink {
public:
   Link(ListFunction function, std::string name, TensorList tensors, const Core::Model &model)
      : fFunction(std::move(function)), fName(std::move(name)), fTensors(std::move(tensors)),
        fPlaces(Core::model_places(model))
   {
      for (const auto &tensor : fTensors)
         fFixed.push_back(Memory(tensor));
   }

   void Check(const ModelData &model) const override
   {
      const auto shared = fShared.lock();
      if (shared.get() != &model)
         return; // a copy of the model has the module now, or none has
      for (std::size_t i = 0; i < fTensors.size(); ++i)
         if (fPlaces[i].kind == kFixed && Memory(fTensors[i]) != fFixed[i])
            throw std::runtime_error("a tensor of shape " + c10::str(fTensors[i].sizes()) + " that " + fName +
                                     " uses and that does not train was changed since the model was made: make a new Model");
         else if (fPlaces[i].kind != kFixed && fTensors[i].data_ptr() != Address(model, i))
            throw std::runtime_error("the parameters of " + fName + " were replaced (torch::load, set_data) since the model "
                                     "was made of it: make a new Model of it, or change them in place (copy_)");
   }

   void Share(const std::shared_ptr<ModelData> &model) override
   {
      const torch::NoGradGuard noGradients;
      for (std::size_t i = 0; i < fTensors.size(); ++i) {
         if (fPlaces[i].kind == kFixed)
            continue;
         const auto keep = [model](void *) {}; // the memory, as long as the tensor lives
         const auto sizes = fTensors[i].sizes().vec();
         fTensors[i].set_data(torch::from_blob(Address(*model, i), sizes, keep, fTensors[i].options().requires_grad(false)));
      }
      fShared = model;
   }

private:
   enum EKind : std::uint8_t { kParameter, kState, kFixed };

   /// Where a tensor lies, and how often it was changed in place.
   static std::pair<const void *, std::uint32_t> Memory(const torch::Tensor &tensor)
   {
      return {tensor.data_ptr(), tensor.is_inference() ? 0 : tensor._version()};
   }

   float *Address(const ModelData &model, std::size_t i) const
   {
      const auto values = fPlaces[i].kind == kParameter ? Core::model_parameters(*model.fCore) : Core::model_state(*model.fCore);
      return const_cast<float *>(values.data()) + fPlaces[i].start; // the tensor's to change as well
   }

   ListFunction fFunction; ///< keeps the module
   std::string fName;
   TensorList fTensors;
   rust::Vec<Core::PlaceSpec> fPlaces;
   std::vector<std::pair<const void *, std::uint32_t>> fFixed; ///< of all tensors, when the model was made
   std::weak_ptr<ModelData> fShared; ///< whose memory they are in
};

Core::ModeSpec Spec(InOneMode &seen, CapturedTensors &captured)
{
   return {std::move(seen.fOne), seen.fWhyNotOne, captured.Places(seen.fBatch.First())};
}

} // namespace

std::shared_ptr<ModelData>
ObserveModel(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape)
{
   return TorchGuard("CladTorch::Model", [&] {
      CheckShape(shape);
      const auto name = module ? ShortName(*module) : std::string("function");
      auto training = LookInMode(function, module.get(), true, shape, name);
      auto evaluation = LookInMode(function, module.get(), false, shape, name);
      CapturedTensors captured(module.get(), training.fBatch.First());
      Core::ModuleSpec spec{name, {}, {}, Spec(training, captured), Spec(evaluation, captured)};
      captured.Check(name);
      spec.parameters = captured.AreParameters();
      for (const auto size : shape)
         spec.shape.push_back(size);
      std::vector<std::size_t> addresses;
      for (const auto &tensor : captured.All())
         addresses.push_back(reinterpret_cast<std::size_t>(tensor.data_ptr()));
      auto model = std::make_shared<ModelData>(Core::model_of_module(spec, training.fBatch.TakeCore(),
                                                                     evaluation.fBatch.TakeCore(), Slice(addresses)));
      model->fModule = std::make_shared<Link>(std::move(function), name, captured.All(), *model->fCore);
      model->fModule->Share(model);
      return model;
   });
}

} // namespace Internal
} // namespace CladTorch
