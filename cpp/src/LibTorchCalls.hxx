/// \file LibTorchCalls.hxx
/// \brief What the core calls to have LibTorch run a module. Seen by cargo, too, where there is no ROOT and no LibTorch.

#ifndef CLADTORCH_LIBTORCHCALLS
#define CLADTORCH_LIBTORCHCALLS

#include "rust/cxx.h"

#include <cstddef>
#include <cstdint>

namespace CladTorch {
namespace Internal {

/// A module that LibTorch runs. From Begin() to End() no other thread runs one, because all use LibTorch's random
/// numbers and the modules' own tensors.
class LibTorchCalls {
public:
   virtual ~LibTorchCalls() = default;
   /// LibTorch's operators run on `threads` threads until End(); 0: on as many as LibTorch is set to.
   virtual void Begin(std::size_t threads) const noexcept = 0;
   /// Computes the outputs [rows, outputs] of `x` [rows, inputs]; in training it keeps what Backward() needs, and
   /// changes `state`. `seed` is that of LibTorch's random numbers, `step` counts the batches of the fit before this
   /// one. From here on the module's tensors lie in the caller's memory.
   virtual void Forward(bool training, std::uint64_t seed, std::uint64_t step, rust::Slice<const float> x,
                        rust::Slice<const float> parameters, rust::Slice<float> state, rust::Slice<float> outputs) const = 0;
   /// Computes the gradient of the parameters from the adjoint of the outputs.
   virtual void Backward(rust::Slice<const float> adjoint, rust::Slice<float> gradient) const = 0;
   /// The derivatives [rows, outputs, inputs] of each row's outputs by its elements in `x` [rows, inputs], in
   /// evaluation mode.
   virtual void Gradient(rust::Slice<const float> x, rust::Slice<const float> parameters, rust::Slice<float> state,
                         rust::Slice<float> gradient) const = 0;
   /// Gives the tensors back their own memory.
   virtual void End() const noexcept = 0;
};

} // namespace Internal
} // namespace CladTorch

#endif
