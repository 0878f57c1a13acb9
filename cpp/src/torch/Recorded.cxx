#include "Recorded.hxx"

#include "Composite.hxx"
#include "Devices.hxx"
#include "FixedPlaces.hxx"
#include "InPlace.hxx"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

using Kind = Core::ArgumentKind;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// Makes constant tensors arguments of the graph, except those for which `stays` returns true.
TensorList LiftConstants(Graph &graph, const std::function<bool(const torch::Tensor &)> &stays)
{
   TensorList tensors;
   std::vector<Node *> constants;
   for (auto *node : graph.nodes())
      if (node->kind() == torch::jit::prim::Constant && node->output()->type()->isSubtypeOf(*c10::TensorType::get()))
         constants.push_back(node);
   for (auto *node : constants) {
      auto value = torch::jit::toIValue(node->output());
      if (stays(value->toTensor()))
         continue;
      auto *argument = graph.addInput();
      argument->inferTypeFrom(value->toTensor());
      node->output()->replaceAllUsesWith(argument);
      tensors.push_back(value->toTensor());
   }
   return tensors;
}

/// Makes constant lists of tensors into lists of constants, which LiftConstants() takes.
void SpellOutLists(Graph &graph)
{
   std::vector<Node *> lists;
   for (auto *node : graph.nodes())
      if (node->kind() == torch::jit::prim::Constant && node->output()->type()->kind() == c10::TypeKind::ListType &&
          torch::jit::toIValue(node->output())->isList())
         lists.push_back(node);
   for (auto *node : lists) {
      const auto type = node->output()->type()->expectRef<c10::ListType>().getElementType();
      if (!type->isSubtypeOf(*c10::OptionalType::ofTensor()))
         continue;
      const torch::jit::WithInsertPoint here(node);
      std::vector<Value *> elements;
      for (const c10::IValue &element : torch::jit::toIValue(node->output())->toListRef())
         elements.push_back(graph.insertConstant(element));
      auto *list = graph.insertNode(graph.createList(type, elements));
      node->output()->replaceAllUsesWith(list->output());
   }
}

