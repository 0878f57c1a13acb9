#include "IntegerDivision.hxx"

#include <torch/csrc/jit/runtime/custom_operator.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Node;
using torch::jit::Stack;

/// Pops a, b and whether b may be 0 from the stack, and pushes b.
void CheckDivisor(Stack &stack)
{
   const bool zeroToo = torch::jit::pop(stack).toBool();
   const auto b = torch::jit::pop(stack), a = torch::jit::pop(stack);
   if (a.isInt() && b.isInt()) {
      const auto dividend = a.toInt(), divisor = b.toInt();
      constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
      const auto overflows = [&](std::int64_t x, std::int64_t y) { return x == kLowest && y == -1; };
      if ((divisor == 0 && !zeroToo) || overflows(dividend, divisor) || (zeroToo && overflows(divisor, dividend)))
         throw std::runtime_error("forward divides the whole number " + std::to_string(dividend) + " by " + std::to_string(divisor) +
                                  (divisor == 0 ? "" : ", which no 64 bits hold"));
   }
   torch::jit::push(stack, b);
}

const torch::jit::RegisterOperators gOperators({
   torch::jit::Operator("cladtorch::divisor.int(int a, int b, bool zero_too) -> int", CheckDivisor, c10::AliasAnalysisKind::FROM_SCHEMA),
   torch::jit::Operator("cladtorch::divisor(Scalar a, Scalar b, bool zero_too) -> Scalar", CheckDivisor,
                        c10::AliasAnalysisKind::FROM_SCHEMA),
});

/// Whether LibTorch divides two numbers there that may be whole.
bool Divides(const Node &node)
{
   static const auto kRoundToZero = c10::Symbol::fromQualString("aten::__round_to_zero_floordiv");
   const auto kind = node.kind();
   const auto isDivision = kind == c10::aten::remainder || kind == c10::aten::floordiv || kind == c10::aten::divmod ||
                           kind == c10::aten::gcd || kind == kRoundToZero;
   const auto mayBeWhole = [](const torch::jit::Value *value) {
      return value->type()->isSubtypeOf(*c10::NumberType::get()) && value->type() != c10::FloatType::get() &&
             value->type() != c10::ComplexType::get();
   };
   return isDivision && node.inputs().size() == 2 && mayBeWhole(node.input(0)) && mayBeWhole(node.input(1));
}

} // namespace

void CheckDivisors(torch::jit::Block &block)
{
   static const auto kDivisor = c10::Symbol::fromQualString("cladtorch::divisor");
   auto &graph = *block.owningGraph();
   for (auto *node : block.nodes()) {
      for (auto *inner : node->blocks())
         CheckDivisors(*inner);
      if (!Divides(*node))
         continue;
      const torch::jit::WithInsertPoint before(node);
      auto *zeroToo = graph.insertConstant(node->kind() == c10::aten::gcd);
      auto *divisor = graph.insertNode(graph.create(kDivisor, {node->input(0), node->input(1), zeroToo}))->output();
      const auto areInts = node->input(0)->type() == c10::IntType::get() && node->input(1)->type() == c10::IntType::get();
      divisor->setType(areInts ? c10::TypePtr(c10::IntType::get()) : c10::TypePtr(c10::NumberType::get()));
      node->replaceInput(1, divisor);
   }
}

} // namespace Internal
} // namespace CladTorch
