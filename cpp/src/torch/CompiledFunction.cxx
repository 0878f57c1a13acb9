#include "CompiledFunction.hxx"

#include <ATen/FuncTorchTLS.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

/// A node between the inputs of a function and the operators that computed them. Closed, it ends a way back: the first
/// derivative by one argument must not continue to another one through an input that was computed from it, or that is
/// it. Open, it lets second derivatives pass.
class Gate : public torch::autograd::Node {
public:
   /// `arguments`, the first `inputs` of them behind the gate: other tensors that share their memory.
   TensorList Behind(const TensorList &arguments, std::size_t inputs)
   {
      const TensorList given(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(inputs));
      set_next_edges(torch::autograd::collect_next_edges(given));
      auto behind = arguments;
      for (std::size_t i = 0; i < inputs; ++i) {
         if (!arguments[i].requires_grad()) {
            add_input_metadata(Node::undefined_input());
            continue;
         }
         behind[i] = arguments[i].detach();
         torch::autograd::impl::set_gradient_edge(behind[i], {getptr(), add_input_metadata(behind[i])});
      }
      return behind;
   }
   void Close() { fClosed = true; }
   void Open() { fClosed = false; }
   std::string name() const override { return "CladTorch::Gate"; }

private:
   torch::autograd::variable_list apply(torch::autograd::variable_list &&adjoints) override
   {
      return fClosed ? TensorList(adjoints.size()) : std::move(adjoints);
   }

   bool fClosed = false;
};

/// Throws if a captured tensor was computed from another one: LibTorch's derivative by the one contains that by the
/// other.
void CheckIndependent(const TensorList &arguments, std::size_t inputs)
{
   for (std::size_t i = inputs; i < arguments.size(); ++i) {
      if (!arguments[i].requires_grad() || arguments[i].is_leaf())
         continue;
      for (std::size_t j = inputs; j < arguments.size(); ++j)
         if (j != i && arguments[j].requires_grad() && DependsOn(arguments[i], arguments[j]))
            throw std::runtime_error("a second derivative through a compiled function of which one captured tensor was computed "
                                     "from another one is not defined: call the function itself");
   }
}

} // namespace

TensorList CompiledFunction::Run(TensorList arguments, std::shared_ptr<const Specialisation> specialisation)
{
   if (const auto &transforms = at::functorch::functorchTLSAccessor())
      transforms->checkSupportsCppAutogradFunction();
   const std::shared_ptr<CompiledFunction> node(new CompiledFunction, torch::autograd::deleteNode);
   node->set_next_edges(torch::autograd::collect_next_edges(arguments));
   node->fSpecialisation = std::move(specialisation);
   Marks requiring;
   for (const auto &argument : arguments)
      requiring.push_back(argument.requires_grad());
   TensorList outputs;
   {
      const torch::AutoGradMode recording(false);
      outputs = node->fSpecialisation->Forward(std::move(arguments), &node->fSaved);
   }
   const auto &reaches = node->fSpecialisation->Reaches();
   for (std::size_t i = 0; i < outputs.size(); ++i) {
      bool recorded = false;
      for (std::size_t j = 0; j < requiring.size(); ++j)
         recorded = recorded || (reaches[i][j] && requiring[j]);
      torch::autograd::set_history(recorded ? outputs[i] : torch::Tensor(), node);
   }
   return outputs;
}

torch::autograd::variable_list CompiledFunction::apply(torch::autograd::variable_list &&adjoints)
{
   const std::lock_guard<std::mutex> lock(mutex_); // LibTorch may go backward on several threads
   if (!fSpecialisation)
      throw std::runtime_error("a second backward pass through a compiled function: the first one released its values; "
                               "keep them with retain_graph=true");
   fSaved.CheckUnchanged(fSpecialisation->Inputs());
   if (torch::GradMode::is_enabled())
      return Differentiable(adjoints);
   if (std::all_of(adjoints.begin(), adjoints.end(), [](const auto &adjoint) { return adjoint.defined(); }))
      return fSpecialisation->Backward(fSaved, adjoints, true);
   auto gradients = fSpecialisation->BackEnd() == "jit" ? OfSome(adjoints) : fSpecialisation->Backward(fSaved, adjoints, true);
   ForgetUnreached(adjoints, gradients);
   return gradients;
}

TensorList CompiledFunction::OfSome(const TensorList &adjoints) const
{
   TensorList gradients;
   {
      const torch::AutoGradMode recording(true);
      gradients = Differentiable(adjoints);
   }
   for (auto &gradient : gradients)
      if (gradient.defined())
         gradient = gradient.detach();
   return gradients;
}

void CompiledFunction::ForgetUnreached(const TensorList &adjoints, TensorList &gradients) const
{
   const auto &reaches = fSpecialisation->Reaches();
   for (std::size_t i = 0; i < gradients.size(); ++i) {
      bool reached = false;
      for (std::size_t j = 0; j < adjoints.size(); ++j)
         reached = reached || (adjoints[j].defined() && reaches[j][i]);
      if (!reached)
         gradients[i] = torch::Tensor();
   }
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
   const auto gate = std::make_shared<Gate>();
   const auto arguments = gate->Behind(fSaved.fArguments, fSpecialisation->Inputs());
   CheckIndependent(arguments, fSpecialisation->Inputs());
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
   gate->Close();
   const auto found = torch::autograd::grad(seen, wanted, given, true, true, true);
   gate->Open();
   TensorList gradients;
   auto next = found.begin();
   for (const auto &argument : arguments)
      gradients.push_back(argument.requires_grad() ? *next++ : torch::Tensor());
   return gradients;
}

} // namespace Internal
} // namespace CladTorch
