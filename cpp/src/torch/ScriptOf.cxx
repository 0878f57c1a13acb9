#include "ScriptOf.hxx"

#include <torch/csrc/jit/frontend/schema_matching.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using Script = torch::jit::Module;

/// The attribute of every network of PyTorch that says whether it trains.
const std::string kTraining = "training";

torch::ScalarType TypeOf(Core::EElement element)
{
   switch (element) {
   case Core::EElement::Bool: return torch::kBool;
   case Core::EElement::U8: return torch::kUInt8;
   case Core::EElement::I8: return torch::kInt8;
   case Core::EElement::I16: return torch::kInt16;
   case Core::EElement::I32: return torch::kInt32;
   case Core::EElement::I64: return torch::kInt64;
   case Core::EElement::F16: return torch::kFloat16;
   case Core::EElement::BF16: return torch::kBFloat16;
   case Core::EElement::F32: return torch::kFloat32;
   case Core::EElement::F64: return torch::kFloat64;
   }
   throw std::logic_error("elements of an unknown type");
}

torch::Tensor TensorOf(const Core::ScriptTensor &spec)
{
   const std::vector<std::int64_t> shape(spec.shape.begin(), spec.shape.end());
   auto tensor = torch::empty(shape, TypeOf(spec.element));
   if (tensor.nbytes() != spec.bytes.size())
      throw std::logic_error("a tensor of another size");
   std::memcpy(tensor.data_ptr(), spec.bytes.data(), spec.bytes.size());
   return tensor.requires_grad_(spec.trains);
}

std::vector<std::string> Split(const std::string &text, char separator)
{
   std::vector<std::string> parts;
   std::istringstream stream(text);
   for (std::string part; std::getline(stream, part, separator);)
      parts.push_back(part);
   return parts;
}

/// The names in a path such as "layers.0.weight".
std::vector<std::string> Names(const std::string &path)
{
   return Split(path, '.');
}

/// The part of that name; made if it is missing.
Script Part(const Script &script, const std::string &name)
{
   if (script.hasattr(name))
      return script.attr(name).toModule();
   const Script part("Part", script._ivalue()->compilation_unit(), true);
   Script(script).register_module(name, part);
   return part;
}

void Register(Script script, const Core::ScriptTensor &spec, const torch::Tensor &tensor)
{
   const auto names = Names(std::string(spec.name));
   for (std::size_t i = 0; i + 1 < names.size(); ++i)
      script = Part(script, names[i]);
   if (names.empty() || script.hasattr(names.back()))
      throw std::runtime_error("tensor '" + std::string(spec.name) + "' has the name of another part of the network");
   if (spec.is_parameter)
      script.register_parameter(names.back(), tensor, false);
   else
      script.register_attribute(names.back(), c10::TensorType::get(), tensor, false, spec.is_persistent);
}

/// The operator's inputs if the arguments are those of `node`, by position or by `names`; none: they do not match the
/// schema.
std::optional<torch::jit::MatchedSchema>
Match(const c10::FunctionSchema &schema, Node &node, const std::vector<std::string> &names)
{
   const auto &arguments = schema.arguments();
   if (node.inputs().size() > arguments.size())
      return std::nullopt;
   std::vector<torch::jit::NamedValue> plain, named;
   for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (!names.empty())
         named.emplace_back(names[i], node.input(i));
      else if (arguments[i].kwarg_only())
         named.emplace_back(arguments[i].name(), node.input(i));
      else
         plain.emplace_back(node.input(i));
   }
   try {
      return torch::jit::matchSchema(schema, node.sourceRange(), *node.owningGraph(), plain, named);
   } catch (const std::exception &) {
      return std::nullopt; // matches another overload
   }
}

