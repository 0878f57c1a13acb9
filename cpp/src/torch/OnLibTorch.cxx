#include "OnLibTorch.hxx"

#include <optional>
#include <stdexcept>
#include <string>

namespace CladTorch {
namespace Internal {

namespace {

/// The same values without a history. Autograd refuses tensors from inference mode.
torch::Tensor Fresh(const torch::Tensor &tensor)
{
   return tensor.is_inference() ? tensor.clone() : tensor.detach();
}

} // namespace

TensorList Leaves(const TensorList &inputs)
{
   TensorList leaves;
   for (const auto &input : inputs)
      leaves.push_back(Fresh(input).requires_grad_(input.is_floating_point()));
   return leaves;
}

TensorList GradientsOnLibTorch(const TensorList &leaves, const TensorList &outputs, const TensorList &adjoints)
{
   TensorList wanted, seen, given;
   for (const auto &leaf : leaves)
      if (leaf.requires_grad())
         wanted.push_back(leaf);
   for (std::size_t i = 0; i < adjoints.size(); ++i)
      if (outputs[i].requires_grad()) {
         seen.push_back(outputs[i]);
         given.push_back(adjoints[i]);
      }
   TensorList found(wanted.size());
   if (!seen.empty())
      found = torch::autograd::grad(seen, wanted, given, true, false, true);
   TensorList gradients;
   auto next = found.begin();
   for (const auto &leaf : leaves) {
      gradients.emplace_back();
      if (leaf.requires_grad()) {
         gradients.back() = next->defined() ? next->contiguous() : torch::zeros_like(leaf, at::MemoryFormat::Contiguous);
         ++next;
      }
   }
   return gradients;
}

TensorList HessianVector(const ListFunction &function, const TensorList &inputs, const TensorList &directions)
{
   if (inputs.size() != directions.size())
      throw std::invalid_argument(std::to_string(directions.size()) + " directions were given for " +
                                  std::to_string(inputs.size()) + " inputs");
   const c10::InferenceMode normal(false);
   const torch::AutoGradMode recording(true);
   const auto leaves = Leaves(inputs);
   TensorList wanted, along;
   for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_floating_point())
         continue;
      if (!directions[i].defined() || directions[i].sizes() != inputs[i].sizes())
         throw std::invalid_argument("direction " + std::to_string(i) + " has to have the shape of its input, " +
                                     c10::str(inputs[i].sizes()));
      wanted.push_back(leaves[i]);
      along.push_back(Fresh(directions[i]));
   }
   const auto outputs = function(leaves);
   std::int64_t numbers = 0;
   for (const auto &output : outputs)
      numbers += output.numel();
   if (outputs.size() != 1 || numbers != 1)
      throw std::invalid_argument("second derivatives are those of a function that returns one number, this one returns " +
                                  std::to_string(numbers));
   const auto &value = outputs.front();
   const auto gradients = torch::autograd::grad({value.sum()}, wanted, {}, true, true, true);
   torch::Tensor slope; // of the value along the directions
   for (std::size_t i = 0; i < wanted.size(); ++i)
      if (gradients[i].defined())
         slope = slope.defined() ? slope + (gradients[i] * along[i]).sum() : (gradients[i] * along[i]).sum();
   TensorList products(wanted.size());
   if (slope.defined() && slope.requires_grad())
      products = torch::autograd::grad({slope}, wanted, {}, std::nullopt, false, true);
   TensorList all;
   auto next = wanted.begin();
   auto product = products.begin();
   for (const auto &input : inputs) {
      all.emplace_back();
      if (input.is_floating_point()) {
         all.back() = product->defined() ? *product : torch::zeros_like(*next).detach();
         ++next, ++product;
      }
   }
   return all;
}

} // namespace Internal
} // namespace CladTorch
