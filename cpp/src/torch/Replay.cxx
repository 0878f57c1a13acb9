#include "Replay.hxx"

#include "Recorded.hxx"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

Replay::Call MakeList(const torch::jit::Node &node)
{
   return [type = node.output()->type()->expectRef<c10::ListType>().getElementType()](torch::jit::Stack &stack) {
      c10::impl::GenericList list(type);
      for (auto &element : stack)
         list.push_back(std::move(element));
      stack.assign(1, std::move(list));
   };
}

Replay::Call TakeListApart(const torch::jit::Node &node)
{
   return [count = node.outputs().size()](torch::jit::Stack &stack) {
      const auto list = stack.at(0).toList();
      if (list.size() != count)
         throw std::runtime_error("an operator returned " + std::to_string(list.size()) + " tensors, and " + std::to_string(count) +
                                  " when it was observed");
      stack.assign(list.begin(), list.end());
   };
}

} // namespace

Replay::Replay(std::shared_ptr<torch::jit::Graph> graph) : fGraph(std::move(graph))
{
   for (const auto *input : fGraph->inputs())
      Register(input);
   for (const auto *node : fGraph->nodes()) {
      if (node->kind() == torch::jit::prim::Constant) {
         fConstants[Register(node->output())] = torch::jit::toIValue(node->output()).value();
         continue;
      }
      Instruction instruction;
      const auto *known = node->maybeOperator();
      if (IsSpeltOut(*node))
         instruction.fCall = node->kind() == torch::jit::prim::ListConstruct ? MakeList(*node) : TakeListApart(*node);
      else if (known)
         instruction.fCall = [call = known->getOperation(node)](torch::jit::Stack &stack) mutable { call(stack); };
      else
         throw Unobservable(std::string("LibTorch knows no operator ") + node->kind().toQualString());
      for (const auto *input : node->inputs())
         instruction.fTakes.push_back(Register(input));
      for (const auto *output : node->outputs())
         instruction.fGives.push_back(Register(output));
      fInstructions.push_back(std::move(instruction));
   }
   for (const auto *output : fGraph->outputs())
      fOutputs.push_back(Register(output));
   ForgetEarly();
}

/// A value that the backward pass does not need is dropped, so that its memory is reused.
void Replay::ForgetEarly()
{
   std::vector<bool> used(fConstants.size());
   for (const auto output : fOutputs)
      used[output] = true;
   for (std::size_t i = 0; i < used.size(); ++i)
      used[i] = used[i] || !fConstants[i].isNone();
   for (auto instruction = fInstructions.rbegin(); instruction != fInstructions.rend(); ++instruction)
      for (const auto *list : {&instruction->fTakes, &instruction->fGives})
         for (const auto number : *list)
            if (!used[number]) {
               used[number] = true;
               instruction->fForgets.push_back(number);
            }
}

std::size_t Replay::Register(const torch::jit::Value *value)
{
   const auto [known, fresh] = fNumbers.emplace(value, fNumbers.size());
   if (fresh)
      fConstants.emplace_back();
   return known->second;
}

torch::jit::Stack Replay::operator()(torch::jit::Stack inputs) const
{
   auto registers = fConstants;
   std::move(inputs.begin(), inputs.end(), registers.begin());
   inputs.clear();
   for (const auto &instruction : fInstructions)
      Run(instruction, registers);
   torch::jit::Stack outputs;
   for (const auto output : fOutputs)
      outputs.push_back(registers[output]);
   return outputs;
}

void Replay::Run(const Instruction &instruction, torch::jit::Stack &registers) const
{
   torch::jit::Stack stack;
   for (const auto number : instruction.fTakes)
      stack.push_back(registers[number]);
   instruction.fCall(stack);
   for (std::size_t i = 0; i < instruction.fGives.size(); ++i)
      registers[instruction.fGives[i]] = std::move(stack.at(i));
   for (const auto number : instruction.fForgets)
      registers[number] = c10::IValue();
}

TensorList Replay::operator()(const TensorList &inputs) const
{
   TensorList outputs;
   for (auto &output : (*this)(torch::jit::Stack(inputs.begin(), inputs.end())))
      outputs.push_back(std::move(output).toTensor());
   return outputs;
}

} // namespace Internal
} // namespace CladTorch
