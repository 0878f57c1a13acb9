/// \file NetworkModel.hxx
/// \brief A network of LibTorch's tensors as a model.

#ifndef CLADTORCH_NETWORKMODEL
#define CLADTORCH_NETWORKMODEL

#include "Observe.hxx"

#include <cstddef>
#include <memory>
#include <vector>

namespace CladTorch {
namespace Internal {

struct ModelData;

/// Observes a network as a Model does; what it throws was not reported yet.
/// \param module The module whose mode is switched; may be null.
/// \param shape Shape of one event.
std::shared_ptr<ModelData>
ModelOf(ListFunction function, std::shared_ptr<torch::nn::Module> module, const std::vector<std::size_t> &shape);

/// The same for a function of several tensors, of one shape each.
std::shared_ptr<ModelData> ModelOf(ListFunction function, std::shared_ptr<torch::nn::Module> module,
                                   const std::vector<std::vector<std::size_t>> &shapes);

} // namespace Internal
} // namespace CladTorch

#endif
