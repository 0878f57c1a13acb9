#include "Captured.hxx"

#include <utility>

namespace CladTorch {
namespace Internal {

Layout::Layout(const torch::Tensor &tensor)
   : fType(tensor.scalar_type()), fDevice(tensor.device()), fShape(tensor.sizes().vec()), fStrides(tensor.strides().vec())
{
}

bool Layout::Fits(const torch::Tensor &tensor) const
{
   return tensor.scalar_type() == fType && tensor.sizes() == fShape && tensor.strides() == fStrides &&
          tensor.device() == fDevice && tensor.layout() == torch::kStrided && !tensor.is_neg();
}

std::string Layout::Describe() const
{
   const auto where = fDevice.is_cpu() ? "" : " on " + fDevice.str();
   return std::string(c10::toString(fType)) + ' ' + c10::str(at::IntArrayRef(fShape)) + where;
}

Captured::Captured(TensorList tensors) : fTensors(std::move(tensors)), fLayouts(fTensors.begin(), fTensors.end())
{
   for (const auto &tensor : fTensors)
      fRequires.push_back(tensor.requires_grad());
}

bool Captured::Fit() const
{
   for (std::size_t i = 0; i < fTensors.size(); ++i)
      if (!fLayouts[i].Fits(fTensors[i]) || fTensors[i].requires_grad() != fRequires[i])
         return false;
   return true;
}

} // namespace Internal
} // namespace CladTorch
