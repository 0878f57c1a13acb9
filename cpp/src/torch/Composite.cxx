#include "Composite.hxx"

#include "Devices.hxx"
#include "InPlace.hxx"
#include "Recorded.hxx"
#include "Subgraph.hxx"
#include "Watch.hxx"
#include "Writes.hxx"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// LibTorch's operator of a node that the core does not list and for which LibTorch itself has no kernel of its own.
std::optional<c10::OperatorHandle> CompositeOf(const Node &node)
{
   if (!Core::operator_is_unknown(node.kind().toQualString()))
      return std::nullopt;
   const auto *schema = node.maybeSchema(); // only for these: the search takes long, and a node caches its result
   if (!schema)
      return std::nullopt;
   auto handle = c10::Dispatcher::singleton().findSchema(schema->operator_name());
   return handle && handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ? handle : std::nullopt;
}

/// A tensor of the type, shape, strides and device that were recorded.
std::optional<torch::Tensor> Example(const Value &value)
{
   const auto type = value.type()->cast<c10::TensorType>();
   if (!type || !type->scalarType() || !type->device())
      return std::nullopt;
   const auto sizes = type->sizes().concrete_sizes(), strides = type->strides().concrete_sizes();
   if (!sizes || !strides)
      return std::nullopt;
   return torch::empty_strided(*sizes, *strides, torch::dtype(*type->scalarType()).device(*type->device())).zero_();
}

/// An argument of an operator: a constant, or `tensors` from number `next` on.
std::optional<c10::IValue> ArgumentOf(const Value &value, const TensorList &tensors, std::size_t &next)
{
   if (auto constant = torch::jit::toIValue(&value))
      return constant;
   if (value.node()->kind() != torch::jit::prim::ListConstruct)
      return value.type()->kind() == c10::TypeKind::TensorType ? std::make_optional<c10::IValue>(tensors.at(next++)) : std::nullopt;
   c10::impl::GenericList list(value.type()->expectRef<c10::ListType>().getElementType());
   for (const auto *element : value.node()->inputs()) {
      auto one = ArgumentOf(*element, tensors, next);
      if (!one)
         return std::nullopt;
      list.push_back(std::move(*one));
   }
   return c10::IValue(std::move(list));
}

/// The results of an operator, lists as their elements.
TensorList TensorsOf(const torch::jit::Stack &results)
{
   TensorList tensors;
   for (const auto &result : results) {
      const auto some = result.isTensorList() ? result.toTensorVector() : TensorList{result.toTensor()};
      tensors.insert(tensors.end(), some.begin(), some.end());
   }
   return tensors;
}

/// Runs the operator with its tensors replaced by `tensors`, without recording it.
TensorList Call(const Node &node, const c10::OperatorHandle &handle, const TensorList &tensors)
{
   torch::jit::Stack stack;
   std::size_t next = 0;
   for (const auto *input : node.inputs()) {
      auto argument = ArgumentOf(*input, tensors, next);
      if (!argument)
         throw Unobservable("an argument that is neither a tensor nor a constant");
      stack.push_back(std::move(*argument));
   }
   const auto key = DeviceOf(tensors).is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
   handle.redispatchBoxed(c10::DispatchKeySet(key), &stack);
   return TensorsOf(stack);
}

/// The operators that it calls, recorded; null if it does more than call them.
std::shared_ptr<Graph> Inside(const Node &node, const c10::OperatorHandle &handle)
{
   torch::jit::Stack examples;
   for (const auto *operand : Operands(node)) {
      auto example = Example(*operand);
      if (!example)
         return nullptr;
      examples.emplace_back(std::move(*example));
   }
   const torch::NoGradGuard withoutGradients;
   const Writes ofThis; // not those of the function whose operator it is
   const auto call = [&](const torch::jit::Stack &given) {
      TensorList tensors;
      for (const auto &one : given)
         tensors.push_back(one.toTensor());
      Watch watch(tensors, Watch::kNoGradients);
      const auto results = Call(node, handle, tensors);
      if (!watch.Draws().empty())
         throw Unobservable("it draws random numbers");
      watch.End({}); // results may be views of its arguments
      return torch::jit::Stack(results.begin(), results.end());
   };
   const auto nameless = [](const torch::Tensor &) { return std::string(); };
   try {
      return torch::jit::tracer::trace(std::move(examples), call, nameless).first->graph;
   } catch (const std::exception &) {
      return nullptr; // it stays whole, and LibTorch runs it
   }
}

/// Whether kernels have rules for all operators except those that depend on numbers alone, which are computed once.
bool HasKernels(Graph &graph)
{
   std::unordered_set<const Value *> numbers;
   for (const auto *node : graph.nodes()) {
      if (IsSpeltOut(*node))
         continue;
      const auto operands = Operands(*node);
      if (std::all_of(operands.begin(), operands.end(), [&](const Value *operand) { return numbers.count(operand) > 0; })) {
         const auto results = Results(*node);
         numbers.insert(results.begin(), results.end());
         continue;
      }
      const auto plain = WithoutUnderscore(*node); // for one that changes a tensor that the operator itself has made
      const auto kind = plain == c10::Symbol() ? node->kind() : plain;
      if (!Core::operator_obstacle(kind.toQualString()).empty())
         return false;
   }
   return true;
}

/// Replaces the node by `inside`, unless the node returns a list that is used as a whole.
void Replace(Node &node, Graph &inside)
{
   const auto results = Results(node);
   if (results.size() != inside.outputs().size() ||
       std::any_of(results.begin(), results.end(), [](const Value *result) { return result->type()->kind() != c10::TypeKind::TensorType; }))
      return;
   std::vector<Value *> operands;
   for (const auto *operand : Operands(node))
      operands.push_back(const_cast<Value *>(operand));
   const torch::jit::WithInsertPoint here(&node);
   const auto made = torch::jit::insertGraph(*node.owningGraph(), inside, operands);
   for (std::size_t i = 0; i < results.size(); ++i)
      const_cast<Value *>(results[i])->replaceAllUsesWith(made[i]);
   for (auto *output : node.outputs())
      while (!output->uses().empty())
         output->uses().front().user->destroy(); // unpacked a list
   node.destroy();
}

} // namespace

void TakeCompositesApart(Graph &graph)
{
   std::vector<std::pair<Node *, c10::OperatorHandle>> composites; // Replace() destroys none of the others
   for (auto *node : graph.nodes())
      if (auto handle = CompositeOf(*node))
         composites.emplace_back(node, *handle);
   for (const auto &[node, handle] : composites) {
      const auto inside = Inside(*node, handle);
      if (!inside)
         continue;
      TakeCompositesApart(*inside);
      if (HasKernels(*inside))
         Replace(*node, *inside);
   }
}

} // namespace Internal
} // namespace CladTorch
