#include "EventIndices.hxx"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/jit.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// `whole` [..., N P, ...] is `each` [..., N, P, ...] with dimensions `dim` and `dim + 1` joined; `base` [N, 1, ...]
/// contains n P for event n, and was added to `inside` [N, ...].
const char *const kSource = R"(
def are_events(whole: Tensor, each: Tensor, inside: Tensor, base: Tensor, rows: int, points: int, dim: int) -> bool:
    sizes = whole.size()
    apart = sizes[:dim] + [rows, points] + sizes[dim + 1:]
    if rows < 1 or whole.dim() <= dim or each.size() != apart or sizes[dim] != rows * points:
        return False
    if inside.dtype != base.dtype or inside.dim() < 1 or inside.dim() != base.dim():
        return False
    return inside.size(0) == rows and base.size(0) == rows and base.numel() == rows

def in_events(each: Tensor, inside: Tensor, dim: int) -> Tensor:
    sizes = each.size()
    rows = sizes[dim]
    before = 1
    for size in sizes[:dim]:
        before *= size
    behind = 1
    for size in sizes[dim + 2:]:
        behind *= size
    count = inside.numel() // rows
    elements = each.movedim(dim, 0).reshape([rows, before, sizes[dim + 1], behind])
    places = inside.reshape([rows, 1, count, 1]).expand([rows, before, count, behind])
    taken = elements.gather(2, places)
    return taken.reshape([rows] + sizes[:dim] + [count] + sizes[dim + 2:]).movedim(0, dim)

def joined(taken: Tensor, whole: Tensor, dim: int) -> Tensor:
    sizes = whole.size()
    return taken.reshape(sizes[:dim] + [-1] + sizes[dim + 1:])
)";

/// Inserts the function `name` of kSource, applied to `arguments`, at the insertion point.
Value *Insert(Graph &graph, const std::string &name, const std::vector<Value *> &arguments)
{
   static const auto functions = torch::jit::compile(kSource);
   return torch::jit::insertGraph(graph, *torch::jit::toGraphFunction(functions->get_function(name)).graph(), arguments)[0];
}

/// Whether the value is this whole number, or None if it may `miss`.
bool IsNumber(const Value *value, std::int64_t number, bool miss = false)
{
   const auto constant = torch::jit::toIValue(value);
   return constant && ((constant->isInt() && constant->toInt() == number) || (miss && constant->isNone()));
}

bool IsWhole(const Value *value)
{
   return value->type()->kind() == c10::TypeKind::IntType;
}

/// Whether the result has the elements of the first input in the same order, but another shape.
bool Reshapes(const Node &node)
{
   using namespace torch::jit::aten;
   const std::array kinds{view, reshape, flatten, unsqueeze, contiguous};
   return std::find(kinds.begin(), kinds.end(), node.kind()) != kinds.end();
}

/// `x[:, :]` as `x`.
Value *WithoutSlices(Value *value)
{
   const auto *node = value->node();
   const auto isAll = node->kind() == torch::jit::aten::slice && node->inputs().size() == 5 && IsNumber(node->input(2), 0, true) &&
                      IsNumber(node->input(3), std::numeric_limits<std::int64_t>::max(), true) && IsNumber(node->input(4), 1, true);
   return isAll ? WithoutSlices(node->input(0)) : value;
}

/// The offsets n P of the events.
struct Base {
   Value *fRows = nullptr;   ///< N
   Value *fPoints = nullptr; ///< P
};

/// The number of whole numbers from 0 on that `node` makes; null: it makes others.
Value *Counted(Node &node)
{
   const auto inputs = node.inputs();
   if (node.kind() != torch::jit::aten::arange || inputs.size() < 5 || inputs.size() > 7)
      return nullptr;
   const auto count = inputs.size() - 4; // of the limits and the step; type, layout, device and pinning follow
   const auto isPlain = (count < 2 || IsNumber(inputs[0], 0)) && (count < 3 || IsNumber(inputs[2], 1)) &&
                        IsNumber(inputs[count], static_cast<std::int64_t>(at::kLong), true);
   auto *end = inputs[count < 2 ? 0 : 1];
   return isPlain && IsWhole(end) ? end : nullptr;
}

std::optional<Base> BaseOf(Value *value)
{
   Base base;
   for (auto *node = value->node();; node = node->input(0)->node()) {
      if (auto *rows = Counted(*node)) {
         base.fRows = rows;
         return base.fPoints ? std::make_optional(base) : std::nullopt;
      }
      if (node->kind() == torch::jit::aten::mul && !base.fPoints && IsWhole(node->input(1)))
         base.fPoints = node->input(1);
      else if (!Reshapes(*node))
         return std::nullopt;
   }
}

