#include "CompiledFunction.hxx"

#include <ATen/FuncTorchTLS.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <mutex>
#include <utility>

namespace CladTorch {
namespace Internal {

TensorList CompiledFunction::Run(TensorList arguments, std::shared_ptr<const Specialisation> specialisation)
{
   if (const auto &transforms = at::functorch::functorchTLSAccessor())
      transforms->checkSupportsCppAutogradFunction();
   const std::shared_ptr<CompiledFunction> node(new CompiledFunction, torch::autograd::deleteNode);
   node->set_next_edges(torch::autograd::collect_next_edges(arguments));
   node->fSpecialisation = std::move(specialisation);
   TensorList outputs;
   {
      const torch::AutoGradMode recording(false);
      outputs = node->fSpecialisation->Forward(std::move(arguments), &node->fSaved);
   }
   torch::autograd::set_history(outputs, node);
   return outputs;
}

torch::autograd::variable_list CompiledFunction::apply(torch::autograd::variable_list &&adjoints)
{
   const std::lock_guard<std::mutex> lock(mutex_); // LibTorch may go back on several threads
   if (!fSpecialisation)
      throw std::runtime_error("a second pass back through a compiled function: its values went with the first one, "
                               "which retain_graph=true keeps");
   fSaved.CheckUnchanged();
   return torch::GradMode::is_enabled() ? Differentiable(adjoints) : fSpecialisation->Backward(fSaved, adjoints);
}

void CompiledFunction::release_variables()
{
   const std::lock_guard<std::mutex> lock(mutex_);
   fSpecialisation = nullptr;
   fSaved = {};
}

TensorList CompiledFunction::Differentiable(const TensorList &adjoints) const
{
   if (fSpecialisation->Random())
      throw std::runtime_error("a second derivative through a compiled function that draws random numbers is not "
                               "defined: call the function itself");
   const auto &arguments = fSaved.fArguments;
   const auto outputs = fSpecialisation->Original(arguments);
   TensorList wanted, seen, given;
   for (const auto &argument : arguments)
      if (argument.requires_grad())
         wanted.push_back(argument);
   for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].requires_grad() && adjoints[i].defined()) {
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

} // namespace Internal
} // namespace CladTorch
