/// \file torch/Model.cxx
/// \brief A module or function of LibTorch, observed as what a model computes.

#include <CladTorch/Torch/Guard.hxx>
#include <CladTorch/Torch/Model.hxx>

#include "CoreBox.hxx"
#include "DynamicBatch.hxx"
#include "EventParts.hxx"
#include "ModelLink.hxx"
#include "ModuleCalls.hxx"
#include "Network.hxx"
#include "NetworkModel.hxx"
#include "Roundings.hxx"
#include "StateDict.hxx"

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

/// Events of the first observation. Not 1, which is broadcast, and an unlikely length of another dimension.
constexpr std::int64_t kEvents = 6;

/// Events among which an event is computed as among a few; a fit checks the size of its batches, too.
constexpr std::int64_t kManyEvents = 257;

/// A function observed in one mode.
struct InOneMode {
   DynamicBatch fBatch;
   rust::Vec<Core::ObservedGraph> fOne; ///< of a single event; empty if it does not take one
   std::string fWhyNotOne;
};

InOneMode Look(const Network &network)
{
   const Wanted wanted{{false}, true, true}; // as a fit calls it
   const auto &name = network.Name();
   InOneMode seen{DynamicBatch(network.Function(), {network.Events(kEvents)}, wanted, name,
                               "use the same operators for any number of events"), {}, ""};
   try {
      const auto one = seen.fBatch.ObserveLike(network.Function(), {network.Events(1)}, name);
      seen.fOne.push_back(one.Graph());
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

   /// The place of each constant of an observation.
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

Core::ModeSpec Spec(InOneMode &seen, CapturedTensors &captured)
{
   return {std::move(seen.fOne), seen.fWhyNotOne, captured.Places(seen.fBatch.First())};
}

/// The tensors with which LibTorch runs a network: the parameters that train, and a module's float32 buffers.
class WholeTensors {
public:
   WholeTensors(const Network &network, const Trial &trial) : fNetwork(network)
   {
      fPlaced.fCounters = trial.fCounters;
      const auto *module = network.Module();
      if (module)
         for (const auto &parameter : module->parameters())
            if (parameter.requires_grad())
               Add(parameter, kParameter, fSpec.parameters);
      for (const auto &leaf : Leaves(trial.fOutputs)) // of a function, or beside a module's own
         Add(leaf, kParameter, fSpec.parameters);
      if (module)
         for (const auto &buffer : module->buffers())
            if (buffer.defined() && buffer.scalar_type() == torch::kFloat32)
               Add(buffer, kState, fSpec.state);
   }

   const Core::TensorsSpec &Spec() const { return fSpec; }
   const PlacedTensors &Placed() const { return fPlaced; }

private:
   void Add(const torch::Tensor &tensor, EPlace kind, rust::Vec<float> &values)
   {
      auto &[tensors, places, counters, shapes] = fPlaced;
      if (std::any_of(tensors.begin(), tensors.end(), [&](const auto &one) { return one.is_same(tensor); }))
         return;
      if (!tensor.is_cpu() || tensor.layout() != torch::kStrided || tensor.scalar_type() != torch::kFloat32)
         throw std::runtime_error(fNetwork.Name() + " uses a " + tensor.toString() + " of shape " + c10::str(tensor.sizes()) +
                                  ": a model trains dense float32 on the CPU");
      const Core::PlaceSpec place{kind, values.size()};
      const auto numbers = tensor.detach().contiguous();
      std::copy_n(numbers.data_ptr<float>(), numbers.numel(), std::back_inserter(values));
      tensors.push_back(tensor);
      places.push_back(place);
      fSpec.places.push_back(place);
      fSpec.paths.push_back(fNetwork.NameOf(tensor).fPath);
   }

   const Network &fNetwork;
   Core::TensorsSpec fSpec;
   PlacedTensors fPlaced;
};

/// The constituents of a model.
struct NetworkParts {
   const Network &fNetwork;
   Trial fTrial;
   WholeTensors fWhole;
   Core::NetworkSpec fSpec;
   std::shared_ptr<ModuleCalls> fCalls;
};

/// A model of the operators that the network was observed to call; LibTorch runs it if one of them has no kernel.
std::shared_ptr<ModelData> OfOperators(const NetworkParts &parts, InOneMode training, InOneMode evaluation)
{
   CapturedTensors captured(parts.fNetwork, training.fBatch.First());
   Core::ModuleSpec observed{{}, Spec(training, captured), Spec(evaluation, captured)};
   captured.Check();
   observed.captured = captured.Specs();
   std::vector<std::size_t> addresses;
   for (const auto &tensor : captured.All())
      addresses.push_back(reinterpret_cast<std::size_t>(tensor.data_ptr()));
   auto counters = training.fBatch.First().fCounters;
   auto model = std::make_shared<ModelData>(
      Core::model_of_module(parts.fSpec, parts.fCalls, parts.fWhole.Spec(), observed, training.fBatch.TakeCore(),
                            evaluation.fBatch.TakeCore(), Slice(addresses)));
   if (Core::model_has_kernels(*model->fCore))
      parts.fCalls->SetTensors({captured.All(), Core::model_places(*model->fCore), std::move(counters), {}});
   return model;
}

/// Why LibTorch trains a network with such a parameter.
std::string HasHook(const std::string &path)
{
   return (path.empty() ? "a parameter" : "the parameter '" + path + "'") + " has a hook on its gradient (register_hook())";
}

std::shared_ptr<ModelData> Make(const NetworkParts &parts)
{
   std::optional<InOneMode> training, evaluation;
   std::string why;
   try {
      if (const auto hooked = Hooked(parts.fWhole.Placed().fTensors))
         throw std::runtime_error(HasHook(parts.fNetwork.NameOf(*hooked).fPath));
      training.emplace(LookInMode(parts.fNetwork, true));
      evaluation.emplace(LookInMode(parts.fNetwork, false));
   } catch (const std::exception &e) {
      why = e.what();
   }
   if (why.empty())
      return OfOperators(parts, std::move(*training), std::move(*evaluation));
   return std::make_shared<ModelData>(Core::model_on_libtorch(parts.fSpec, parts.fCalls, parts.fWhole.Spec(), why));
}

/// Checks a network that LibTorch runs, since no kernels prove that it qualifies.
void CheckOnLibTorch(const NetworkParts &parts, const ModelData &model)
{
   const auto &network = parts.fNetwork;
   if (!parts.fTrial.fOther.empty())
      throw std::runtime_error(network.Name() + " changes " + parts.fTrial.fOther + " in training, which is no part of a model");
   for (const auto &events : network.EventsOfBothSigns(kEvents))
      network.CheckEventsAreApart(events);
   for (const auto &events : network.EventsOfBothSigns(2 * kEvents + 1)) {
      const rust::Slice<const float> x(events.data_ptr<float>(), static_cast<std::size_t>(events.numel()));
      Core::model_check_apart(*model.fCore, x);
   }
}

NetworkParts PartsOf(const Network &network)
{
   auto trial = network.Train(kEvents);
   network.CheckEvaluation(kEvents);
   WholeTensors whole(network, trial);
   rust::Vec<std::size_t> shape;
   std::copy(network.Shape().begin(), network.Shape().end(), std::back_inserter(shape));
   Core::NetworkSpec spec{network.Name(), std::move(shape), static_cast<std::size_t>(trial.fOutputs.numel() / kEvents),
                          network.TakesOne(true), network.TakesOne(false), LastFunction(trial.fOutputs), WholeFeatures(network)};
   return {network, std::move(trial), std::move(whole), std::move(spec), std::make_shared<ModuleCalls>(network)};
}

} // namespace

std::shared_ptr<ModelData>
ModelOf(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape)
{
   const Network network(std::move(function), std::move(module), shape);
   const auto parts = PartsOf(network);
   parts.fCalls->SetTensors(parts.fWhole.Placed());
   auto model = Make(parts);
   const auto hasKernels = Core::model_has_kernels(*model->fCore);
   if (!hasKernels)
      CheckOnLibTorch(parts, *model);
   if (const auto *named = network.Module()) {
      const auto tensors = StateDict(*named, parts.fCalls->Tensors(), hasKernels);
      Core::model_set_state_dict(*model->fCore, tensors);
   }
   if (parts.fSpec.evaluates_one)
      for (const auto &events : hasKernels ? TensorList{network.Events(kEvents)} : network.EventsOfBothSigns(kEvents))
         network.CheckOneEvent(events);
   network.CheckBatches(kManyEvents);
   model->fModule = std::make_shared<ModelLink>(network, parts.fCalls->Tensors());
   model->fCounts = model->fModule->Counts();
   model->fModule->Share(model);
   return model;
}

std::shared_ptr<ModelData> ModelOf(ListFunction function, std::shared_ptr<torch::nn::Module> module,
                                   const std::vector<std::vector<std::size_t>> &shapes)
{
   if (shapes.empty())
      CheckShape({}); // which refuses it
   std::size_t width = 0;
   for (const auto &shape : shapes)
      width += Width(shape);
   return ModelOf(OfParts(std::move(function), shapes), std::move(module), std::vector<std::size_t>{width});
}

std::shared_ptr<ModelData>
ObserveModel(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape)
{
   return TorchGuard("CladTorch::Model", [&] { return ModelOf(std::move(function), std::move(module), shape); });
}

std::shared_ptr<ModelData> ObserveModel(ListFunction function, std::shared_ptr<torch::nn::Module> module,
                                        const std::vector<std::vector<std::size_t>> &shapes)
{
   return TorchGuard("CladTorch::Model", [&] { return ModelOf(std::move(function), std::move(module), shapes); });
}

} // namespace Internal
} // namespace CladTorch
