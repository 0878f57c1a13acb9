/// \file Network.hxx
/// \brief What a Model is made of: a module or function of LibTorch.

#ifndef CLADTORCH_NETWORK
#define CLADTORCH_NETWORK

#include "Observe.hxx"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Switches a module and its parts to one mode; restores the mode of each at the end.
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

/// The user's name for a tensor of a module.
struct TensorName {
   std::string fPath; ///< "0.weight"; empty if it has none
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
   /// \param module The module that `function` calls; null: it calls none.
   /// Throws for a shape that no event has, and for a module with tensors of other types than float32, or not on the
   /// CPU.
   Network(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape);

   const ListFunction &Function() const { return fFunction; }
   torch::nn::Module *Module() const { return fModule.get(); }
   const std::vector<std::size_t> &Shape() const { return fShape; }
   /// Its class, for messages.
   const std::string &Name() const { return fName; }
   TensorName NameOf(const torch::Tensor &tensor) const;

   /// `rows` seeded events, [rows, shape...]: numbers from 0 to 1. As whole numbers they are 0, which any table of
   /// categories has.
   torch::Tensor Events(std::int64_t rows) const;
   /// The same, and, if the network takes them in evaluation, events of both signs: for effects that show in values,
   /// not in operators.
   TensorList EventsOfBothSigns(std::int64_t rows) const;
   /// The network's results for them, [rows, outputs] or [rows] of float32. Reports what the network throws, and throws
   /// if it returns anything else.
   torch::Tensor Call(const torch::Tensor &events) const;

   /// A run as in a fit, whose side effects are undone. Throws if no output depends on parameters.
   Trial Train(std::int64_t rows) const;
   /// Runs as in a prediction, whose side effects are undone. Throws if they differ from one another, or if they change
   /// a tensor.
   void CheckEvaluation(std::int64_t rows) const;
   /// Throws if LibTorch's derivative of an event's outputs with respect to another event is not 0 in evaluation.
   void CheckEventsAreApart(torch::Tensor events) const;
   /// Throws if a single event, for a network that takes one, has other outputs than the same event among `events`.
   void CheckOneEvent(const torch::Tensor &events) const;
   /// Throws if the first events of a batch of so many (fewer where events are long) have other outputs than in a small batch, in
   /// evaluation.
   void CheckBatches(std::int64_t rows) const;
   /// The tensors that operators round in evaluation of `events`, except those computed from parameters; side effects
   /// are undone.
   TensorList Rounded(const torch::Tensor &events) const;
   /// Whether it takes a single event in this mode.
   bool TakesOne(bool training) const { return Takes(Events(1), training); }

private:
   class Rehearsal;
   bool Takes(const torch::Tensor &events, bool training) const;
   std::string WhyNothingTrains() const;
   std::string WhatLiesIn(const c10::Storage &storage) const;
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

/// The first tensor with a hook on its gradient.
std::optional<torch::Tensor> Hooked(const TensorList &tensors);

/// The function whose values the outputs are, if it has not every value: "Sigmoid", "Relu"; otherwise empty. `outputs` have their graph.
std::string LastFunction(const torch::Tensor &outputs);

} // namespace Internal
} // namespace CladTorch

#endif
