#include "Observe.hxx"

#include "CleanDispatch.hxx"
#include "Devices.hxx"
#include "Fills.hxx"
#include "Preserve.hxx"
#include "Recorded.hxx"
#include "Watch.hxx"
#include "Writes.hxx"
#include "Written.hxx"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

namespace CladTorch {
namespace Internal {

namespace {

bool HasSymmetricMatrices(const torch::Tensor &input)
{
   return input.dim() >= 2 && input.numel() && input.size(-1) > 1 && input.size(-1) == input.size(-2) &&
          (input == input.mT()).all().item<bool>();
}

/// Writes the matrix M M^T / n + 1 over each matrix M, [.., n, n].
void MakePositiveDefinite(torch::Tensor matrices)
{
   for (std::int64_t d = 0; d < matrices.dim() - 2; ++d)
      if (matrices.stride(d) == 0)
         matrices = matrices.narrow(d, 0, 1); // one for all
   if (at::has_internal_overlap(matrices) != at::MemOverlap::Yes)
      matrices.copy_(matrices.matmul(matrices.mT()) / matrices.size(-1) + torch::eye(matrices.size(-1), matrices.options()));
}

/// A copy with the same strides, also of an expanded tensor, with the same or `other` values. Whole numbers stay, and
/// numbers from 0 to 1 remain in that range: they may become indices. Symmetric matrices become positive-definite ones,
/// as factorisations throw for others.
torch::Tensor Copy(const torch::Tensor &input, bool other, torch::Generator &generator)
{
   std::int64_t span = input.numel() ? 1 : 0;
   for (std::int64_t d = 0; span && d < input.dim(); ++d)
      span += (input.size(d) - 1) * input.stride(d);
   auto memory = input.detach().as_strided({span}, {1}, input.storage_offset()).clone();
   if (input.is_floating_point() && other) {
      const bool areFractions = ((memory >= 0) & (memory < 1)).all().item<bool>();
      const auto numbers = torch::empty_like(memory, torch::kCPU); // the generator's device
      memory.copy_(areFractions ? numbers.uniform_(0, 1, generator) : numbers.normal_(0, 3, generator));
   }
   const auto copy = memory.as_strided(input.sizes(), input.strides());
   if (input.is_floating_point() && other && HasSymmetricMatrices(input))
      MakePositiveDefinite(copy);
   return copy;
}

TensorList Copies(const TensorList &inputs, bool other, torch::Generator &generator)
{
   TensorList copies;
   for (const auto &input : inputs)
      copies.push_back(Copy(input, other, generator));
   return copies;
}

std::string Message(const std::exception &e)
{
   const auto *ofTorch = dynamic_cast<const c10::Error *>(&e);
   return ofTorch ? ofTorch->what_without_backtrace() : e.what();
}

/// The observations of a run, except its results.
struct Seen {
   std::vector<Watch::Step> fSteps;
   TensorList fCaptured; ///< that require a gradient
   Reached fReached;     ///< from each result, the inputs and captured tensors that its gradient reaches
   /// Addresses of captured tensors in fSteps. A tensor that the function makes anew without LibTorch's operators
   /// (data()) is another one in the next run, and must not get the address of the first one.
   std::vector<Watch::WeakTensor> fAddresses;
};

/// Runs `function` once more without watching it. Returns its exception.
std::exception_ptr RunPlainly(const ListFunction &function, const TensorList &inputs, bool gradients)
{
   const Preserve unchanged(inputs);
   const torch::AutoGradMode mode(gradients);
   for (const auto &input : inputs)
      input.requires_grad_(gradients && input.is_floating_point());
   try {
      function(inputs);
   } catch (...) {
      return std::current_exception();
   }
   return nullptr;
}

/// Runs `function` without gradients; only operators may access the memory that it makes. Throws Thrown if the function
/// throws whether it is watched or not, and Unobservable.
Seen RunClosed(const ListFunction &function, const TensorList &inputs)
{
   std::string failure;
   {
      const Preserve unchanged(inputs);
      const torch::NoGradGuard withoutGradients;
      Watch watch(inputs, Watch::kNoGradients);
      try {
         {
            const auto results = function(inputs);
            watch.End(results);
            if (results.empty())
               throw Unobservable("it returns no tensor");
         }
         watch.CheckKept();
         return {watch.Steps(), watch.Captured(), {}, watch.Addresses()};
      } catch (const Unobservable &) {
         throw;
      } catch (const std::exception &e) {
         failure = watch.Obstacle().empty() ? Message(e) : watch.Obstacle();
      }
   }
   if (RunPlainly(function, inputs, false))
      if (const auto thrown = RunPlainly(function, inputs, true)) // it may want a gradient of its inputs
         throw Thrown{thrown};
   throw Unobservable(failure);
}

/// Runs `function` as in a call with `inputs`, some of which require a gradient.
Seen RunCalled(const ListFunction &function, const TensorList &inputs, bool recorded)
{
   const Preserve unchanged(inputs);
   const torch::AutoGradMode gradients(recorded);
   const auto begin = at::sequence_number::peek();
   Watch watch(inputs, recorded ? Watch::kGradients : Watch::kNoGradients);
   TensorList results;
   try {
      results = function(inputs);
   } catch (const std::exception &e) {
      throw Unobservable("where gradients are " + std::string(recorded ? "" : "not ") + "recorded it throws: " + Message(e));
   }
   watch.End(results);
   auto arguments = inputs;
   arguments.insert(arguments.end(), watch.Captured().begin(), watch.Captured().end());
   return {watch.Steps(), watch.Captured(), FollowAutogradGraph(arguments, inputs.size(), results, begin),
           watch.Addresses()};
}

/// The same with every input of floating point requiring a gradient.
Seen RunWithGradients(const ListFunction &function, const TensorList &inputs)
{
   for (const auto &input : inputs)
      input.requires_grad_(input.is_floating_point());
   return RunCalled(function, inputs, true);
}

/// The same with the gradients that a call requests; inputs that require one are results of other operators.
Seen RunAsWanted(const ListFunction &function, const TensorList &inputs, const Wanted &wanted)
{
   const auto before = std::make_shared<torch::autograd::Identity>();
   for (std::size_t i = 0; i < inputs.size(); ++i)
      if (wanted.fInputs[i])
         torch::autograd::impl::set_gradient_edge(inputs[i], {before, before->add_input_metadata(inputs[i])});
   return RunCalled(function, inputs, wanted.fRecorded);
}

/// Lets LibTorch record `function`. The graph's inputs are `inputs` and `parameters`; the function finds the parameters
/// where it captured them. `watch` has watched the run.
std::shared_ptr<torch::jit::Graph> Trace(const ListFunction &function, const TensorList &inputs,
                                         const TensorList &parameters, std::optional<Watch> &watch)
{
   const torch::NoGradGuard withoutGradients;
   torch::jit::Stack stack(inputs.begin(), inputs.end());
   stack.insert(stack.end(), parameters.begin(), parameters.end());
   const auto call = [&](torch::jit::Stack given) {
      TensorList arguments;
      for (std::size_t i = 0; i < inputs.size(); ++i)
         arguments.push_back(given[i].toTensor());
      watch.emplace(arguments, Watch::kNoGradients);
      auto outputs = function(arguments);
      watch->End(outputs);
      MakeBoolsNumbers(*torch::jit::tracer::getTracingState()->graph);
      return torch::jit::Stack(outputs.begin(), outputs.end());
   };
   const auto nameless = [](const torch::Tensor &) { return std::string(); };
   return torch::jit::tracer::trace(std::move(stack), call, nameless).first->graph;
}

/// LibTorch accepts a number on the CPU beside tensors on a GPU, kernels do not: one that the function makes
/// (torch::tensor(2.)) is moved to the device of the inputs. `value` is the graph's.
void Join(torch::Tensor &constant, torch::jit::Value &value, torch::Device device)
{
   if (constant.dim() > 0 || constant.device() == device)
      return;
   constant = constant.to(device);
   value.inferTypeFrom(constant);
}

/// LibTorch's record of a run without gradients.
Observation RunTraced(const ListFunction &function, const TensorList &inputs, const TensorList &parameters,
                      const std::string &name)
{
   const Preserve unchanged(inputs);
   const Writes writes;
   std::optional<Watch> watch;
   const auto graph = Trace(function, inputs, parameters, watch);
   Observation observation;
   observation.fConstants = parameters;
   observation.fParameters = parameters.size();
   std::size_t computed = 0;
   const auto lifted = Simplify(graph, [&](const torch::Tensor &constant) { return watch->Made(constant, 2); }, computed);
   observation.fConstants.insert(observation.fConstants.end(), lifted.begin(), lifted.end());
   observation.fMade.resize(parameters.size());
   for (std::size_t i = 0; i < lifted.size(); ++i)
      observation.fMade.push_back(i + computed >= lifted.size());
   for (std::size_t i = 0; i < observation.fConstants.size(); ++i)
      if (observation.fMade[i])
         Join(observation.fConstants[i], *graph->inputs()[inputs.size() + i], DeviceOf(inputs));
   for (const auto &constant : observation.fConstants)
      if (constant.is_neg())
         throw Unobservable("a captured tensor is stored with the opposite sign: capture its resolve_neg()");
   observation.fCounters = writes.Counters(observation.fConstants);
   observation.fGraph = Lower(*graph, inputs.size(), name, observation.fObstacle);
   observation.fRecorded = graph;
   observation.fDraws = watch->Draws();
   observation.fChanged = unchanged.Changed();
   return observation;
}

/// The same for values that the function has accepted before: an exception is now an obstacle.
Observation TraceKnown(const ListFunction &function, const TensorList &inputs, const TensorList &parameters,
                       const std::string &name)
{
   try {
      return RunTraced(function, inputs, parameters, name);
   } catch (const Unobservable &) {
      throw;
   } catch (const std::exception &e) {
      throw Unobservable("where it is observed it throws: " + Message(e));
   }
}

/// The same for other values; nothing if an operator refuses them, which proves nothing.
std::optional<Observation> TraceOther(const ListFunction &function, const TensorList &inputs, const TensorList &parameters,
                                      const std::string &name)
{
   try {
      return RunTraced(function, inputs, parameters, name);
   } catch (const c10::Error &) {
      return std::nullopt;
   }
}

/// Throws if a run with gradients calls other operators than one without.
void CheckSteps(const std::vector<Watch::Step> &with, const std::vector<Watch::Step> &without)
{
   const auto count = std::max(with.size(), without.size());
   const auto name = [](const std::vector<Watch::Step> &steps, std::size_t i) {
      return i < steps.size() ? steps[i].fOperator : "the end of the function";
   };
   for (std::size_t i = 0; i < count; ++i)
      if (i >= with.size() || i >= without.size() || !(with[i] == without[i]))
         throw Unobservable("its operators are others when gradients are required (requires_grad()), or from call to call: operator " +
                            std::to_string(i + 1) + " is " + name(with, i) + " then and " + name(without, i) + " otherwise" +
                            (name(with, i) == name(without, i) ? ", with other arguments" : ""));
}

/// A third run if two differ: objects that the first call makes and keeps, such as a table of numbers, exist now.
/// Throws if it calls other operators than both, which means different ones at each call.
Seen RunAgain(const ListFunction &function, const TensorList &inputs, const Seen &first, const Seen &second)
{
   auto third = RunClosed(function, inputs);
   if (!(third.fSteps == first.fSteps) && !(third.fSteps == second.fSteps))
      throw Inconstant("its operators are others at each call (a counter, state that it replaces, from_blob()); with fBackEnd = kAutogradBackEnd it "
                       "is not run to be observed");
   return third;
}

bool SameValues(const torch::Tensor &a, const torch::Tensor &b)
{
   if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes())
      return false;
   return ((a == b) | ((a != a) & (b != b))).all().item<bool>();
}

bool Same(const Core::ObservedValue &a, const Core::ObservedValue &b)
{
   return a.dtype == b.dtype && std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end());
}

template <typename T>
bool Same(const T &a, const T &b)
{
   return a == b;
}

bool Same(double a, double b)
{
   return a == b || (std::isnan(a) && std::isnan(b));
}

bool Same(const Core::ObservedArgument &a, const Core::ObservedArgument &b);

template <typename T>
bool Same(const rust::Vec<T> &a, const rust::Vec<T> &b)
{
   return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T &x, const T &y) { return Same(x, y); });
}