/// `empty_like(x).fill_(1)`, of which `1 - x` consists, has become a tensor like that empty one and of its type: here
/// it becomes one like x, of a constant type.
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
   /// \param numbers Numbers of the operators in the function.
   Lowering(std::string name, std::vector<std::size_t> numbers) : fName(std::move(name)), fNumbersInFunction(std::move(numbers)) {}

   /// The first thing that the structure cannot represent; the structure is then good for comparisons only.
   const std::string &Obstacle() const { return fObstacle; }

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
   void Note(const std::string &obstacle)
   {
      if (fObstacle.empty())
         fObstacle = obstacle;
   }

   /// The core's type; for any other one a number beyond those.
   Core::DType DType(torch::ScalarType type)
   {
      switch (type) {
      case torch::kFloat32: return Core::DType::Float32;
      case torch::kFloat64: return Core::DType::Float64;
      case torch::kInt64: return Core::DType::Int64;
      case torch::kBool: return Core::DType::Bool;
      default:
         Note(std::string("a tensor is of type ") + c10::toString(type) + (c10::isIntegralType(type, false) ? " (kernels take kLong and kBool)" : ""));
         return static_cast<Core::DType>(static_cast<int>(Core::DType::Bool) + 1 + static_cast<int>(type));
      }
   }

   std::uint32_t Number(const Value *value)
   {
      const auto known = fNumbers.find(value);
      if (known != fNumbers.end())
         return known->second;
      const auto type = value->type()->cast<c10::TensorType>();
      NoteDevice(*value);
      const auto shape = type ? type->sizes().concrete_sizes() : std::nullopt;
      const auto strides = type ? type->strides().concrete_sizes() : std::nullopt;
      const auto number = static_cast<std::uint32_t>(fGraph.values.size());
      Core::ObservedValue observed{value->hasDebugName() ? value->debugName() : "", Core::DType::Float32, {}, {}};
      if (shape && strides && type->scalarType()) {
         observed.dtype = DType(*type->scalarType());
         for (const auto size : *shape)
            observed.shape.push_back(size);
         for (const auto stride : *strides)
            observed.strides.push_back(stride);
      } else {
         Note("LibTorch did not record shape and type of '%" + value->debugName() + "', a " + value->type()->str());
      }
      fGraph.values.push_back(std::move(observed));
      fNumbers[value] = number;
      return number;
   }

   /// Kernels run on one device.
   void NoteDevice(const Value &value)
   {
      const auto device = DeviceOf(value);
      if (!device)
         return;
      fDevice = fDevice ? fDevice : device;
      if (*device != *fDevice)
         Note("tensors lie on several devices, " + fDevice->str() + " and " + device->str());
   }

   void Add(const Node &node)
   {
      if (IsSpeltOut(node))
         return;
      const auto *schema = node.maybeSchema();
      if (!schema)
         Note(std::string("LibTorch knows no operator ") + node.kind().toQualString());
      Core::ObservedNode observed{node.kind().toQualString(), schema ? schema->overload_name() : "", {}, {}, {}};
      observed.place = "operator " + std::to_string(fNumbersInFunction.at(fGraph.nodes.size())) + " of " + fName;
      fPlace = std::string(observed.op) + " at " + std::string(observed.place);
      for (const auto *input : node.inputs())
         observed.arguments.push_back(Argument(input));
      for (const auto *output : node.outputs())
         AddOutput(observed, output);
      fGraph.nodes.push_back(std::move(observed));
   }

   /// A list of tensors is represented by the tensors that it is unpacked into.
   void AddOutput(Core::ObservedNode &node, const Value *output)
   {
      if (output->type()->kind() != c10::TypeKind::ListType) {
         node.outputs.push_back(Number(output));
         return;
      }
      for (const auto &use : output->uses()) {
         if (use.user->kind() != torch::jit::prim::ListUnpack) {
            Note(fPlace + " gives a list of tensors that is used as a whole");
            continue;
         }
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
      Core::ObservedArgument argument{Kind::Value, 0, 0, {}, {}, {}};
      argument.value = Number(value);
      return argument;
   }

   /// The kind of a list that has been `before` and gets an element of this kind.
   static Kind ListOf(Kind element, Kind before)
   {
      switch (element) {
      case Kind::Absent:
      case Kind::Value: return Kind::Values;
      case Kind::Float: return Kind::Floats;
      case Kind::Bool: return Kind::Bools;
      default: return before;
      }
   }

   Core::ObservedArgument List(const Node &node)
   {
      Core::ObservedArgument argument{Kind::Integers, 0, 0, {}, {}, {}};
      for (const auto *element : node.inputs()) {
         auto one = Argument(element);
         argument.kind = ListOf(one.kind, argument.kind);
         if (one.kind == Kind::Float)
            argument.numbers.push_back(one.number);
         else
            argument.list.push_back(one.kind == Kind::Absent ? -1 : one.value);
      }
      return argument;
   }

   Core::ObservedArgument Constant(const c10::IValue &value)
   {
      Core::ObservedArgument argument{Kind::Absent, 0, 0, {}, {}, {}};
      if (value.isBool()) {
         argument.kind = Kind::Bool;
         argument.value = value.toBool();
      } else if (value.isInt()) {
         argument.kind = Kind::Integer;
         argument.value = value.toInt();
      } else if (value.isDouble()) {
         argument.kind = Kind::Float;
         argument.number = value.toDouble();
      } else if (value.isString()) {
         argument.kind = Kind::Text;
         argument.text = value.toStringRef();
      } else if (value.isDevice()) {
         argument.kind = Kind::Text;
         argument.text = value.toDevice().str();
      } else if (value.isBoolList()) {
         argument.kind = Kind::Bools;
         for (const bool element : value.toBoolList())
            argument.list.push_back(element);
      } else if (value.isDoubleList()) {
         argument.kind = Kind::Floats;
         for (const double element : value.toDoubleList())
            argument.numbers.push_back(element);
      } else if (value.isIntList()) {
         argument.kind = Kind::Integers;
         for (const std::int64_t element : value.toIntList())
            argument.list.push_back(element);
      } else if (!value.isNone()) {
         Note(fPlace + (value.isList() ? " takes a list of constants" : " takes a constant of type " + value.tagKind()));
         argument.text = c10::str(value);
      }
      return argument;
   }

   std::string fName;
   std::vector<std::size_t> fNumbersInFunction;
   std::string fObstacle;
   std::optional<torch::Device> fDevice; ///< of the values so far
   Core::ObservedGraph fGraph;
   std::unordered_map<const Value *, std::uint32_t> fNumbers;
   std::string fPlace; ///< of the operator that is lowered
};

/// Whether the operator makes uninitialised memory.
bool IsEmpty(const Node &node)
{
   const char *name = node.kind().toUnqualString();
   return node.kind().is_aten() && (std::strncmp(name, "empty", 5) == 0 || std::strncmp(name, "new_empty", 9) == 0);
}

/// Whether the operator's result is its own initialised memory.
bool MakesTensor(const Node &node)
{
   const auto *schema = node.maybeSchema();
   return schema && node.kind().is_aten() && !IsEmpty(node) && schema->returns().size() == 1 &&
          !schema->returns()[0].alias_info();
}

/// LibTorch has no derivative of its out-of-place form; ReplaceChangesInPlace() knows another one.
bool IsCopy(const Node &node)
{
   return node.kind() == c10::Symbol::aten("copy_");
}

