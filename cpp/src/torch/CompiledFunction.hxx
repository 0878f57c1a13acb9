/// \file CompiledFunction.hxx
/// \brief A compiled function as a node of LibTorch's autograd graph.

#ifndef CLADTORCH_COMPILEDFUNCTION
#define CLADTORCH_COMPILEDFUNCTION

#include "Specialisation.hxx"

#include <memory>
#include <string>

namespace CladTorch {
namespace Internal {

/// One call, kept by LibTorch's graph until it goes backward. It is its own node and not a torch::autograd::Function,
/// which boxes what it saves and describes every input at each call.
class CompiledFunction : public torch::autograd::Node {
public:
   /// The outputs for `arguments`, the inputs and the captured tensors, one of which requires a gradient.
   static TensorList Run(TensorList arguments, std::shared_ptr<const Specialisation> specialisation);

   std::string name() const override { return "CladTorch::Compiled"; }
   void release_variables() override;

private:
   torch::autograd::variable_list apply(torch::autograd::variable_list &&adjoints) override;
   /// If only some outputs were used and one compiled function goes back through all of them, LibTorch runs it: the
   /// adjoints of the others are 0, and 0 times an infinite slope is NaN.
   TensorList OfSome(const TensorList &adjoints) const;
   /// If only some outputs were used, arguments that only the others depend on have no gradient.
   void ForgetUnreached(const TensorList &adjoints, TensorList &gradients) const;
   /// LibTorch requests the gradient of the gradient: LibTorch itself computes it, from the function.
   TensorList Differentiable(const TensorList &adjoints) const;

   std::shared_ptr<const Specialisation> fSpecialisation; ///< null once LibTorch has let it go
   SavedCall fSaved;
};

} // namespace Internal
} // namespace CladTorch

#endif