bool Same(const Core::ObservedArgument &a, const Core::ObservedArgument &b)
{
   return a.kind == b.kind && a.value == b.value && Same(a.number, b.number) && Same(a.list, b.list) &&
          Same(a.numbers, b.numbers) && a.text == b.text;
}

bool Same(const Core::ObservedNode &a, const Core::ObservedNode &b)
{
   return a.op == b.op && a.overload == b.overload && Same(a.arguments, b.arguments) && Same(a.outputs, b.outputs);
}

std::string Describe(const Core::ObservedGraph &graph, std::size_t node)
{
   return node < graph.nodes.size() ? std::string(graph.nodes[node].op) : "the end of the function";
}

/// Throws if two observations of one function differ.
void CheckAlike(const Observation &first, const Observation &second, const std::string &name)
{
   const auto &a = first.fGraph, &b = second.fGraph;
   const std::string why = ": the function branches on the values of its tensors, or uses one as a number (item())";
   for (std::size_t i = 0; i < std::max(a.nodes.size(), b.nodes.size()); ++i)
      if (i >= a.nodes.size() || i >= b.nodes.size() || !Same(a.nodes[i], b.nodes[i]))
         throw Unobservable("operator " + std::to_string(i + 1) + " of " + name + " is " + Describe(a, i) +
                            " for the examples and " + Describe(b, i) +
                            (Describe(a, i) == Describe(b, i) ? " with other arguments" : "") +
                            " for other values of the same shapes" + why);
   if (a.values.size() != b.values.size() || !std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                                                         [](const auto &x, const auto &y) { return Same(x, y); }))
      throw Unobservable("the shapes inside " + name + " differ for other values of the same inputs" + why);
   const auto sameCounter = [](const Counter &x, const Counter &y) { return x.fTensor.is_same(y.fTensor) && x.fStep == y.fStep; };
   if (first.fDraws != second.fDraws)
      throw Unobservable("the number of random draws differs for other values of the same inputs" + why);
   if (!std::equal(first.fCounters.begin(), first.fCounters.end(), second.fCounters.begin(), second.fCounters.end(), sameCounter))
      throw Unobservable("what " + name + " counts differs for other values of the same inputs" + why);
   CheckSameConstants(first, second, name);
}

} // namespace

