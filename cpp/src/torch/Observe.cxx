#include "Observe.hxx"

#include "CleanDispatch.hxx"
#include "Preserve.hxx"
#include "Writes.hxx"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include <unordered_map>
#include <unordered_set>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// Numbers of the core's `DType::ALL`.
std::uint8_t DType(torch::ScalarType type)
{
   switch (type) {
   case torch::kFloat32: return 0;
   case torch::kFloat64: return 1;
   case torch::kInt64: return 2;
   case torch::kBool: return 3;
   default: throw Unobservable(std::string("a tensor is of type ") + c10::toString(type));
   }
}

/// Parameters that a function captures: the leaves of its autograd graph.
TensorList CapturedParameters(const ListFunction &function, const TensorList &inputs)
{
   const torch::AutoGradMode gradients(true);
   TensorList leaves;
   std::unordered_set<torch::autograd::Node *> seen;
   std::vector<torch::autograd::Node *> open;
   const auto outputs = function(inputs); // owns the nodes
   for (const auto &output : outputs)
      open.push_back(output.grad_fn().get());
   while (!open.empty()) {
      auto *node = open.back();
      open.pop_back();
      if (!node || !seen.insert(node).second)
         continue;
      if (auto *leaf = dynamic_cast<torch::autograd::AccumulateGrad *>(node))
         leaves.push_back(leaf->variable);
      for (const auto &edge : node->next_edges())
         open.push_back(edge.function.get());
   }
   return leaves;
}

/// Lets LibTorch record `function`. The graph's inputs are `inputs` and `parameters`; the parameters are what the
/// function finds where it captured them.
std::shared_ptr<Graph> Trace(const ListFunction &function, const TensorList &inputs, const TensorList &parameters)
{
   const torch::NoGradGuard withoutGradients;
   torch::jit::Stack stack(inputs.begin(), inputs.end());
   stack.insert(stack.end(), parameters.begin(), parameters.end());
   const auto call = [&](torch::jit::Stack given) {
      TensorList arguments;
      for (std::size_t i = 0; i < inputs.size(); ++i)
         arguments.push_back(given[i].toTensor());
      auto outputs = function(arguments);
      return torch::jit::Stack(outputs.begin(), outputs.end());
   };
   const auto nameless = [](const torch::Tensor &) { return std::string(); };
   return torch::jit::tracer::trace(std::move(stack), call, nameless).first->graph;
}

/// Makes captured tensors, which LibTorch records as constants, arguments of the graph.
TensorList LiftConstants(Graph &graph)
{
   TensorList tensors;
   std::vector<Node *> constants;
   for (auto *node : graph.nodes())
      if (node->kind() == torch::jit::prim::Constant && node->output()->type()->isSubtypeOf(*c10::TensorType::get()))
         constants.push_back(node);
   for (auto *node : constants) {
      auto value = torch::jit::toIValue(node->output());
      auto *argument = graph.addInput();
      argument->inferTypeFrom(value->toTensor());
      node->output()->replaceAllUsesWith(argument);
      tensors.push_back(value->toTensor());
   }
   return tensors;
}

/// `empty_like(x).fill_(1)`, which `1 - x` is made of, has become a tensor like that empty one and of its type: here it
/// becomes one like x, of a type that is a constant.
void SpellOutFills(Graph &graph)
{
   for (auto *node : graph.nodes()) {
      const auto type = node->inputs().empty() ? nullptr : node->input(0)->type()->cast<c10::TensorType>();
      if (node->kind() == torch::jit::prim::dtype && type && type->scalarType()) {
         const torch::jit::WithInsertPoint here(node);
         node->output()->replaceAllUsesWith(graph.insertConstant(static_cast<std::int64_t>(*type->scalarType())));
      } else if (node->kind() == torch::jit::aten::full_like && node->input(0)->node()->kind() == torch::jit::aten::empty_like) {
         node->replaceInput(0, node->input(0)->node()->input(0));
      }
   }
}

/// Turns a recorded graph into the core's structure.
class Lowering {
public:
   explicit Lowering(std::string name) : fName(std::move(name)) {}

   Core::ObservedGraph Run(const Graph &graph, std::size_t inputs)
   {
      for (std::size_t i = 0; i < graph.inputs().size(); ++i)
         (i < inputs ? fGraph.inputs : fGraph.constants).push_back(Number(graph.inputs()[i]));
      for (auto *node : graph.nodes())
         Add(*node);
      for (auto *output : graph.outputs())
         fGraph.outputs.push_back(Number(output));
      return std::move(fGraph);
   }

private:
   std::uint32_t Number(const Value *value)
   {
      const auto known = fNumbers.find(value);
      if (known != fNumbers.end())
         return known->second;
      const auto type = value->type()->cast<c10::TensorType>();
      const auto shape = type ? type->sizes().concrete_sizes() : std::nullopt;
      const auto strides = type ? type->strides().concrete_sizes() : std::nullopt;
      if (!shape || !strides || !type->scalarType())
         throw Unobservable("LibTorch did not record shape and type of '%" + value->debugName() + "', a " +
                            value->type()->str());
      const auto number = static_cast<std::uint32_t>(fGraph.values.size());
      Core::ObservedValue observed{value->hasDebugName() ? value->debugName() : "", DType(*type->scalarType()), {}, {}};
      for (const auto size : *shape)
         observed.shape.push_back(size);
      for (const auto stride : *strides)
         observed.strides.push_back(stride);
      fGraph.values.push_back(std::move(observed));
      fNumbers[value] = number;
      return number;
   }

