/// \file Recorded.hxx
/// \brief From the graph that LibTorch records to the structure that the core takes.

#ifndef CLADTORCH_RECORDED
#define CLADTORCH_RECORDED

#include "Observe.hxx"

#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <memory>
#include <string>

namespace CladTorch {
namespace Internal {

/// Leaves pure operators of inputs and constants. Returns the tensors that have become inputs of the graph, in that order:
/// those that LibTorch met without having seen them computed, then those that were computed of numbers alone.
/// \param[out] computed How many of them are of the second kind.
TensorList Simplify(std::shared_ptr<torch::jit::Graph> graph, std::size_t &computed);

/// \param inputs How many of the graph's inputs are the function's; the others are constants.
/// Throws Unobservable where the core's structure has no place for it.
Core::ObservedGraph Lower(const torch::jit::Graph &graph, std::size_t inputs, const std::string &name);

} // namespace Internal
} // namespace CladTorch

#endif
