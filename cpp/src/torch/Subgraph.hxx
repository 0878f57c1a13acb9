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

/// The tensors that an operator takes, those in lists one by one; numbers are left out.
Values Operands(const torch::jit::Node &node);

/// The results of an operator: a list of tensors as the tensors that it is unpacked into, if it has no other use.
Values Results(const torch::jit::Node &node);

/// Copies of operators, with their numbers and lists.
class Subgraph {
public:
   /// \param nodes In their order in the graph; none for which IsSpeltOut() is true.
   /// \param isOutput Whether the graph returns a result.
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