   /// Constants and lists are spelt out in the arguments of the operators that use them.
   static bool IsSpeltOut(const Node &node)
   {
      const auto kind = node.kind();
      return kind == torch::jit::prim::Constant || kind == torch::jit::prim::ListConstruct ||
             kind == torch::jit::prim::ListUnpack;
   }

   void Add(const Node &node)
   {
      if (IsSpeltOut(node))
         return;
      const auto *schema = node.maybeSchema();
      if (!schema)
         throw Unobservable(std::string("LibTorch knows no operator ") + node.kind().toQualString());
      Core::ObservedNode observed{node.kind().toQualString(), schema->overload_name(), {}, {}, {}};
      observed.place = "operator " + std::to_string(++fOperators) + " of " + fName;
      for (const auto *input : node.inputs())
         observed.arguments.push_back(Argument(input));
      for (const auto *output : node.outputs())
         AddOutput(observed, output);
      fGraph.nodes.push_back(std::move(observed));
   }

   /// A list of tensors is the tensors it is taken apart into.
   void AddOutput(Core::ObservedNode &node, const Value *output)
   {
      if (output->type()->kind() != c10::TypeKind::ListType) {
         node.outputs.push_back(Number(output));
         return;
      }
      for (const auto &use : output->uses()) {
         if (use.user->kind() != torch::jit::prim::ListUnpack)
            throw Unobservable("a list of tensors is used as a whole");
         for (const auto *element : use.user->outputs())
            node.outputs.push_back(Number(element));
      }
   }

   Core::ObservedArgument Argument(const Value *value)
   {
      if (const auto constant = torch::jit::toIValue(value))
         return Constant(*constant);
      if (value->node()->kind() == torch::jit::prim::ListConstruct)
         return List(*value->node());
      Core::ObservedArgument argument{1, 0, 0, {}, {}, {}};
      argument.value = Number(value);
      return argument;
   }

   Core::ObservedArgument List(const Node &node)
   {
      Core::ObservedArgument argument{5, 0, 0, {}, {}, {}};
      for (const auto *element : node.inputs()) {
         auto one = Argument(element);
         argument.kind = one.kind == 1 || one.kind == 0 ? 7 : one.kind == 3 ? 8 : one.kind == 4 ? 9 : argument.kind;
         if (one.kind == 3)
            argument.numbers.push_back(one.number);
         else
            argument.list.push_back(one.kind == 0 ? -1 : one.value);
      }
      return argument;
   }

   static Core::ObservedArgument Constant(const c10::IValue &value)
   {
      Core::ObservedArgument argument{0, 0, 0, {}, {}, {}};
      if (value.isBool()) {
         argument.kind = 4;
         argument.value = value.toBool();
      } else if (value.isInt()) {
         argument.kind = 2;
         argument.value = value.toInt();
      } else if (value.isDouble()) {
         argument.kind = 3;
         argument.number = value.toDouble();
      } else if (value.isString()) {
         argument.kind = 6;
         argument.text = value.toStringRef();
      } else if (value.isDevice()) {
         argument.kind = 6;
         argument.text = value.toDevice().str();
      } else if (value.isBoolList()) {
         argument.kind = 9;
         for (const bool element : value.toBoolList())
            argument.list.push_back(element);
      } else if (value.isDoubleList()) {
         argument.kind = 8;
         for (const double element : value.toDoubleList())
            argument.numbers.push_back(element);
      } else if (value.isIntList()) {
         argument.kind = 5;
         for (const std::int64_t element : value.toIntList())
            argument.list.push_back(element);
      } else if (!value.isNone()) {
         throw Unobservable("an operator takes a constant of type " + value.tagKind());
      }
      return argument;
   }

   std::string fName;
   Core::ObservedGraph fGraph;
   std::unordered_map<const Value *, std::uint32_t> fNumbers;
   std::size_t fOperators = 0;
};

