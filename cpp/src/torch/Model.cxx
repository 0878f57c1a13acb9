/// \file torch/Model.cxx
/// \brief A module or function of LibTorch, observed as what a model computes.

#include <CladTorch/Torch/Guard.hxx>
#include <CladTorch/Torch/Model.hxx>

#include "../CoreBox.hxx"
#include "DynamicBatch.hxx"
#include "Network.hxx"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

/// Events of the first observation. Not 1, which is broadcast, and hardly the length of another dimension.
constexpr std::int64_t kEvents = 6;

/// A function observed in one mode.
struct InOneMode {
   DynamicBatch fBatch;
   rust::Vec<Core::ObservedGraph> fOne; ///< of a single event; empty where it does not take that
   std::string fWhyNotOne;
};

InOneMode Look(const Network &network)
{
   const Wanted wanted{{false}, true, true}; // as a fit calls it
   const auto &name = network.Name();
   InOneMode seen{DynamicBatch(network.Function(), {network.Events(kEvents)}, wanted, name), {}, ""};
   try {
      auto one = Observe(network.Function(), {network.Events(1)}, wanted, name);
      CheckSameConstants(seen.fBatch.First(), one, name);
      seen.fOne.push_back(std::move(one.fGraph));
   } catch (const Thrown &thrown) {
      seen.fWhyNotOne = thrown.Message();
   } catch (const std::exception &e) {
      seen.fWhyNotOne = e.what();
   }
   return seen;
}

InOneMode LookInMode(const Network &network, bool training)
{
   const ModeScope mode(network.Module(), training);
   try {
      return Look(network);
   } catch (const Thrown &thrown) {
      throw std::runtime_error(network.Name() + " throws where it is observed: " + thrown.Message());
   }
}

