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

/// Makes bools numbers if no operator takes them, as in the `fill_` that torch::tensor({true, false}) calls. Otherwise
/// LibTorch's passes over a recorded graph end with an internal error, the first ones within tracer::trace().
void MakeBoolsNumbers(torch::jit::Graph &graph);

/// Leaves only pure operators of inputs and constants. Returns the tensors that have become inputs of the graph, in
/// that order: the captured ones, then those that were computed of numbers alone.
/// \param isMade Of a tensor that LibTorch met without having seen it computed, with two handles on it: whether the function
///        makes it of numbers.
/// \param[out] computed The number of tensors of the second kind.
TensorList Simplify(std::shared_ptr<torch::jit::Graph> graph, const std::function<bool(const torch::Tensor &)> &isMade,
                    std::size_t &computed);

/// Whether the node is not an operator: constants and lists are written into the arguments of the operators that use
/// them.
bool IsSpeltOut(const torch::jit::Node &node);

/// \param inputs Number of the graph's inputs that are the function's; the others are constants.
/// \param[out] obstacle Why the core's structure cannot represent it; the structure is then good for comparisons only;
/// otherwise empty.
Core::ObservedGraph Lower(const torch::jit::Graph &graph, std::size_t inputs, const std::string &name, std::string &obstacle);

/// The same for a part of a function, all of whose inputs are inputs. Throws Unobservable for an obstacle.
/// \param numbers Numbers of its operators in the function, from 1 on.
Core::ObservedGraph LowerPart(const torch::jit::Graph &part, const std::string &name, std::vector<std::size_t> numbers);

} // namespace Internal
} // namespace CladTorch

#endif
