#include "Seams.hxx"

#include "Devices.hxx"
#include "Recorded.hxx"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <limits>
#include <map>

namespace CladTorch {
namespace Internal {

namespace {

/// Fewer kernels than this gain nothing over LibTorch's operators: a part costs about as much as one of these.
constexpr std::size_t kFewestSteps = 3;

constexpr auto kNever = std::numeric_limits<std::size_t>::max();

bool IsFloating(const torch::jit::Value &value)
{
   const auto type = value.type()->cast<c10::TensorType>();
   return type && type->scalarType() && (*type->scalarType() == torch::kFloat32 || *type->scalarType() == torch::kFloat64);
}

bool IsRandom(const torch::jit::Node &node)
{
   const auto *schema = node.maybeSchema();
   const auto handle = schema ? c10::Dispatcher::singleton().findSchema(schema->operator_name()) : std::nullopt;
   return handle && handle->hasTag(at::Tag::nondeterministic_seeded);
}

/// Whether LibTorch also has an in-place form of the operator.
bool WorksInPlaceToo(const std::string &name)
{
   const auto known = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name + '_'));
   return !known.empty();
}

bool WritesInPlace(const torch::jit::Node &node)
{
   const auto *schema = node.maybeSchema();
   return schema && std::any_of(schema->arguments().begin(), schema->arguments().end(), [](const c10::Argument &argument) {
             return argument.alias_info() && argument.alias_info()->isWrite();
          });
}

/// The same, with a floating-point tensor among its inputs: the core has no functions without one.
Core::ObservedGraph WithFloating(Core::ObservedGraph graph)
{
   const auto isFloating = [](const Core::ObservedValue &value) { return value.dtype == Core::DType::Float32 || value.dtype == Core::DType::Float64; };
   if (std::none_of(graph.values.begin(), graph.values.end(), isFloating)) {
      graph.inputs.push_back(static_cast<std::uint32_t>(graph.values.size()));
      graph.values.push_back({"", Core::DType::Float32, {}, {}});
   }
   return graph;
}

bool IsOnGpu(const torch::jit::Graph &graph)
{
   return std::any_of(graph.inputs().begin(), graph.inputs().end(), [](const torch::jit::Value *input) {
      const auto device = DeviceOf(*input);
      return device && !device->is_cpu();
   });
}

/// The reason, without the operator's place in the function `name` and without a remedy.
std::string Shortened(std::string reason, const std::string &name)
{
   reason.resize(std::min(reason.size(), reason.find("; ")));
   const auto end = " of " + name + ' ';
   const auto place = reason.find(end);
   return place != std::string::npos ? reason.substr(place + end.size()) : "(" + reason + ")";
}

} // namespace

Seams::Seams(const Observation &observation, const std::string &name) : fGraph(*observation.fRecorded)
{
   std::size_t number = 0;
   for (auto *node : observation.fRecorded->nodes()) {
      if (IsSpeltOut(*node))
         continue;
      Operator one{node, ++number, Operands(*node), Results(*node)};
      if (WritesInPlace(*node))
         throw Unobservable(std::string(node->kind().toQualString()) + " changes a tensor in place");
      Ask(one, name);
      for (const auto *result : one.fResults)
         fProducers[result] = fOperators.size();
      for (const auto *operand : one.fOperands)
         fUsers[operand].push_back(fOperators.size());
      fOperators.push_back(std::move(one));
   }
   do {
      Number();
      Sink();
   } while (GiveUpMasks() || GiveUpSmallParts());
   if (std::none_of(fOperators.begin(), fOperators.end(), [](const auto &one) { return one.fKernels; }))
      throw Unobservable("the parts that kernels could run are too small to gain time");
   CheckDraws(observation.fDraws);
}

/// Whether kernels can run the operator by itself.
void Seams::Ask(Operator &one, const std::string &name)
{
   one.fReason = std::string(Core::operator_obstacle(one.fNode->kind().toQualString()));
   if (!one.fReason.empty()) {
      one.fKernels = false;
      one.fDraws = IsRandom(*one.fNode);
      return;
   }
   const auto outputs = fGraph.outputs();
   const Subgraph alone({one.fNode}, [&](const auto &result) {
      return !result.uses().empty() || std::find(outputs.begin(), outputs.end(), &result) != outputs.end();
   });
   try {
      const auto work = Core::graph_work(WithFloating(LowerPart(*alone.Graph(), name, {one.fNumber})), IsOnGpu(*alone.Graph()));
      one.fSteps = work.steps;
      one.fDraws = work.draws;
   } catch (const std::exception &e) {
      one.fKernels = false;
      one.fReason = Shortened(e.what(), name);
      one.fDraws = IsRandom(*one.fNode);
   }
}

