/// \file Replay.hxx
/// \brief Recorded operators, run by LibTorch.

#ifndef CLADTORCH_REPLAY
#define CLADTORCH_REPLAY

#include "Observe.hxx"

#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Calls the operators of a graph one after the other, as the recorded function did: autograd sees them, and their
/// exceptions are passed on. LibTorch's own interpreter adds text of its own to errors. Thread-safe.
class Replay {
public:
   /// Throws Unobservable for an operator that does not exist any more.
   explicit Replay(std::shared_ptr<torch::jit::Graph> graph);

   /// The graph's outputs.
   torch::jit::Stack operator()(torch::jit::Stack inputs) const;
   TensorList operator()(const TensorList &inputs) const;

   /// Pops its arguments from the stack, and pushes its results.
   using Call = std::function<void(torch::jit::Stack &)>;

private:
   struct Instruction {
      Call fCall;
      std::vector<std::size_t> fTakes, fGives, fForgets;
   };
   std::size_t Register(const torch::jit::Value *value);
   void ForgetEarly();
   void Run(const Instruction &instruction, torch::jit::Stack &registers) const;

   std::shared_ptr<torch::jit::Graph> fGraph;
   std::vector<Instruction> fInstructions;
   std::unordered_map<const torch::jit::Value *, std::size_t> fNumbers;
   torch::jit::Stack fConstants; ///< contents of the registers before a run
   std::vector<std::size_t> fOutputs;
};

} // namespace Internal
} // namespace CladTorch

#endif
