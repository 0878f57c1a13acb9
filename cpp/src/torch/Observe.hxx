/// \file Observe.hxx
/// \brief Which operators a LibTorch function calls, in the form that the core takes.

#ifndef CLADTORCH_OBSERVE
#define CLADTORCH_OBSERVE

#include "cladtorch/src/bridge.rs.h"

#include <CladTorch/Torch/Compile.hxx>

#include <cstdint>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// A captured whole number that each call of a function counts up, as batch normalisation counts its batches.
struct Counter {
   torch::Tensor fTensor;
   std::int64_t fStep;
};

/// A function as LibTorch was seen running it.
struct Observation {
   Core::ObservedGraph fGraph;
   TensorList fConstants; ///< captured tensors, in the order of fGraph.constants; the function's own, not copies
   std::vector<Counter> fCounters;
};

/// What has no place in an Observation although the function itself is fine; it runs on LibTorch.
class Unobservable : public std::runtime_error {
public:
   using std::runtime_error::runtime_error;
};

/// Runs `function` on `inputs` and on other values of the same shapes.
/// Throws std::runtime_error where the operators depend on the values, and Unobservable.
Observation Observe(const ListFunction &function, const TensorList &inputs, const std::string &name);

} // namespace Internal
} // namespace CladTorch

#endif
