#include "CompiledFunction.hxx"

namespace CladTorch {
namespace Internal {

namespace {

constexpr const char *kCall = "call";

/// One call, as LibTorch's graph keeps it until it goes backward.
struct Call : torch::CustomClassHolder {
   std::shared_ptr<const Specialisation> fSpecialisation;
   SavedCall fSaved;
};

/// LibTorch asks for the gradient of the gradient: it is made by LibTorch itself, from the function.
TensorList Differentiable(const Call &call, const TensorList &adjoints)
{
   if (call.fSpecialisation->Random())
      throw std::runtime_error("a second derivative through a compiled function that draws random numbers is not "
                               "defined: call the function itself");
   const auto &arguments = call.fSaved.fArguments;
   const auto outputs = call.fSpecialisation->Original(arguments);
   TensorList wanted, seen, given;
   for (const auto &argument : arguments)
      if (argument.requires_grad())
         wanted.push_back(argument);
   for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].requires_grad()) {
         seen.push_back(outputs[i]);
         given.push_back(adjoints[i]);
      }
   const auto found = torch::autograd::grad(seen, wanted, given, true, true, true);
   TensorList gradients;
   auto next = found.begin();
   for (const auto &argument : arguments)
      gradients.push_back(argument.requires_grad() ? *next++ : torch::Tensor());
   return gradients;
}

} // namespace

TensorList CompiledFunction::forward(torch::autograd::AutogradContext *context, at::TensorList arguments,
                                     const std::shared_ptr<const Specialisation> &specialisation)
{
   auto call = c10::make_intrusive<Call>();
   call->fSpecialisation = specialisation;
   auto outputs = specialisation->Forward(arguments.vec(), &call->fSaved);
   context->saved_data[kCall] = c10::IValue::make_capsule(std::move(call));
   return outputs;
}

TensorList CompiledFunction::backward(torch::autograd::AutogradContext *context, TensorList adjoints)
{
   const auto capsule = context->saved_data[kCall].toCapsule();
   const auto &call = static_cast<const Call &>(*capsule);
   call.fSaved.CheckUnchanged();
   auto gradients = torch::GradMode::is_enabled() ? Differentiable(call, adjoints)
                                                  : call.fSpecialisation->Backward(call.fSaved, adjoints);
   gradients.emplace_back(); // of the specialisation, which is no tensor
   return gradients;
}

} // namespace Internal
} // namespace CladTorch
