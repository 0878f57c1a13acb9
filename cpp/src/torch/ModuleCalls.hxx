/// \file ModuleCalls.hxx
/// \brief A network that LibTorch runs for the core.

#ifndef CLADTORCH_MODULECALLS
#define CLADTORCH_MODULECALLS

#include "CoreBox.hxx"
#include "LibTorchCalls.hxx"
#include "Network.hxx"
#include "Observe.hxx"

#include "cladtorch/src/bridge/network.rs.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The kind of place of a network's tensor in its model: `kind` of Core::PlaceSpec.
enum EPlace : std::uint8_t { kParameter, kState, kFixed };

/// The tensors of a network, each with its place, and its counters of batches: whole numbers.
struct PlacedTensors {
   TensorList fTensors;
   rust::Vec<Core::PlaceSpec> fPlaces;
   std::vector<Counter> fCounters;
   std::vector<std::vector<std::int64_t>> fShapes; ///< of the tensors, which users may replace by others

   /// Makes the tensor show the elements at `memory`; `keep` is called when nothing shows them any more.
   void Show(std::size_t i, const float *memory, const std::function<void(void *)> &keep) const;
};

/// See LibTorchCalls.
class ModuleCalls : public LibTorchCalls {
public:
   explicit ModuleCalls(Network network);
   /// Must be called first.
   void SetTensors(PlacedTensors tensors);
   const PlacedTensors &Tensors() const { return fTensors; }

   void Begin(std::size_t threads) const noexcept override;
   void Forward(bool training, std::uint64_t seed, std::uint64_t step, rust::Slice<const float> x,
                rust::Slice<const float> parameters, rust::Slice<float> state, rust::Slice<float> outputs) const override;
   void Backward(rust::Slice<const float> adjoint, rust::Slice<float> gradient) const override;
   void Gradient(rust::Slice<const float> x, rust::Slice<const float> parameters, rust::Slice<float> state,
                 rust::Slice<float> gradient) const override;
   void End() const noexcept override;

   /// While the lock is held, no network's tensors are in other memory than their own.
   static std::unique_lock<std::recursive_mutex> Idle();

private:
   torch::Tensor Rows(rust::Slice<const float> x) const;
   void Bind(const float *parameters, float *state) const;
   void SetCounters(std::uint64_t step) const;
   void GiveBack() const;

   Network fNetwork;
   PlacedTensors fTensors;
   mutable TensorList fOwn;                      ///< the tensors' own memory while they are bound
   mutable std::vector<std::int64_t> fOwnCounts; ///< of fCounters, while they are another fit's
   mutable torch::Tensor fRandomState;           ///< of LibTorch's generator before Forward()
   mutable torch::Tensor fOutputs;               ///< of the last Forward() in training
   mutable int fThreads = 0;                     ///< of LibTorch before Begin()
};

} // namespace Internal
} // namespace CladTorch

#endif
