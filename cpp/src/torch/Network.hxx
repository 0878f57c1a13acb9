/// \file Network.hxx
/// \brief What a Model is made of: a module or function of LibTorch.

#ifndef CLADTORCH_NETWORK
#define CLADTORCH_NETWORK

#include "Observe.hxx"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Switches a module and its parts to one mode; each has its own again at the end.
class ModeScope {
public:
   /// \param module May be null.
   ModeScope(torch::nn::Module *module, bool training);
   ~ModeScope();
   ModeScope(const ModeScope &) = delete;
   ModeScope &operator=(const ModeScope &) = delete;

private:
   std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> fBefore;
};

/// What users call a tensor of a module.
struct TensorName {
   std::string fPath; ///< "0.weight"; empty where it has none
   std::string fPart; ///< "0 (Linear)", the module that it belongs to; empty for the whole
};

/// One run in training.
struct Trial {
   torch::Tensor fOutputs;         ///< with their graph
   std::vector<Counter> fCounters; ///< the module's buffers that it counted up
   std::string fOther;             ///< what else it changed, beside buffers of float32
};

/// A module or function, with the shape of its events.
class Network {
public:
   /// \param module That `function` calls; null: it calls none.
   /// Throws for a shape that no event has, and for a module with tensors of other types than float32, or not on the CPU.
   Network(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape);

   const ListFunction &Function() const { return fFunction; }
   torch::nn::Module *Module() const { return fModule.get(); }
   const std::vector<std::size_t> &Shape() const { return fShape; }
   /// For people: its class.
   const std::string &Name() const { return fName; }
   TensorName NameOf(const torch::Tensor &tensor) const;

   /// So many seeded events, [rows, shape...]: numbers from 0 to 1. As whole numbers they are 0, which any table of categories has.
   torch::Tensor Events(std::int64_t rows) const;
   /// The same, and, if the network takes them in evaluation, events of both signs: for what values show and operators do not.
   TensorList EventsOfBothSigns(std::int64_t rows) const;
   /// What the network returns for them, [rows, outputs] or [rows] of float32. Throws, in words, what the network throws, and
   /// where it returns anything else.
   torch::Tensor Call(const torch::Tensor &events) const;

   /// A run as a fit makes it, after which all is as it was. Throws where no output depends on parameters.
   Trial Train(std::int64_t rows) const;
   /// Runs as a prediction makes them; all is as it was afterwards. Throws where they are not the same each time, and where
   /// they change a tensor.
   void CheckEvaluation(std::int64_t rows) const;
   /// Throws where LibTorch's derivative of an event's outputs with respect to another event is not 0 in evaluation.
   void CheckEventsAreApart(torch::Tensor events) const;
   /// Throws where an event by itself, of a network that takes one, has other outputs than among `events`.
   void CheckOneEvent(const torch::Tensor &events) const;
   /// What operators take fractions off in evaluation of `events`, but for what is computed from parameters; all is as it was
   /// afterwards.
   TensorList Rounded(const torch::Tensor &events) const;
   /// Whether it takes a single event in this mode.
   bool TakesOne(bool training) const { return Takes(Events(1), training); }

private:
   class Rehearsal;
   bool Takes(const torch::Tensor &events, bool training) const;
   std::string WhyNothingTrains() const;
   void CheckTensor(const std::string &what, const torch::Tensor &tensor) const;

   ListFunction fFunction;
   std::shared_ptr<torch::nn::Module> fModule;
   std::vector<std::size_t> fShape;
   std::string fName;
};

/// Throws for a shape that no event has: without dimensions or elements, or with too many.
void CheckShape(const std::vector<std::size_t> &shape);

/// The tensors that require a gradient and from which `outputs` were computed.
TensorList Leaves(const torch::Tensor &outputs);

/// The activation behind which the outputs are no logits: "Sigmoid", "LogSigmoid", "Softmax"; else empty. `outputs` have
/// their graph.
std::string LastActivation(const torch::Tensor &outputs);

} // namespace Internal
} // namespace CladTorch

#endif
