/// \file Recorded.hxx
/// \brief From the graph that LibTorch records to the structure that the core takes.

#ifndef CLADTORCH_RECORDED
#define CLADTORCH_RECORDED

#include "Observe.hxx"

#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Makes bools numbers where no operator takes them, as in the `fill_` of which torch::tensor({true, false}) is made. LibTorch's passes
/// over a recorded graph end with an internal error otherwise, the first ones within tracer::trace().
void MakeBoolsNumbers(torch::jit::Graph &graph);

/// Leaves pure operators of inputs and constants. Returns the tensors that have become inputs of the graph, in that order:
/// those that are captured, then those that were computed of numbers alone.
/// \param isMade Of a tensor that LibTorch met without having seen it computed, with two handles on it: whether the function
///        makes it of numbers.
/// \param[out] computed How many of them are of the second kind.
TensorList Simplify(std::shared_ptr<torch::jit::Graph> graph, const std::function<bool(const torch::Tensor &)> &isMade,
                    std::size_t &computed);

/// Whether the node is no operator of its own: constants and lists are spelt out in the arguments of the operators that use them.
bool IsSpeltOut(const torch::jit::Node &node);

/// \param inputs How many of the graph's inputs are the function's; the others are constants.
/// \param[out] obstacle What has no place in the core's structure, which is then good for comparisons only; else empty.
Core::ObservedGraph Lower(const torch::jit::Graph &graph, std::size_t inputs, const std::string &name, std::string &obstacle);

/// The same for a part of a function, all of whose inputs are inputs. Throws Unobservable for an obstacle.
/// \param numbers Of its operators in the function, from 1 on.
Core::ObservedGraph LowerPart(const torch::jit::Graph &part, const std::string &name, std::vector<std::size_t> numbers);

} // namespace Internal
} // namespace CladTorch

#endif