Observation ObserveOnce(const ListFunction &function, const TensorList &inputs, const TensorList &parameters,
                        const std::string &name)
{
   const Writes writes(inputs.size());
   auto graph = Trace(function, inputs, parameters);
   Observation observation;
   observation.fConstants = parameters;
   const auto lift = [&] {
      const auto tensors = LiftConstants(*graph);
      observation.fConstants.insert(observation.fConstants.end(), tensors.begin(), tensors.end());
   };
   lift(); // before anything is computed from them: they may change
   torch::jit::RemoveTensorMutation(graph);
   SpellOutFills(*graph);
   torch::jit::ConstantPropagation(graph);
   lift(); // what was computed from nothing but numbers
   torch::jit::LowerSimpleTuples(graph);
   torch::jit::EliminateDeadCode(graph);
   for (const auto &constant : observation.fConstants)
      if (constant.is_neg())
         throw Unobservable("a captured tensor is stored with the opposite sign: capture its resolve_neg()");
   observation.fCounters = writes.Counters(observation.fConstants);
   observation.fGraph = Lowering(name).Run(*graph, inputs.size());
   return observation;
}

enum EValues { kSame, kReversed, kRandom };

/// A copy with the same strides, also of an expanded tensor, of the same or of other values. Whole numbers stay: they may
/// be indices.
torch::Tensor Copy(const torch::Tensor &input, EValues values, torch::Generator &generator)
{
   std::int64_t span = input.numel() ? 1 : 0;
   for (std::int64_t d = 0; span && d < input.dim(); ++d)
      span += (input.size(d) - 1) * input.stride(d);
   auto memory = input.detach().as_strided({span}, {1}, input.storage_offset()).clone();
   if (input.is_floating_point() && values == kReversed)
      memory.mul_(-1.618);
   if (input.is_floating_point() && values == kRandom)
      memory.normal_(0, 3, generator);
   return memory.as_strided(input.sizes(), input.strides());
}

bool Same(const Core::ObservedValue &a, const Core::ObservedValue &b)
{
   return a.dtype == b.dtype && std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end());
}

std::string Describe(const Core::ObservedGraph &graph, std::size_t node)
{
   return node < graph.nodes.size() ? std::string(graph.nodes[node].op) : "the end of the function";
}

/// Throws where two observations of one function differ.
void CheckAlike(const Observation &first, const Observation &second, const std::string &name)
{
   const auto &a = first.fGraph, &b = second.fGraph;
   const std::string why = ": the function branches on the values of its tensors, or uses one as a number (item()), "
                           "which a compiled function cannot; use torch::where, or LibTorch without Compile";
   for (std::size_t i = 0; i < std::max(a.nodes.size(), b.nodes.size()); ++i)
      if (i >= a.nodes.size() || i >= b.nodes.size() || !(a.nodes[i] == b.nodes[i]))
         throw std::runtime_error("operator " + std::to_string(i + 1) + " of " + name + " is " + Describe(a, i) +
                                  " for the examples and " + Describe(b, i) +
                                  (Describe(a, i) == Describe(b, i) ? " with other arguments" : "") +
                                  " for other values of the same shapes" + why);
   if (a.values.size() != b.values.size() || !std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                                                         [](const auto &x, const auto &y) { return Same(x, y); }))
      throw std::runtime_error("the shapes inside " + name + " differ for other values of the same inputs" + why);
   const auto sameCounter = [](const Counter &x, const Counter &y) { return x.fTensor.is_same(y.fTensor) && x.fStep == y.fStep; };
   if (!std::equal(first.fCounters.begin(), first.fCounters.end(), second.fCounters.begin(), second.fCounters.end(), sameCounter))
      throw std::runtime_error("what " + name + " counts differs for other values of the same inputs" + why);
   for (std::size_t i = 0; i < first.fConstants.size(); ++i) {
      const auto &x = first.fConstants[i], &y = second.fConstants[i];
      if (!x.is_same(y) && !torch::allclose(x.to(torch::kFloat64), y.to(torch::kFloat64), 0, 0, true))
         throw std::runtime_error("a tensor that " + name + " makes of numbers depends on its inputs" + why);
   }
}

} // namespace

Observation Observe(const ListFunction &function, const TensorList &inputs, const std::string &name)
{
   const CleanDispatch outside;
   const c10::InferenceMode normal(false); // the observation needs autograd
   const Preserve unchanged;
   auto generator = at::detail::createCPUGenerator(1);
   const auto copies = [&](EValues values) {
      TensorList list;
      for (const auto &input : inputs)
         list.push_back(Copy(input, values, generator));
      return list;
   };
   const auto parameters = CapturedParameters(function, copies(kSame));
   auto observation = ObserveOnce(function, copies(kSame), parameters, name);
   for (const auto values : {kReversed, kRandom}) {
      Observation other;
      try {
         other = ObserveOnce(function, copies(values), parameters, name);
      } catch (const c10::Error &) {
         continue; // values that the function refuses prove nothing
      }
      CheckAlike(observation, other, name);
   }
   return observation;
}

} // namespace Internal
} // namespace CladTorch
