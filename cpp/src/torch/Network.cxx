#include "Network.hxx"

#include "Preserve.hxx"
#include "Roundings.hxx"

#include "cladtorch/src/bridge/network.rs.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

namespace CladTorch {
namespace Internal {

namespace {

/// Relative difference of an event's outputs between batches: LibTorch chooses its algorithms by the sizes.
constexpr double kAlike = 1e-3;

/// The largest number of elements of an event.
constexpr std::size_t kWidest = 1 << 24;

/// Events that are compared between batches, and the most elements of a batch for that.
constexpr std::int64_t kCompared = 6, kMostCompared = 1 << 19;

/// LibTorch on one thread: others would spin for milliseconds after their work, on the processors of a fit that begins.
class OneThread {
public:
   OneThread() { at::set_num_threads(1); }
   ~OneThread() { at::set_num_threads(fThreads); }
   OneThread(const OneThread &) = delete;

private:
   int fThreads = at::get_num_threads();
};

std::string Shown(const std::vector<std::size_t> &shape)
{
   std::string text;
   for (const auto size : shape)
      text += (text.empty() ? "" : ", ") + std::to_string(size);
   return "[" + text + "]";
}

/// A class name as users write it: Sequential for torch::nn::SequentialImpl.
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

void CheckOutputs(const TensorList &results, std::int64_t rows, const std::string &name)
{
   const auto refuse = [&](const std::string &returned) {
      throw std::runtime_error(name + " returns " + returned + " for " + std::to_string(rows) +
                               " events: a model gives each event of a batch its outputs, [events, outputs] of float32");
   };
   if (results.size() != 1)
      refuse(std::to_string(results.size()) + " tensors");
   const auto &result = results[0];
   if (!result.defined())
      refuse("an undefined tensor");
   if (result.scalar_type() != torch::kFloat32)
      refuse("a tensor of type " + std::string(c10::toString(result.scalar_type())));
   if (result.dim() == 0 || result.dim() > 2 || result.size(0) != rows || result.numel() == 0)
      refuse("a tensor of shape " + c10::str(result.sizes()));
}

/// Whether outputs among others are those of the same events in another batch.
bool AreAlike(const torch::Tensor &among, const torch::Tensor &others)
{
   const auto scale = 1 + among.abs().nan_to_num(0, 0, 0).max();
   return torch::allclose(among / scale, others / scale, kAlike, kAlike, true);
}

/// Operators that change only the shape, by the names of their nodes in LibTorch's graph.
bool IsReshape(const std::string &node)
{
   for (const std::string_view name : {"Squeeze", "Unsqueeze", "View", "UnsafeView", "ReshapeAlias", "Select", "Slice",
                                       "Alias", "Clone", "T", "Transpose", "Permute", "Expand"})
      if (node.rfind(std::string(name) + "Backward", 0) == 0)
         return true;
   return false;
}

} // namespace

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

ModeScope::ModeScope(torch::nn::Module *module, bool training)
{
   if (!module)
      return;
   for (const auto &part : module->modules())
      fBefore.emplace_back(part, part->is_training());
   module->train(training);
}

ModeScope::~ModeScope()
{
   for (const auto &[part, training] : fBefore)
      part->train(training); // its parts, too, which follow it
}

Network::Network(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape)
   : fFunction(std::move(function)), fModule(std::move(module)), fShape(shape), fName(fModule ? ShortName(*fModule) : "function")
{
   CheckShape(shape);
   if (!fModule)
      return;
   for (const auto &parameter : fModule->named_parameters())
      CheckTensor("parameter '" + parameter.key() + "'", parameter.value());
   for (const auto &buffer : fModule->named_buffers())
      CheckTensor("buffer '" + buffer.key() + "'", buffer.value());
}

void Network::CheckTensor(const std::string &what, const torch::Tensor &tensor) const
{
   if (!tensor.defined())
      return;
   if (tensor.is_inference())
      throw std::runtime_error(what + " of " + fName + " was made in inference mode, in which nothing trains: make the module "
                               "outside of c10::InferenceMode");
   if (!tensor.is_cpu() || tensor.layout() != torch::kStrided)
      throw std::runtime_error(what + " of " + fName + " is on " + tensor.device().str() + " or sparse: move the module with "
                               "to(torch::kCPU)");
   if (tensor.is_floating_point() && tensor.scalar_type() != torch::kFloat32)
      throw std::runtime_error(what + " of " + fName + " is of type " + c10::toString(tensor.scalar_type()) +
                               ", but a model trains in float32: convert the module with to(torch::kFloat32)");
}

TensorName Network::NameOf(const torch::Tensor &tensor) const
{
   if (!fModule)
      return {};
   std::string path;
   for (const auto &named : {fModule->named_parameters(), fModule->named_buffers()})
      for (const auto &item : named)
         if (path.empty() && item.value().is_same(tensor))
            path = item.key();
   const auto end = path.rfind('.');
   if (end == std::string::npos)
      return {path, ""};
   const auto part = path.substr(0, end);
   const auto modules = fModule->named_modules();
   const auto *module = modules.find(part);
   return {path, module ? part + " (" + ShortName(**module) + ")" : part};
}

torch::Tensor Network::Events(std::int64_t rows) const
{
   std::vector<std::int64_t> sizes{rows};
   sizes.insert(sizes.end(), fShape.begin(), fShape.end());
   auto generator = at::detail::createCPUGenerator(1);
   return torch::rand(sizes, generator, torch::kFloat32); // whatever the default type is
}

TensorList Network::EventsOfBothSigns(std::int64_t rows) const
{
   TensorList events{Events(rows)};
   auto generator = at::detail::createCPUGenerator(1);
   const auto normal = torch::randn(events[0].sizes(), generator, torch::kFloat32);
   if (Takes(normal, false))
      events.push_back(normal);
   return events;
}

/// The hint if an index is out of range: it may be a feature.
constexpr const char *kOfIndices = "; features that become indices have to be categories that the network knows, and it is observed on "
                                   "numbers from 0 to 1, which become 0";

torch::Tensor Network::Call(const torch::Tensor &events) const
{
   TensorList results;
   std::string what;
   try {
      results = fFunction({events});
   } catch (const c10::Error &e) {
      what = e.what_without_backtrace();
   } catch (const std::exception &e) {
      what = e.what();
   } catch (...) {
      what = "something that is no std::exception";
   }
   if (!what.empty())
      throw std::runtime_error(fName + " throws for " + std::to_string(events.size(0)) + " events of shape " + Shown(fShape) +
                               ": " + what + (what.find("out of range") == std::string::npos ? "" : kOfIndices));
   CheckOutputs(results, events.size(0), fName);
   return results[0];
}

/// The network in one mode, without side effects.
class Network::Rehearsal {
public:
   Rehearsal(const Network &network, bool training, bool gradients, const TensorList &events)
      : fPreserve(events), fMode(network.Module(), training), fNormal(false), fGradients(gradients)
   {
   }
   std::vector<c10::Storage> Changed() const { return fPreserve.Changed(); }

private:
   Preserve fPreserve;
   ModeScope fMode;
   c10::InferenceMode fNormal;
   torch::AutoGradMode fGradients;
};

Trial Network::Train(std::int64_t rows) const
{
   const auto events = Events(rows);
   const Rehearsal rehearsal(*this, true, true, {events});
   torch::OrderedDict<std::string, torch::Tensor> buffers, before;
   if (fModule)
      buffers = fModule->named_buffers();
   for (const auto &buffer : buffers)
      before.insert(buffer.key(), buffer.value().defined() ? buffer.value().clone() : torch::Tensor());
   Trial trial{Call(events), {}, ""};
   if (!trial.fOutputs.requires_grad())
      throw std::runtime_error(WhyNothingTrains());
   std::vector<c10::Storage> known;
   for (const auto &buffer : buffers) {
      const auto &now = buffer.value(), &then = before[buffer.key()];
      if (!now.defined())
         continue;
      known.push_back(now.storage());
      if (now.scalar_type() == torch::kFloat32 || (then.defined() && now.equal(then)))
         continue;
      if (now.scalar_type() == torch::kInt64 && now.numel() == 1 && then.defined())
         trial.fCounters.push_back({now, now.item<std::int64_t>() - then.item<std::int64_t>()});
      else
         trial.fOther = "its buffer '" + buffer.key() + "' of type " + c10::toString(now.scalar_type());
   }
   for (const auto &storage : rehearsal.Changed())
      if (std::none_of(known.begin(), known.end(), [&](const auto &one) { return one.is_alias_of(storage); }))
         trial.fOther = WhatLiesIn(storage);
   return trial;
}

std::string Network::WhatLiesIn(const c10::Storage &storage) const
{
   if (fModule)
      for (const auto &[kind, tensors] : {std::make_pair("parameter", fModule->named_parameters()), {"buffer", fModule->named_buffers()}})
         for (const auto &named : tensors)
            if (named.value().defined() && named.value().storage().is_alias_of(storage))
               return std::string("its ") + kind + " '" + named.key() + "' by itself";
   return "a tensor that is no buffer of a module (register_buffer)";
}

void Network::CheckEvaluation(std::int64_t rows) const
{
   const auto events = Events(rows);
   const Rehearsal rehearsal(*this, false, false, {events});
   const auto first = Call(events.clone()).clone(), second = Call(events.clone());
   const auto same = ((first == second) | ((first != first) & (second != second))).all().item<bool>();
   const auto changed = rehearsal.Changed();
   const std::string remedy = fModule ? "leave that to training (is_training())"
                                      : "give the torch::nn module itself, whose train() and eval() a model switches, not a function "
                                        "that calls it; a network that Python traces has to be in eval() then";
   if (!changed.empty())
      throw std::runtime_error(fName + " changes " + WhatLiesIn(changed[0]) + " in evaluation, too: " + remedy);
   if (!same)
      throw std::runtime_error(fName + " draws random numbers (dropout) in evaluation, too, or depends on how often it was called: " + remedy);
   Call(Events(rows + 1));
}

void Network::CheckOneEvent(const torch::Tensor &events) const
{
   const auto rows = events.size(0);
   const Rehearsal rehearsal(*this, false, false, {events});
   const auto all = Call(events.clone()).clone().reshape({rows, -1});
   for (std::int64_t row = 0; row < rows; ++row) {
      if (!AreAlike(all[row], Call(events.slice(0, row, row + 1).clone()).reshape({-1})))
         throw std::runtime_error(fName + " computes an event by itself differently than among others: an event of a model has the "
                                          "same outputs in any batch");
   }
}

void Network::CheckBatches(std::int64_t rows) const
{
   const OneThread oneThread;
   rows = std::min(rows, kMostCompared / Events(1).numel());
   if (rows <= kCompared)
      return;
   const auto events = Events(rows);
   const Rehearsal rehearsal(*this, false, false, {events});
   const auto first = [&](const torch::Tensor &batch) { return Call(batch.clone()).slice(0, 0, kCompared).clone().reshape({kCompared, -1}); };
   if (!AreAlike(first(events), first(events.slice(0, 0, kCompared))))
      throw std::runtime_error(fName + " computes an event among " + std::to_string(rows) + " differently than among " +
                               std::to_string(kCompared) + ", as if it branched on the number of events (size(0)): an event of a "
                               "model has the same outputs in any batch");
}

void Network::CheckEventsAreApart(torch::Tensor events) const
{
   events = events.detach().clone().requires_grad_();
   const Rehearsal rehearsal(*this, false, true, {events});
   const auto outputs = Call(events.clone()); // which it may change in place
   if (!outputs.requires_grad())
      return;
   const auto gradient = torch::autograd::grad({outputs[1].sum()}, {events}, {}, false, false, true)[0];
   if (!gradient.defined())
      return;
   auto others = gradient.detach().clone();
   others[1].zero_();
   if ((others.isfinite() & (others != 0)).any().item<bool>())
      throw std::runtime_error(std::string(Core::events_mix(fName + " computes the outputs of an event from other events")));
}

TensorList Network::Rounded(const torch::Tensor &events) const
{
   const Rehearsal rehearsal(*this, false, true, {events});
   const Roundings roundings;
   Call(events.clone()); // which it may change in place
   return roundings.Rounded();
}

bool Network::Takes(const torch::Tensor &events, bool training) const
{
   const Rehearsal rehearsal(*this, training, training, {events});
   try {
      Call(events.clone()); // which it may change in place
      return true;
   } catch (const std::exception &) {
      return false;
   }
}

std::string Network::WhyNothingTrains() const
{
   const auto parameters = fModule ? fModule->parameters() : TensorList();
   if (parameters.empty())
      return fName + " has no parameters to train: use tensors that require a gradient (requires_grad), such as those of "
                     "torch::nn::Linear";
   const auto frozen = std::none_of(parameters.begin(), parameters.end(), [](const auto &one) { return one.requires_grad(); });
   return frozen ? "no parameter of " + fName + " requires a gradient, so that there is nothing to train: call requires_grad_() "
                                                "on those to train"
                 : "the outputs of " + fName + " have no derivatives with respect to its parameters: leave out what cuts them "
                                               "off (detach(), NoGradGuard, argmax)";
}

TensorList Leaves(const torch::Tensor &outputs)
{
   TensorList leaves;
   std::vector<torch::autograd::Node *> open;
   std::unordered_set<const torch::autograd::Node *> seen;
   const auto visit = [&](torch::autograd::Node *node) {
      if (node && seen.insert(node).second)
         open.push_back(node);
   };
   visit(torch::autograd::impl::gradient_edge(outputs).function.get());
   while (!open.empty()) {
      auto *node = open.back();
      open.pop_back();
      if (const auto *leaf = dynamic_cast<const torch::autograd::AccumulateGrad *>(node))
         leaves.push_back(leaf->variable);
      for (const auto &edge : node->next_edges())
         visit(edge.function.get());
   }
   return leaves;
}

std::optional<torch::Tensor> Hooked(const TensorList &tensors)
{
   for (const auto &tensor : tensors) {
      const auto *meta = torch::autograd::impl::get_autograd_meta(tensor);
      if (!meta)
         continue;
      const auto &own = meta->cpp_hooks_list_; // remove_hook() leaves an empty place; all of them are one of hooks()
      const std::size_t lists = own ? 1 : 0;
      if (torch::autograd::impl::hooks(tensor).size() > lists ||
          (own && std::any_of(own->begin(), own->end(), [](const auto &hook) { return bool(hook); })))
         return tensor;
   }
   return std::nullopt;
}

std::string LastFunction(const torch::Tensor &outputs)
{
   auto node = outputs.grad_fn();
   while (node && IsReshape(node->name()))
      node = node->next_edge(0).function;
   for (const std::string name : {"Sigmoid", "LogSigmoid", "Softmax", "Tanh", "Hardsigmoid", "Hardtanh", "Clamp", "ClampMin", "ClampMax", "Relu", "Softplus",
                                  "Exp", "Sqrt", "Abs", "Elu", "Silu", "Gelu", "Mish", "Hardswish"})
      if (node && node->name().rfind(name + "Backward", 0) == 0)
         return name;
   return "";
}

} // namespace Internal
} // namespace CladTorch