const Core::ObservedGraph &Observation::Graph() const
{
   if (!fObstacle.empty())
      throw Unobservable(fObstacle);
   return fGraph;
}

std::string Thrown::Message() const
{
   try {
      std::rethrow_exception(fWhat);
   } catch (const std::exception &e) {
      return Internal::Message(e);
   } catch (...) {
      return "an exception of another type";
   }
}

bool SamePlace(const torch::Tensor &a, const torch::Tensor &b)
{
   return a.is_same(b) || (ShareMemory(a, b) && a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
                           a.strides() == b.strides());
}

namespace {

/// An odd factor: the product determines the number.
std::uint64_t Mixed(std::uint64_t number)
{
   number *= 0x9e3779b97f4a7c15;
   return number ^ number >> 32;
}

/// Four independent chains of multiplications, so that the hash is as fast as memory. Each step is one-to-one, and brings high bits, as
/// those of signs, down to all others.
std::uint64_t HashOf(std::string_view bytes)
{
   constexpr std::size_t kChains = 4, kBlock = kChains * sizeof(std::uint64_t);
   std::uint64_t chains[kChains] = {1, 2, 3, 4};
   for (; !bytes.empty(); bytes.remove_prefix(std::min(kBlock, bytes.size()))) {
      std::uint64_t words[kChains] = {};
      std::memcpy(words, bytes.data(), std::min(kBlock, bytes.size()));
      for (std::size_t i = 0; i < kChains; ++i)
         chains[i] = Mixed(chains[i] ^ words[i]);
   }
   std::uint64_t hash = 0;
   for (const auto chain : chains)
      hash = Mixed(hash ^ chain);
   return hash;
}

/// Of the captured tensors' memory on the CPU, from the first to the last element of each.
std::vector<std::uint64_t> Hashes(const TensorList &captured)
{
   std::vector<std::uint64_t> hashes;
   for (const auto &tensor : captured) {
      const bool isThere = tensor.has_storage() && tensor.is_cpu() && tensor.numel() > 0;
      const auto *bytes = isThere ? static_cast<const char *>(tensor.const_data_ptr()) : nullptr;
      const auto extent = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size());
      hashes.push_back(bytes ? HashOf({bytes, extent}) : 0);
   }
   return hashes;
}

} // namespace

