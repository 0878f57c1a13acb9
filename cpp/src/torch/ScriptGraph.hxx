/// \file torch/ScriptGraph.hxx
/// \brief TorchScript's graph of a network, in operators that say what they do.

#ifndef CLADTORCH_TORCH_SCRIPTGRAPH
#define CLADTORCH_TORCH_SCRIPTGRAPH

#include <torch/csrc/jit/api/module.h>

#include <memory>

namespace CladTorch {
namespace Internal {

/// The graph of `forward`, with everything that it calls. The values are the same, bit for bit; what changes:
/// - Numbers that a trace keeps as tensors, such as sizes, are numbers.
/// - Elements that are taken from all events at once, by indices that count through the batch, are taken within each
/// event.
/// - Counters that nothing reads are not kept.
/// - Whole numbers divided by zero are an exception.
std::shared_ptr<torch::jit::Graph> ScriptGraph(const torch::jit::Module &script);

/// Makes the graph always take the branch for recorded gradients, so that fits and predictions have the same operators:
/// PyTorch's attention layers test this before they take a shorter branch. Returns whether the graph tests it.
bool AnswerGradients(torch::jit::Graph &graph);

} // namespace Internal
} // namespace CladTorch

#endif
