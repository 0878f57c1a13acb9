/// \file torch/Roundings.hxx
/// \brief Which features a network takes as whole numbers.

#ifndef CLADTORCH_TORCH_ROUNDINGS
#define CLADTORCH_TORCH_ROUNDINGS

#include <CladTorch/Torch/LibTorch.hxx>

#include <ATen/record_function.h>

#include "rust/cxx.h"

#include <memory>
#include <vector>

namespace CladTorch {
namespace Internal {

class Network;

/// Records the tensors that operators round, in this thread and as long as it lives: conversions to integers, floor and
/// the like.
class Roundings {
public:
   Roundings();
   ~Roundings();
   Roundings(const Roundings &) = delete;
   Roundings &operator=(const Roundings &) = delete;

   /// The tensors in order; without those computed from tensors that require a gradient.
   const std::vector<torch::Tensor> &Rounded() const { return fRounded; }

private:
   static std::unique_ptr<at::ObserverContext> BeforeOperator(const at::RecordFunction &call);

   Roundings *fOuter;
   at::CallbackHandle fHandle;
   std::vector<torch::Tensor> fRounded;
};

/// For each element of an event, whether it changes what `network` rounds in evaluation, without the influence of
/// parameters: categories, bins, places in a table. All are false if it rounds nothing.
rust::Vec<bool> WholeFeatures(const Network &network);

} // namespace Internal
} // namespace CladTorch

#endif