void CheckSameConstants(const Observation &first, const Observation &second, const std::string &name)
{
   const auto &a = first.fConstants, &b = second.fConstants;
   for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (i >= a.size() || i >= b.size() || first.fMade[i] != second.fMade[i])
         throw Unobservable(name + " captures different tensors from call to call");
      if (first.fMade[i] ? !SameValues(a[i], b[i]) : !SamePlace(a[i], b[i]))
         throw Unobservable(first.fMade[i] ? "a tensor that " + name + " makes of numbers changes with the inputs"
                                           : "a tensor that " + name + " captures changes from call to call");
   }
}

Observation Observe(const ListFunction &function, const TensorList &inputs, const Wanted &wanted, const std::string &name)
{
   CheckOneDevice(inputs);
   const CleanDispatch outside;
   const c10::InferenceMode normal(false); // the observation needs autograd
   auto generator = at::detail::createCPUGenerator(1);
   const auto copies = [&](bool other) { return Copies(inputs, other, generator); };
   auto closed = RunClosed(function, copies(false));
   const auto withGradients = RunWithGradients(function, copies(false));
   if (!(closed.fSteps == withGradients.fSteps))
      closed = RunAgain(function, copies(false), closed, withGradients);
   CheckSteps(withGradients.fSteps, closed.fSteps);
   auto asWanted = RunAsWanted(function, copies(false), wanted);
   CheckSteps(asWanted.fSteps, closed.fSteps);
   const auto &parameters = withGradients.fCaptured;
   auto observation = TraceKnown(function, copies(false), parameters, name);
   observation.fReached = std::move(asWanted.fReached);
   const auto before = Hashes(observation.fConstants);
   const auto other = TraceOther(function, copies(true), parameters, name);
   if (Hashes(observation.fConstants) != before) // changes by operators are undone
      throw Inconstant("it writes to a captured tensor by its address (data_ptr(), accessor())");
   if (other)
      CheckAlike(observation, *other, name);
   return observation;
}

void CheckFollows(const ListFunction &function, const TensorList &inputs, const Wanted &wanted, const Observation &expected,
                  const std::string &name)
{
   const CleanDispatch outside;
   const c10::InferenceMode normal(false);
   auto generator = at::detail::createCPUGenerator(1);
   const auto &constants = expected.fConstants;
   const TensorList parameters(constants.begin(), constants.begin() + static_cast<std::ptrdiff_t>(expected.fParameters));
   auto traced = TraceKnown(function, Copies(inputs, false, generator), parameters, name);
   SpellOutFills(traced, expected.fFills);
   CheckAlike(expected, traced, name);
   if (RunAsWanted(function, Copies(inputs, false, generator), wanted).fReached != expected.fReached)
      throw Unobservable("the gradients of " + name + " reach other tensors when the inputs change");
}

} // namespace Internal
} // namespace CladTorch
