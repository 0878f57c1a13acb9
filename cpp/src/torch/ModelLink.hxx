/// \file ModelLink.hxx
/// \brief The tensors of a network as views of a model's memory.

#ifndef CLADTORCH_MODELLINK
#define CLADTORCH_MODELLINK

#include "CoreBox.hxx"
#include "ModuleCalls.hxx"
#include "Network.hxx"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

/// See ModuleLink.
class ModelLink : public ModuleLink {
public:
   ModelLink(Network network, PlacedTensors tensors);
   ~ModelLink() override;
   std::vector<std::int64_t> Counts() const override;
   void Count(ModelData &model, std::uint64_t batches) const override;
   void Check(const ModelData &model) const override;
   void CheckFit(const ModelData &model, const FitOptions &options) const override;
   void Share(const std::shared_ptr<ModelData> &model) override;

private:
   void Take();
   std::string Shown(const torch::Tensor &tensor) const;
   std::string WhyElsewhere(const torch::Tensor &tensor) const;
   const float *Address(const ModelData &model, std::size_t i) const;

   Network fNetwork; ///< keeps the module
   PlacedTensors fTensors;
   std::vector<std::pair<const void *, std::uint32_t>> fFixed; ///< of all tensors, when the model was made
   std::vector<std::pair<torch::Tensor, bool>> fRequired;      ///< the module's parameters, and whether they required a gradient then
   std::weak_ptr<ModelData> fShared;                           ///< the model whose memory they are in
   std::atomic<bool> fTaken{false};                            ///< another link has been given its tensors
};

} // namespace Internal
} // namespace CladTorch

#endif
