/// \file Captured.hxx
/// \brief What tensors were like when a function was observed.

#ifndef CLADTORCH_CAPTURED
#define CLADTORCH_CAPTURED

#include "Observe.hxx"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Dtype, shape, strides and device of a dense tensor.
class Layout {
public:
   explicit Layout(const torch::Tensor &tensor);
   bool Fits(const torch::Tensor &tensor) const;
   /// Whether type and shape match those of `tensor`.
   bool HasShape(const torch::Tensor &tensor) const { return tensor.scalar_type() == fType && tensor.sizes() == fShape; }
   /// Type, shape and, if on a GPU, the device, as text.
   std::string Describe() const;
   /// A tensor with this layout and arbitrary values.
   torch::Tensor Empty() const { return torch::empty_strided(fShape, fStrides, torch::dtype(fType).device(fDevice)); }

private:
   torch::ScalarType fType;
   torch::Device fDevice;
   std::vector<std::int64_t> fShape;
   std::vector<std::int64_t> fStrides;
};

/// The tensors that a function captures: the function's own, whose values are read at each call.
class Captured {
public:
   Captured() = default;
   explicit Captured(TensorList tensors);

   const TensorList &Tensors() const { return fTensors; }
   std::size_t Size() const { return fTensors.size(); }
   /// Whether they still have their layouts, and require the same gradients.
   bool Fit() const;

private:
   TensorList fTensors;
   std::vector<Layout> fLayouts;
   Marks fRequires; ///< a gradient
};

} // namespace Internal
} // namespace CladTorch

#endif
