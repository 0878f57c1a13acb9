#include "ScriptGraph.hxx"

#include "IntegerDivision.hxx"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/subgraph_matcher.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/peephole.h>
#include <torch/csrc/jit/passes/subgraph_rewrite.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Node;
using torch::jit::Value;

/// What a pattern takes: numbers and sizes of x that HasItsNumbers() checks.
const std::string kInputs = "%x, %indices, %neighbours, %none, %device, %pin, %zero, %one, %last, %end, "
                            "%rows, %rows_again, %channels, %channels_again, %points, %points_again";

/// Neighbours of particles as ParticleNet's code takes them: the tensor [N, C, P] becomes one of all N P particles, to which
/// the indices [N, P, K] point after n P was added to those of event n.
const std::string kPlaces = R"(
   %range : Tensor = aten::arange(%zero, %rows, %none, %none, %device, %pin)
   %column_shape : int[] = prim::ListConstruct(%last, %one, %one)
   %column : Tensor = aten::view(%range, %column_shape)
   %base : Tensor = aten::mul(%column, %points)
   %moved : Tensor = aten::add(%indices, %base, %one)
   %flat_shape : int[] = prim::ListConstruct(%last)
   %flat : Tensor = aten::view(%moved, %flat_shape)
)";

/// Particles [N P, C], of which the index takes rows.
const std::string kByRows = R"(
   %turned : Tensor = aten::transpose(%x, %two, %one)
   %particles_shape : int[] = prim::ListConstruct(%last, %channels)
   %particles : Tensor = aten::reshape(%turned, %particles_shape)
   %all : Tensor = aten::slice(%particles, %one, %zero, %end, %one)
   %places : Tensor?[] = prim::ListConstruct(%flat)
   %taken : Tensor = aten::index(%all, %places)
   %taken_shape : int[] = prim::ListConstruct(%rows_again, %points_again, %neighbours, %channels_again)
   %apart : Tensor = aten::view(%taken, %taken_shape)
   %order : int[] = prim::ListConstruct(%zero, %three, %one, %two)
   %found : Tensor = aten::permute(%apart, %order)
   return (%found)
)";

/// Particles [C, N P], of which the index takes columns.
const std::string kByColumns = R"(
   %turned : Tensor = aten::transpose(%x, %zero, %one)
   %particles_shape : int[] = prim::ListConstruct(%channels, %last)
   %particles : Tensor = aten::reshape(%turned, %particles_shape)
   %all : Tensor = aten::slice(%particles, %zero, %zero, %end, %one)
   %places : Tensor?[] = prim::ListConstruct(%none, %flat)
   %taken : Tensor = aten::index(%all, %places)
   %taken_shape : int[] = prim::ListConstruct(%channels_again, %rows_again, %points_again, %neighbours)
   %apart : Tensor = aten::view(%taken, %taken_shape)
   %found : Tensor = aten::transpose(%apart, %one, %zero)
   return (%found)
)";

/// The same [N, C, P, K], taken in each event.
const std::string kInEvents = R"(
   %flat_shape : int[] = prim::ListConstruct(%rows, %one, %last)
   %flat : Tensor = aten::reshape(%indices, %flat_shape)
   %wide_shape : int[] = prim::ListConstruct(%rows, %channels, %last)
   %no : bool = prim::Constant[value=0]()
   %along : int = prim::Constant[value=2]()
   %places : Tensor = aten::expand(%flat, %wide_shape, %no)
   %taken : Tensor = aten::gather(%x, %along, %places, %no)
   %shape : int[] = prim::ListConstruct(%rows, %channels, %points, %neighbours)
   %found : Tensor = aten::reshape(%taken, %shape)
   return (%found)
)";

using ValuesByName = std::unordered_map<std::string, Value *>;

/// Whether `value` is the size of `x` in that dimension.
bool IsSize(const Value *value, const Value *x, std::int64_t dim)
{
   const auto *node = value->node();
   if (node->kind() != c10::aten::size || node->inputs().size() != 2 || node->input(0) != x)
      return false;
   const auto at = torch::jit::toIValue(node->input(1));
   return at && at->isInt() && at->toInt() == dim;
}

/// Whether the numbers and sizes of a pattern are those that their names say.
bool HasItsNumbers(const torch::jit::Match &match, const ValuesByName &names)
{
   const auto found = [&](const std::string &name) { return match.values_map.at(names.at(name)); };
   const std::pair<const char *, std::int64_t> numbers[] = {
      {"zero", 0}, {"one", 1}, {"two", 2}, {"three", 3}, {"last", -1}, {"end", std::numeric_limits<std::int64_t>::max()}};
   for (const auto &[name, number] : numbers) {
      if (!names.count(name))
         continue;
      const auto value = torch::jit::toIValue(found(name));
      if (!value || !value->isInt() || value->toInt() != number)
         return false;
   }
   const std::pair<const char *, std::int64_t> sizes[] = {{"rows", 0},           {"rows_again", 0}, {"channels", 1},
                                                          {"channels_again", 1}, {"points", 2},     {"points_again", 2}};
   return std::all_of(std::begin(sizes), std::end(sizes),
                      [&](const auto &one) { return IsSize(found(one.first), found("x"), one.second); });
}