/// The tensors that the function captured in both modes, each once, the parameters first and in the module's order.
class CapturedTensors {
public:
   CapturedTensors(const Network &network, const Observation &training) : fNetwork(network)
   {
      const auto begin = training.fConstants.begin();
      fTensors.assign(begin, begin + static_cast<std::ptrdiff_t>(training.fParameters));
      fParameters = fTensors.size();
      if (const auto *module = network.Module()) {
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

   void Check() const
   {
      for (std::size_t i = 0; i < fTensors.size(); ++i) {
         const auto &tensor = fTensors[i];
         const auto what = fNetwork.Name() + " uses a tensor of shape " + c10::str(tensor.sizes());
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
   rust::Vec<Core::CapturedSpec> Specs() const
   {
      rust::Vec<Core::CapturedSpec> specs;
      for (std::size_t i = 0; i < fTensors.size(); ++i) {
         const auto [path, part] = fNetwork.NameOf(fTensors[i]);
         specs.push_back({i < fParameters, path, part});
      }
      return specs;
   }

private:
   const Network &fNetwork;
   TensorList fTensors;
   std::size_t fParameters;
};

/// The captured tensors are views of a model's parameters and state.
class Link : public ModuleLink {
public:
   Link(Network network, TensorList tensors, const std::vector<Counter> &counters, const Core::Model &model)
      : fNetwork(std::move(network)), fTensors(std::move(tensors)), fPlaces(Core::model_places(model))
   {
      for (const auto &tensor : fTensors)
         fFixed.push_back(Memory(tensor));
      for (const auto &counter : counters)
         Add(counter);
   }
   ~Link() override
   {
      const std::lock_guard<std::mutex> lock(gMutex);
      for (const auto &tensor : fTensors)
         if (const auto known = gOwners.find(tensor.unsafeGetTensorImpl()); known != gOwners.end() && known->second == this)
            gOwners.erase(known);
   }

   std::vector<std::int64_t> Counts() const override
   {
      std::vector<std::int64_t> counts;
      for (const auto &counter : fCounters)
         counts.push_back(counter.fTensor.item<std::int64_t>());
      return counts;
   }

   void Count(ModelData &model, std::uint64_t batches) const override
   {
      for (std::size_t i = 0; i < fCounters.size(); ++i)
         model.fCounts[i] += fCounters[i].fStep * static_cast<std::int64_t>(batches);
   }

   void Check(const ModelData &model) const override
   {
      const auto shared = fShared.lock();
      if (shared.get() != &model)
         return; // a copy of the model has the module now, or none has
      for (std::size_t i = 0; i < fTensors.size(); ++i)
         if (fPlaces[i].kind == kFixed && Memory(fTensors[i]) != fFixed[i])
            throw std::runtime_error("a tensor of shape " + c10::str(fTensors[i].sizes()) + " that " + fNetwork.Name() +
                                     " uses and that does not train was changed since the model was made: make a new Model");
         else if (fPlaces[i].kind != kFixed && fTensors[i].data_ptr() != Address(model, i))
            throw std::runtime_error(WhyElsewhere(fTensors[i]));
   }

   void Share(const std::shared_ptr<ModelData> &model) override
   {
      const torch::NoGradGuard noGradients;
      const auto keep = [model](void *) {}; // the memory, as long as the tensor lives
      const auto show = [&](const torch::Tensor &tensor, void *address) {
         const auto sizes = tensor.sizes().vec();
         tensor.set_data(torch::from_blob(address, sizes, keep, tensor.options().requires_grad(false)));
      };
      for (std::size_t i = 0; i < fTensors.size(); ++i)
         if (fPlaces[i].kind != kFixed)
            show(fTensors[i], Address(*model, i));
      for (std::size_t i = 0; i < fCounters.size(); ++i)
         show(fCounters[i].fTensor, &model->fCounts[i]);
      fShared = model;
      Take();
   }

private:
   enum EKind : std::uint8_t { kParameter, kState, kFixed };

   /// A normalisation that is called twice counts twice.
   void Add(const Counter &counter)
   {
      if (counter.fTensor.numel() != 1 || counter.fTensor.scalar_type() != torch::kInt64)
         return;
      for (auto &known : fCounters)
         if (known.fTensor.is_same(counter.fTensor)) {
            known.fStep += counter.fStep;
            return;
         }
      fCounters.push_back(counter);
   }

   /// The tensors are this one's from now on.
   void Take()
   {
      const std::lock_guard<std::mutex> lock(gMutex);
      for (std::size_t i = 0; i < fTensors.size(); ++i) {
         if (fPlaces[i].kind == kFixed)
            continue;
         auto &owner = gOwners[fTensors[i].unsafeGetTensorImpl()];
         if (owner && owner != this)
            owner->fTaken = true;
         owner = this;
      }
   }

   /// Where a tensor lies, and how often it was changed in place.
   static std::pair<const void *, std::uint32_t> Memory(const torch::Tensor &tensor)
   {
      return {tensor.data_ptr(), tensor.is_inference() ? 0 : tensor._version()};
   }

   /// Why a tensor has other memory than the model's.
   std::string WhyElsewhere(const torch::Tensor &tensor) const
   {
      const auto &name = fNetwork.Name();
      const auto path = fNetwork.NameOf(tensor).fPath;
      const auto what = path.empty() ? "a tensor of " + name : "'" + path + "' of " + name;
      if (fTaken)
         return "another Model was made of the same " + name + " since, and the module's parameters are that one's: use it, "
                "or make each Model of a module of its own";
      if (!tensor.is_cpu() || tensor.scalar_type() != torch::kFloat32)
         return what + " was moved or converted (to()) since the model was made: it is of type " +
                c10::toString(tensor.scalar_type()) + " on " + tensor.device().str() + "; make a new Model of a float32 "
                "module on the CPU";
      return what + " was replaced (torch::load, set_data) since the model was made of it: make a new Model of it, or change "
             "the parameters in place (copy_)";
   }

   float *Address(const ModelData &model, std::size_t i) const
   {
      const auto values = fPlaces[i].kind == kParameter ? Core::model_parameters(*model.fCore) : Core::model_state(*model.fCore);
      return const_cast<float *>(values.data()) + fPlaces[i].start; // the tensor's to change as well
   }

   static inline std::mutex gMutex;
   static inline std::unordered_map<const void *, Link *> gOwners; ///< which one each tensor was given to last

   Network fNetwork; ///< keeps the module
   TensorList fTensors;
   std::vector<Counter> fCounters; ///< of batches
   rust::Vec<Core::PlaceSpec> fPlaces;
   std::vector<std::pair<const void *, std::uint32_t>> fFixed; ///< of all tensors, when the model was made
   std::weak_ptr<ModelData> fShared; ///< whose memory they are in
   std::atomic<bool> fTaken{false};  ///< another one has been given its tensors
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
      const Network network(std::move(function), std::move(module), shape);
      const auto last = LastActivation(network.Outputs(true, kEvents));
      network.Outputs(false, kEvents);
      auto training = LookInMode(network, true);
      auto evaluation = LookInMode(network, false);
      CapturedTensors captured(network, training.fBatch.First());
      Core::ModuleSpec spec{network.Name(), {}, {}, last, Spec(training, captured), Spec(evaluation, captured)};
      captured.Check();
      spec.captured = captured.Specs();
      for (const auto size : shape)
         spec.shape.push_back(size);
      std::vector<std::size_t> addresses;
      for (const auto &tensor : captured.All())
         addresses.push_back(reinterpret_cast<std::size_t>(tensor.data_ptr()));
      auto counters = training.fBatch.First().fCounters;
      auto model = std::make_shared<ModelData>(Core::model_of_module(spec, training.fBatch.TakeCore(),
                                                                     evaluation.fBatch.TakeCore(), Slice(addresses)));
      model->fModule = std::make_shared<Link>(network, captured.All(), std::move(counters), *model->fCore);
      model->fCounts = model->fModule->Counts();
      model->fModule->Share(model);
      return model;
   });
}

} // namespace Internal
} // namespace CladTorch
