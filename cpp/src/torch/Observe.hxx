/// \file Observe.hxx
/// \brief Which operators a LibTorch function calls, in the form that the core takes.

#ifndef CLADTORCH_OBSERVE
#define CLADTORCH_OBSERVE

#include "cladtorch/src/bridge/observed.rs.h"

#include "AutogradGraph.hxx"

#include <CladTorch/Torch/Compile.hxx>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace torch::jit {
struct Graph;
}

namespace CladTorch {
namespace Internal {

/// One mark for each input or argument; usually so few that they need no memory of their own.
using Marks = c10::SmallVector<bool, 16>;

/// How a function is called: the gradients, and LibTorch's setting that a function may depend on.
struct Wanted {
   Marks fInputs;  ///< which inputs require a gradient
   bool fRecorded; ///< LibTorch's autograd would record the call
   bool fCaptured; ///< gradients of captured tensors are requested, too
   caffe2::TypeMeta fDefault = torch::get_default_dtype(); ///< of the tensors that the function makes
   bool operator==(const Wanted &other) const
   {
      return fInputs == other.fInputs && fRecorded == other.fRecorded && fCaptured == other.fCaptured && fDefault == other.fDefault;
   }
};

/// A captured whole number that each call of a function increments, as batch normalisation counts its batches.
struct Counter {
   torch::Tensor fTensor;
   std::int64_t fStep;
};

/// A function as LibTorch was observed to run it.
struct Observation {
   /// Throws Unobservable if there is an obstacle.
   const Core::ObservedGraph &Graph() const;

   Core::ObservedGraph fGraph;
   std::string fObstacle; ///< why fGraph cannot represent it; fGraph is then good for comparisons only; otherwise empty
   std::shared_ptr<torch::jit::Graph> fRecorded; ///< source of fGraph; null if that was derived from others
   TensorList fConstants; ///< captured tensors, in the order of fGraph.constants; the function's own, not copies
   std::size_t fParameters = 0; ///< number of captured tensors that require a gradient; they come first
   std::vector<bool> fMade;     ///< for each constant, whether the function makes it of nothing but numbers
   std::vector<std::size_t> fFills; ///< former constants that are operators in fGraph; see Fills.hxx
   std::vector<Counter> fCounters;
   Reached fReached;       ///< for each output, the inputs and constants that LibTorch's autograd goes back to
   std::vector<std::string> fDraws; ///< the operators that drew random numbers, in order
   std::vector<c10::Storage> fChanged; ///< captured memory whose values differ after a run
};

/// An Observation cannot represent the function, although the function itself is fine; it runs on LibTorch.
class Unobservable : public std::runtime_error {
public:
   using std::runtime_error::runtime_error;
};

/// The same for a function that differs at each call, whatever its inputs: another observation would gain nothing.
class Inconstant : public Unobservable {
public:
   using Unobservable::Unobservable;
};

/// The exception of the function on the inputs that it was to be observed with.
struct Thrown {
   std::exception_ptr fWhat;
   std::string Message() const;
};

/// Runs `function` on `inputs`, with gradients and without, as `wanted` says, and on other values of the same shapes.
/// Changes made by the runs are undone. Throws Unobservable if the runs do not show a pure function of inputs and
/// captured tensors, and Thrown if the function throws.
Observation Observe(const ListFunction &function, const TensorList &inputs, const Wanted &wanted, const std::string &name);

/// Runs `function` on `inputs`. Throws Unobservable if it differs from `expected`.
void CheckFollows(const ListFunction &function, const TensorList &inputs, const Wanted &wanted, const Observation &expected,
                  const std::string &name);

/// Whether both show the same part of the same memory.
bool SamePlace(const torch::Tensor &a, const torch::Tensor &b);

/// Throws Unobservable if the captured tensors of two observations are not the same, or those made of numbers are not
/// equal.
void CheckSameConstants(const Observation &first, const Observation &second, const std::string &name);

} // namespace Internal
} // namespace CladTorch

#endif