/// Each part as early as its operands allow.
void Seams::Number()
{
   for (auto &one : fOperators) {
      one.fPart = one.fKernels ? 0 : 1;
      for (const auto *operand : one.fOperands)
         if (const auto producer = fProducers.find(operand); producer != fProducers.end()) {
            const auto &before = fOperators[producer->second];
            one.fPart = std::max(one.fPart, before.fPart + (before.fKernels != one.fKernels));
         }
   }
}

/// Operators on kernels move to the part of their users: a weight is transposed where it is multiplied.
void Seams::Sink()
{
   const auto outputs = fGraph.outputs();
   for (auto one = fOperators.rbegin(); one != fOperators.rend(); ++one) {
      if (!one->fKernels || one->fDraws)
         continue;
      std::size_t latest = kNever;
      for (const auto *result : one->fResults) {
         if (std::find(outputs.begin(), outputs.end(), result) != outputs.end())
            latest = one->fPart;
         for (const auto user : fUsers[result])
            latest = std::min(latest, fOperators[user].fPart - !fOperators[user].fKernels);
      }
      if (latest != kNever)
         one->fPart = latest;
   }
}

bool Seams::IsUsedOutside(const torch::jit::Value &value, std::size_t part) const
{
   const auto outputs = fGraph.outputs();
   if (std::find(outputs.begin(), outputs.end(), &value) != outputs.end())
      return true;
   const auto users = fUsers.find(&value);
   return users != fUsers.end() && std::any_of(users->second.begin(), users->second.end(),
                                               [&](std::size_t user) { return fOperators[user].fPart != part; });
}

/// Kernels pass only floating point to other parts.
bool Seams::GiveUpMasks()
{
   bool changed = false;
   for (auto &one : fOperators) {
      if (!one.fKernels)
         continue;
      for (const auto *result : one.fResults)
         if (!IsFloating(*result) && IsUsedOutside(*result, one.fPart)) {
            one.fKernels = false;
            changed = true;
         }
   }
   return changed;
}

bool Seams::GiveUpSmallParts()
{
   std::map<std::size_t, std::size_t> steps;
   for (const auto &one : fOperators)
      steps[one.fPart] += one.fSteps;
   bool changed = false;
   for (auto &one : fOperators)
      if (one.fKernels && steps[one.fPart] < kFewestSteps) {
         one.fKernels = false;
         changed = true;
      }
   return changed;
}

/// Checks that the same operators as in the function draw the random numbers, in the same order.
void Seams::CheckDraws(const std::vector<std::string> &draws) const
{
   auto next = draws.begin();
   std::size_t part = 0;
   for (const auto &one : fOperators) {
      const std::string name = one.fNode->kind().toQualString();
      // LibTorch records the out-of-place form of an in-place operator; it draws alike but may have no derivative.
      const bool isNext = one.fDraws && next != draws.end() && (*next == name || (one.fKernels && *next == name + '_'));
      if (one.fDraws && !isNext && (one.fKernels || WorksInPlaceToo(name)))
         throw Unobservable("its random numbers are not those of " + name);
      if (!isNext)
         continue;
      ++next;
      if (one.fPart < part)
         throw Unobservable("its random numbers would be drawn in another order");
      part = one.fPart;
   }
   if (next != draws.end())
      throw Unobservable(*next + " draws random numbers that no operator of the function's results uses");
}

std::vector<std::vector<Operator>> Seams::Parts() const
{
   std::map<std::size_t, std::vector<Operator>> parts;
   for (const auto &one : fOperators)
      parts[one.fPart].push_back(one);
   std::vector<std::vector<Operator>> list;
   for (auto &part : parts)
      list.push_back(std::move(part.second));
   return list;
}

std::string Seams::Reason() const
{
   std::string reason;
   std::size_t others = 0;
   for (const auto &one : fOperators) {
      if (one.fReason.empty())
         continue;
      if (reason.empty())
         reason = "operator " + std::to_string(one.fNumber) + ", " + one.fNode->kind().toQualString() + ' ' + one.fReason;
      else
         ++others;
   }
   return others ? reason + ", and " + std::to_string(others) + (others > 1 ? " others" : " other") : reason;
}

} // namespace Internal
} // namespace CladTorch