void TakeInEvents(std::shared_ptr<torch::jit::Graph> &graph)
{
   const std::pair<std::string, std::string> forms[] = {{", %two, %three", kByRows}, {"", kByColumns}}; // more inputs, and the operators
   for (const auto &[more, operators] : forms) {
      const auto head = "graph(" + kInputs + more + "):";
      torch::jit::SubgraphRewriter rewriter;
      rewriter.RegisterRewritePattern(head + kPlaces + operators, head + kInEvents);
      rewriter.runOnGraph(graph, HasItsNumbers);
   }
}

/// The number of which a trace made `tensor`, or which it computed of such ones; null: it is none of these.
Value *NumberOf(const Value *tensor, torch::jit::Graph &graph)
{
   auto *node = const_cast<Node *>(tensor->node());
   if (tensor->type() == c10::IntType::get()) // TakeNumbers() was here before
      return const_cast<Value *>(tensor);
   if (node->kind() == c10::prim::NumToTensor)
      return node->input();
   const auto constant = torch::jit::toIValue(tensor);
   if (constant && constant->isTensor() && constant->toTensor().dim() == 0 && constant->toTensor().scalar_type() == at::kLong)
      return graph.insertConstant(constant->toTensor().item<std::int64_t>());
   const auto isQuotient = node->kind() == c10::aten::floor_divide; // of x.size(1) // 4
   if ((node->kind() != c10::aten::mul && !isQuotient) || node->inputs().size() != 2)
      return nullptr;
   auto *a = NumberOf(node->input(0), graph), *b = NumberOf(node->input(1), graph);
   if (!a || !b || a->type() != c10::IntType::get() || b->type() != c10::IntType::get())
      return nullptr;
   auto *number = graph.insertNode(graph.create(isQuotient ? c10::aten::floordiv : c10::aten::mul, {a, b}))->output();
   number->setType(c10::IntType::get());
   return number;
}

void TakeNumbers(torch::jit::Block &block, torch::jit::Graph &graph)
{
   for (auto *node : block.nodes()) {
      for (auto *inner : node->blocks())
         TakeNumbers(*inner, graph);
      const torch::jit::WithInsertPoint before(node);
      const auto kind = node->kind();
      if (kind == c10::aten::Int && node->input(0)->type()->isSubtypeOf(*c10::TensorType::get())) {
         if (auto *number = NumberOf(node->input(0), graph); number && number->type() == c10::IntType::get())
            node->output()->replaceAllUsesWith(number);
         continue;
      }
      const auto isOne = kind == c10::aten::mul || kind == c10::aten::add || kind == c10::aten::sub || kind == c10::aten::div;
      if (!isOne || node->inputs().size() < 2)
         continue;
      auto *made = node->input(1)->node();
      if (made->kind() == c10::prim::NumToTensor)
         node->replaceInput(1, made->input());
   }
}

/// How often attributes of each name are read.
void CountReads(torch::jit::Block &block, std::unordered_map<std::string, std::size_t> &reads)
{
   for (auto *node : block.nodes()) {
      if (node->kind() == c10::prim::GetAttr)
         ++reads[node->s(c10::attr::name)];
      for (auto *inner : node->blocks())
         CountReads(*inner, reads);
   }
}

void DropCounters(torch::jit::Graph &graph)
{
   std::unordered_map<std::string, std::size_t> reads;
   CountReads(*graph.block(), reads);
   for (auto node = graph.nodes().begin(); node != graph.nodes().end(); ++node) {
      if (node->kind() != c10::aten::add_ || !node->output()->uses().empty())
         continue;
      const auto *read = node->input(0)->node();
      if (read->kind() == c10::prim::GetAttr && read->output()->uses().size() == 1 && reads[read->s(c10::attr::name)] == 1)
         node.destroyCurrent();
   }
}

bool AnswerGradients(torch::jit::Block &block, torch::jit::Graph &graph)
{
   bool asks = false;
   for (auto *node : block.nodes()) {
      for (auto *inner : node->blocks())
         asks = AnswerGradients(*inner, graph) || asks;
      if (node->kind() != c10::Symbol::aten("is_grad_enabled"))
         continue;
      const torch::jit::WithInsertPoint before(node);
      node->output()->replaceAllUsesWith(graph.insertConstant(true));
      asks = true;
   }
   return asks;
}

} // namespace

std::shared_ptr<torch::jit::Graph> ScriptGraph(const torch::jit::Module &script)
{
   auto graph = script.get_method("forward").graph()->copy();
   torch::jit::Inline(*graph);
   torch::jit::PeepholeOptimize(graph);
   torch::jit::ConstantPooling(graph);
   TakeNumbers(*graph->block(), *graph);
   DropCounters(*graph);
   torch::jit::EliminateDeadCode(graph); // patterns count the uses of values
   TakeInEvents(graph);
   CheckDivisors(*graph->block());
   return graph;
}

bool AnswerGradients(torch::jit::Graph &graph)
{
   return AnswerGradients(*graph.block(), graph);
}

} // namespace Internal
} // namespace CladTorch
