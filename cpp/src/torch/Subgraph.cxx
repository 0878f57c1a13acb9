#include "Subgraph.hxx"

#include "Recorded.hxx"

#include <algorithm>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Node;
using torch::jit::Value;

bool IsTakenApart(const Value &list)
{
   const auto &uses = list.uses();
   return list.type()->kind() == c10::TypeKind::ListType && !uses.empty() &&
          std::all_of(uses.begin(), uses.end(), [](const auto &use) { return use.user->kind() == torch::jit::prim::ListUnpack; });
}

void AddOperand(const Value *value, Values &operands)
{
   const auto kind = value->node()->kind();
   if (kind == torch::jit::prim::ListConstruct) {
      for (const auto *element : value->node()->inputs())
         AddOperand(element, operands);
   } else if (kind != torch::jit::prim::Constant) {
      operands.push_back(value);
   }
}

} // namespace

Values Operands(const Node &node)
{
   Values operands;
   for (const auto *input : node.inputs())
      AddOperand(input, operands);
   return operands;
}

Values Results(const Node &node)
{
   Values results;
   for (const auto *output : node.outputs()) {
      if (!IsTakenApart(*output)) {
         results.push_back(output);
         continue;
      }
      for (const auto &use : output->uses())
         results.insert(results.end(), use.user->outputs().begin(), use.user->outputs().end());
   }
   return results;
}

Subgraph::Subgraph(const std::vector<Node *> &nodes, const std::function<bool(const Value &)> &isOutput)
{
   for (auto *node : nodes)
      Add(node);
   for (const auto *node : nodes)
      for (const auto *result : Results(*node))
         if (isOutput(*result)) {
            fOutputs.push_back(result);
            fGraph->registerOutput(fMapped.at(result));
         }
}

Value *Subgraph::Mapped(Value *value)
{
   const auto known = fMapped.find(value);
   if (known != fMapped.end())
      return known->second;
   Value *mapped = nullptr;
   if (const auto kind = value->node()->kind(); kind == torch::jit::prim::Constant || kind == torch::jit::prim::ListConstruct) {
      auto *clone = fGraph->createClone(value->node(), [&](Value *input) { return Mapped(input); });
      fGraph->appendNode(clone);
      mapped = clone->output();
   } else {
      mapped = fGraph->addInput()->copyMetadata(value);
      fInputs.push_back(value);
   }
   return fMapped[value] = mapped;
}

void Subgraph::Add(Node *node)
{
   auto *clone = fGraph->createClone(node, [&](Value *input) { return Mapped(input); });
   fGraph->appendNode(clone);
   for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      fMapped[node->output(i)] = clone->output(i);
      if (IsTakenApart(*node->output(i)))
         for (const auto &use : node->output(i)->uses())
            Add(use.user);
   }
}

} // namespace Internal
} // namespace CladTorch