/// Replaces a call by a call of LibTorch's operator: that of its overload, or the first one that takes its arguments.
void Resolve(Node &node)
{
   const auto kind = c10::Symbol::aten(node.kind().toUnqualString());
   static const auto kOverload = c10::Symbol::attr("overload"), kNames = c10::Symbol::attr("names");
   const auto wanted = node.s(kOverload);
   const auto names = node.hasAttribute(kNames) ? Split(node.s(kNames), ' ') : std::vector<std::string>();
   if (!names.empty() && names.size() != node.inputs().size())
      throw std::runtime_error(std::string(kind.toQualString()) + " has arguments without names");
   auto operators = torch::jit::getAllOperatorsFor(kind);
   std::stable_partition(operators.begin(), operators.end(),
                         [&](const auto &one) { return one->schema().overload_name() == wanted; });
   auto &graph = *node.owningGraph();
   const torch::jit::WithInsertPoint before(&node);
   for (const auto &one : operators) {
      const auto match = Match(one->schema(), node, names);
      if (!match)
         continue;
      auto *call = graph.insertNode(graph.create(kind, match->inputs, match->return_types.size()));
      for (std::size_t i = 0; i < match->return_types.size(); ++i)
         call->output(i)->setType(match->return_types[i]);
      if (call->outputs().size() == 1 && call->output()->type()->kind() == c10::TypeKind::ListType)
         call = graph.insertNode(graph.createListUnpack(call->output(), node.outputs().size()));
      if (call->outputs().size() < node.outputs().size())
         continue;
      for (std::size_t i = 0; i < node.outputs().size(); ++i) // the places of maxima may be unused
         node.output(i)->replaceAllUsesWith(call->output(i));
      return;
   }
   throw std::runtime_error(std::string(kind.toQualString()) + " with these arguments is no operator of PyTorch");
}

/// The text with calls in another namespace than LibTorch's, for which the parser would compare the results with the
/// schema: here a list is several tensors.
std::string WithCalls(std::string text)
{
   const std::string before = "= aten::", after = "= call::";
   for (auto at = text.find(before); at != std::string::npos; at = text.find(before, at))
      text.replace(at, before.size(), after);
   return text;
}

void ResolveAll(Graph &graph)
{
   for (auto node = graph.nodes().begin(); node != graph.nodes().end(); ++node) {
      if (node->kind().is_prim() || node->kind().is_aten())
         continue;
      Resolve(**node);
      node.destroyCurrent();
   }
}

/// Makes the network the graph's first input, and takes the tensors and the training flag from it instead of from the
/// graph's inputs.
void ReadTensors(Graph &graph, const Script &script, const rust::Vec<Core::ScriptTensor> &tensors)
{
   auto *self = graph.insertInput(0, "self");
   self->setType(script.type());
   const torch::jit::WithInsertPoint begin(graph.block()->nodes().front());
   const auto replace = [&](std::size_t input, const std::vector<std::string> &names) {
      auto *value = self;
      for (const auto &name : names)
         value = graph.insertGetAttr(value, name);
      graph.inputs()[input]->replaceAllUsesWith(value);
      graph.eraseInput(input);
   };
   if (graph.inputs().back()->type() == c10::BoolType::get())
      replace(graph.inputs().size() - 1, {kTraining});
   const auto used = std::count_if(tensors.begin(), tensors.end(), [](const auto &tensor) { return tensor.is_used; });
   const auto first = graph.inputs().size() - static_cast<std::size_t>(used);
   for (const auto &tensor : tensors)
      if (tensor.is_used)
         replace(first, Names(std::string(tensor.name)));
}

} // namespace

Script ScriptOf(const Core::ScriptSpec &spec)
{
   Script script("__torch__.CladTorchModel");
   script.register_attribute(kTraining, c10::BoolType::get(), false);
   std::vector<torch::Tensor> tensors;
   for (const auto &tensor : spec.tensors) {
      tensors.push_back(tensor.same_as ? tensors[tensor.same_as - 1] : TensorOf(tensor));
      Register(script, tensor, tensors.back());
   }
   const auto graph = std::make_shared<Graph>();
   torch::jit::parseIR(WithCalls(std::string(spec.text)), graph.get());
   ResolveAll(*graph);
   ReadTensors(*graph, script, spec.tensors);
   torch::jit::EliminateDeadCode(graph);
   const auto name = c10::QualifiedName(*script.type()->name(), "forward");
   script.type()->addMethod(script._ivalue()->compilation_unit()->create_function(name, graph));
   return script;
}

bool AreAlike(const torch::Tensor &a, const torch::Tensor &b)
{
   if (!a.is_floating_point() || !b.is_floating_point())
      return torch::equal(a, b);
   const auto largest = b.numel() > 0 ? b.abs().nan_to_num(0, 0, 0).max().clamp_min(1e-30) : torch::ones({}, b.options());
   return ((a - b).abs() <= 1e-4 * largest).logical_or_(a.isnan() & b.isnan()).logical_or_(a == b).all().item<bool>();
}

} // namespace Internal
} // namespace CladTorch
