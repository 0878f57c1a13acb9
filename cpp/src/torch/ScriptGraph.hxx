/// \file torch/ScriptGraph.hxx
/// \brief TorchScript's graph of a network, in operators that say what they do.

#ifndef CLADTORCH_TORCH_SCRIPTGRAPH
#define CLADTORCH_TORCH_SCRIPTGRAPH

#include <torch/csrc/jit/api/module.h>

#include <memory>

namespace CladTorch {
namespace Internal {

/// What `forward` computes, with everything that it calls. The same values, bit for bit; what changes:
/// - Numbers that a trace keeps as tensors, such as sizes, are numbers.
/// - Elements that are taken from all events at once, by indices that count through the batch, are taken in each event.
/// - Counters that nothing reads are not kept.
/// - Whole numbers divided by zero are an exception.
std::shared_ptr<torch::jit::Graph> ScriptGraph(const torch::jit::Module &script);

/// Lets the graph take everywhere the way that it takes where gradients are recorded, so that fits and predictions have the same operators:
/// PyTorch's layers of attention ask before they take a shorter one. Returns whether it asks.
bool AnswerGradients(torch::jit::Graph &graph);

} // namespace Internal
} // namespace CladTorch

#endif
