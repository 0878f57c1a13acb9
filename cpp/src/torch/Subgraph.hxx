/// \file Subgraph.hxx
/// \brief Some of the operators of a recorded graph, as a graph of their own.

#ifndef CLADTORCH_SUBGRAPH
#define CLADTORCH_SUBGRAPH

#include "Observe.hxx"

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace CladTorch {
namespace Internal {

using Values = std::vector<const torch::jit::Value *>;

/// The tensors that an operator is given, those in lists one by one; numbers are left out.
Values Operands(const torch::jit::Node &node);

/// What an operator returns: a list of tensors as those that it is taken apart into, if nothing else is done with it.
Values Results(const torch::jit::Node &node);

/// Copies of operators, with the numbers and lists that they are given.
class Subgraph {
public:
   /// \param nodes In their order in the graph; none that IsSpeltOut().
   /// \param isOutput Which of their results the graph returns.
   Subgraph(const std::vector<torch::jit::Node *> &nodes, const std::function<bool(const torch::jit::Value &)> &isOutput);

   const std::shared_ptr<torch::jit::Graph> &Graph() const { return fGraph; }
   /// The values of the whole graph that are inputs and outputs of this one, in its order.
   const Values &Inputs() const { return fInputs; }
   const Values &Outputs() const { return fOutputs; }

private:
   torch::jit::Value *Mapped(torch::jit::Value *value);
   void Add(torch::jit::Node *node);

   std::shared_ptr<torch::jit::Graph> fGraph = std::make_shared<torch::jit::Graph>();
   std::unordered_map<const torch::jit::Value *, torch::jit::Value *> fMapped;
   Values fInputs, fOutputs;
};

} // namespace Internal
} // namespace CladTorch

#endif
