#include "AutogradGraph.hxx"

#include <c10/util/Type.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <string>
#include <typeinfo>
#include <unordered_set>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

using torch::autograd::Node;

/// Whether LibTorch itself made the node for an operator. Custom functions are CppNode<...> or classes from elsewhere.
bool IsOperators(const std::string &type)
{
   return type.rfind("torch::autograd::", 0) == 0 && type.rfind("torch::autograd::CppNode<", 0) != 0 &&
          type.rfind("torch::autograd::PyNode", 0) != 0;
}

void CheckNode(Node &node)
{
   const auto type = c10::demangle(typeid(node).name());
   if (!IsOperators(type))
      throw Unobservable("it calls a custom autograd function, " + node.name() + ", whose derivative is its own");
   if (!node.pre_hooks().empty() || !node.post_hooks().empty() || !node.tensor_pre_hooks().empty() ||
       !node.retains_grad_hooks().empty())
      throw Unobservable("it puts a hook on a gradient (register_hook(), retain_grad()), that of " + node.name());
}

} // namespace

void CheckAutogradGraph(const TensorList &inputs, const TensorList &outputs, std::uint64_t begin)
{
   for (const auto &input : inputs)
      if (!torch::autograd::impl::hooks(input).empty())
         throw Unobservable("it puts a hook on the gradient of an input (register_hook())");
   std::unordered_set<Node *> seen;
   std::vector<Node *> open;
   for (const auto &output : outputs)
      if (output.defined())
         open.push_back(output.grad_fn().get());
   while (!open.empty()) {
      auto *node = open.back();
      open.pop_back();
      const bool leaf = dynamic_cast<torch::autograd::AccumulateGrad *>(node) != nullptr;
      if (!node || leaf || node->sequence_nr() < begin || !seen.insert(node).second)
         continue;
      CheckNode(*node);
      for (const auto &edge : node->next_edges())
         open.push_back(edge.function.get());
   }
}

} // namespace Internal
} // namespace CladTorch
