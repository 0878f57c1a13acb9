#include "ScriptGraph.hxx"

#include "EventIndices.hxx"
#include "IntegerDivision.hxx"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/peephole.h>

#include <string>
#include <unordered_map>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Node;
using torch::jit::Value;

/// The number that a trace turned into `tensor`, or the expression of such numbers; null: it is neither.
Value *NumberOf(const Value *tensor, torch::jit::Graph &graph)
{
   auto *node = const_cast<Node *>(tensor->node());
   if (tensor->type() == c10::IntType::get()) // TakeNumbers() has replaced it already
      return const_cast<Value *>(tensor);
   if (node->kind() == c10::prim::NumToTensor)
      return node->input();
   const auto constant = torch::jit::toIValue(tensor);
   if (constant && constant->isTensor() && constant->toTensor().dim() == 0 && constant->toTensor().scalar_type() == at::kLong)
      return graph.insertConstant(constant->toTensor().item<std::int64_t>());
   const auto isQuotient = node->kind() == c10::aten::floor_divide; // of x.size(1) // for x.size(1) // 4
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
   torch::jit::EliminateDeadCode(graph);
   TakeInEvents(*graph);
   CheckDivisors(*graph->block());
   return graph;
}

bool AnswerGradients(torch::jit::Graph &graph)
{
   return AnswerGradients(*graph.block(), graph);
}

} // namespace Internal
} // namespace CladTorch
