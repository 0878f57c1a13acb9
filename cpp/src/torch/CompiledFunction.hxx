/// \file CompiledFunction.hxx
/// \brief A compiled function as a node of LibTorch's autograd graph.

#ifndef CLADTORCH_COMPILEDFUNCTION
#define CLADTORCH_COMPILEDFUNCTION

#include "Specialisation.hxx"

#include <memory>
#include <string>

namespace CladTorch {
namespace Internal {

/// One call, kept by LibTorch's graph until it goes backward. A node of its own and not a torch::autograd::Function, which
/// boxes what it saves and describes every input at each call.
class CompiledFunction : public torch::autograd::Node {
public:
   /// The outputs for `arguments`, the inputs and the captured tensors, one of which requires a gradient.
   static TensorList Run(TensorList arguments, std::shared_ptr<const Specialisation> specialisation);

   std::string name() const override { return "CladTorch::Compiled"; }
   void release_variables() override;

private:
   torch::autograd::variable_list apply(torch::autograd::variable_list &&adjoints) override;
   /// Where only some outputs were used and one compiled function goes back through all of them, LibTorch does it: the others'
   /// adjoints are 0, and 0 times an infinite slope is no number.
   TensorList OfSome(const TensorList &adjoints) const;
   /// Where only some outputs were used, what the others alone depend on has no gradient.
   void ForgetUnreached(const TensorList &adjoints, TensorList &gradients) const;
   /// LibTorch asks for the gradient of the gradient: it is made by LibTorch itself, from the function.
   TensorList Differentiable(const TensorList &adjoints) const;

   std::shared_ptr<const Specialisation> fSpecialisation; ///< null once LibTorch has let it go
   SavedCall fSaved;
};

} // namespace Internal
} // namespace CladTorch

#endif