/// An operator that takes elements along dimension `fDim` of `fWhole`, by indices in one row.
struct Taking {
   Value *fWhole;
   Value *fFlat;
   std::int64_t fDim;
};

std::optional<Taking> TakingOf(Node &node)
{
   if (node.kind() == torch::jit::aten::index_select && torch::jit::toIValue(node.input(1)))
      return Taking{node.input(0), node.input(2), torch::jit::toIValue(node.input(1))->toInt()};
   if (node.kind() != torch::jit::aten::index || node.input(1)->node()->kind() != torch::jit::prim::ListConstruct)
      return std::nullopt;
   const auto indices = node.input(1)->node()->inputs();
   const auto isGiven = [](const Value *index) { return !index->mustBeNone(); };
   const auto *first = std::find_if(indices.begin(), indices.end(), isGiven);
   if (std::count_if(indices.begin(), indices.end(), isGiven) != 1)
      return std::nullopt;
   return Taking{node.input(0), *first, first - indices.begin()};
}

/// The arguments of are_events().
std::vector<Value *> Arguments(Graph &graph, const Taking &taking)
{
   auto *whole = WithoutSlices(taking.fWhole);
   auto *sum = taking.fFlat->node();
   while (Reshapes(*sum))
      sum = sum->input(0)->node();
   if (taking.fDim < 0 || !Reshapes(*whole->node()) || sum->kind() != torch::jit::aten::add || sum->inputs().size() != 3 ||
       !IsNumber(sum->input(2), 1))
      return {};
   for (const auto last : {true, false})
      if (const auto base = BaseOf(sum->input(last)))
         return {whole,       whole->node()->input(0), sum->input(!last), sum->input(last), base->fRows, base->fPoints,
                 graph.insertConstant(taking.fDim)};
   return {};
}

/// Users of elements [..., N P, ...] get them as [..., N, P, ...], and join them unless they reshape them anyway.
void ReplaceUses(Graph &graph, Node &node, Node &branch, Value *whole, Value *dim)
{
   const auto uses = node.output()->uses();
   Value *joined = nullptr;
   for (const auto &use : uses) {
      const auto kind = use.user->kind();
      if (use.offset == 0 && (kind == torch::jit::aten::view || kind == torch::jit::aten::reshape)) {
         const torch::jit::WithInsertPoint here(use.user);
         auto *reshaped = graph.insertNode(graph.create(torch::jit::aten::reshape, {branch.output(), use.user->input(1)}));
         use.user->output()->replaceAllUsesWith(reshaped->output());
         use.user->destroy();
         continue;
      }
      if (!joined) {
         const torch::jit::WithInsertPoint here(branch.next());
         joined = Insert(graph, "joined", {branch.output(), whole, dim});
      }
      use.user->replaceInput(use.offset, joined);
   }
}

void TakeInEvents(Graph &graph, Node &node)
{
   const torch::jit::WithInsertPoint before(&node);
   const auto arguments = Arguments(graph, *TakingOf(node));
   if (arguments.empty())
      return;
   auto *branch = graph.insertNode(graph.create(torch::jit::prim::If, {Insert(graph, "are_events", arguments)}, 1));
   auto *inside = branch->addBlock(), *across = branch->addBlock();
   branch->output()->setType(c10::TensorType::get());
   ReplaceUses(graph, node, *branch, arguments[0], arguments.back());
   {
      const torch::jit::WithInsertPoint here(inside);
      inside->registerOutput(Insert(graph, "in_events", {arguments[1], arguments[2], arguments.back()}));
   }
   node.moveBefore(across->return_node());
   across->registerOutput(node.output());
}

/// The operators that take elements by an index.
void Collect(torch::jit::Block &block, std::vector<Node *> &nodes)
{
   for (auto *node : block.nodes()) {
      if (TakingOf(*node))
         nodes.push_back(node);
      for (auto *inner : node->blocks())
         Collect(*inner, nodes);
   }
}

} // namespace

void TakeInEvents(Graph &graph)
{
   std::vector<Node *> nodes;
   Collect(*graph.block(), nodes);
   for (auto *node : nodes)
      TakeInEvents(graph, *node);
}

} // namespace Internal
} // namespace CladTorch