/// If an operator changes a tensor that another one has just made and that has no other users, as `linear` adds its
/// bias, the out-of-place form has the same effect. LibTorch's own pass, which comes after this, gives up if the result
/// becomes part of lists (chunk).
void ReplaceChangesOfOwn(Graph &graph)
{
   for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
      Node *node = *it++;
      const auto name = WithoutUnderscore(*node);
      const auto *changed = node->inputs().empty() ? nullptr : node->input(0);
      if (name == c10::Symbol() || !changed || changed->uses().size() != 1 || !MakesTensor(*changed->node()) ||
          node->outputs().size() != 1 || !HaveOneType(*node) || IsCopy(*node))
         continue;
      const torch::jit::WithInsertPoint here(node);
      auto *made = graph.create(name, node->inputs())->copyMetadata(node);
      if (!made->maybeSchema())
         continue; // there is no such operator
      graph.insertNode(made);
      made->output()->setType(node->output()->type());
      node->output()->replaceAllUsesWith(made->output());
      node->destroy();
   }
}

/// Whether only its shape is used: `empty(sizes).fill_(1)` has become `full_like(empty(sizes), 1)`.
bool IsShapeOnly(const Value &value)
{
   return std::all_of(value.uses().begin(), value.uses().end(), [](const auto &use) {
      return use.user->kind() == torch::jit::aten::full_like && use.offset == 0;
   });
}

/// Whether an operator fills its first operand with random numbers.
bool DrawsInto(const Node &node)
{
   static const std::unordered_set<std::string_view> drawing = {"normal_",    "uniform_",   "exponential_", "random_",
                                                                "bernoulli_", "geometric_", "log_normal_",  "cauchy_"};
   return drawing.count(node.kind().toUnqualString()) > 0;
}

/// If memory is filled by other means than operators, the graph knows only that it was empty.
void CheckFilled(const Graph &graph)
{
   for (const auto *node : graph.nodes())
      if (DrawsInto(*node) && IsEmpty(*node->input(0)->node()))
         throw Unobservable(std::string(node->kind().toQualString()) + " draws random numbers into memory of the function's own; "
                            "torch::rand_like() and torch::randn_like() leave the rest of the function to kernels");
   for (const auto *node : graph.nodes())
      if (IsEmpty(*node) && !IsShapeOnly(*node->output()))
         throw Unobservable("the function uses memory (" + std::string(node->kind().toUnqualString()) +
                            ") that no operator fills as a whole: begin with torch::zeros(), or make the tensor before and "
                            "capture it");
}

} // namespace

void MakeBoolsNumbers(Graph &graph)
{
   for (auto *node : graph.nodes()) {
      if (!node->kind().is_aten() || node->maybeSchema())
         continue;
      const torch::jit::WithInsertPoint here(node);
      for (std::size_t i = 0; i < node->inputs().size(); ++i)
         if (const auto constant = torch::jit::toIValue(node->input(i)); constant && constant->isBool())
            node->replaceInput(i, graph.insertConstant(std::int64_t(constant->toBool())));
   }
}

TensorList Simplify(std::shared_ptr<Graph> graph, const std::function<bool(const torch::Tensor &)> &isMade,
                    std::size_t &computed)
{
   auto captured = LiftConstants(*graph, isMade); // before anything is computed from them: they may change
   TakeCompositesApart(*graph);
   ReplaceChangesOfOwn(*graph);
   torch::jit::RemoveTensorMutation(graph, [](Node *node) { return !IsCopy(*node); });
   ReplaceChangesInPlace(*graph);
   SpellOutFills(*graph);
   torch::jit::EliminateDeadCode(graph);
   CheckFilled(*graph);
   torch::jit::ConstantPropagation(graph);
   SpellOutLists(*graph);
   TakeFixedPlaces(*graph);
   const auto numbers = LiftConstants(*graph, [](const torch::Tensor &) { return false; }); // computed of nothing but numbers
   computed = numbers.size();
   captured.insert(captured.end(), numbers.begin(), numbers.end());
   torch::jit::LowerSimpleTuples(graph);
   torch::jit::EliminateDeadCode(graph);
   return captured;
}

bool IsSpeltOut(const Node &node)
{
   const auto kind = node.kind();
   return kind == torch::jit::prim::Constant || kind == torch::jit::prim::ListConstruct || kind == torch::jit::prim::ListUnpack;
}

Core::ObservedGraph Lower(const Graph &graph, std::size_t inputs, const std::string &name, std::string &obstacle)
{
   const auto nodes = graph.nodes();
   const auto operators = std::count_if(nodes.begin(), nodes.end(), [](const Node *node) { return !IsSpeltOut(*node); });
   std::vector<std::size_t> numbers(static_cast<std::size_t>(operators));
   std::iota(numbers.begin(), numbers.end(), 1);
   Lowering lowering(name, std::move(numbers));
   auto lowered = lowering.Run(graph, inputs);
   obstacle = lowering.Obstacle();
   return lowered;
}

Core::ObservedGraph LowerPart(const Graph &part, const std::string &name, std::vector<std::size_t> numbers)
{
   Lowering lowering(name, std::move(numbers));
   auto lowered = lowering.Run(part, part.inputs().size());
   if (!lowering.Obstacle().empty())
      throw Unobservable(lowering.Obstacle());
   return lowered;
}

} // namespace Internal
} // namespace CladTorch
