#include "AutogradGraph.hxx"

#include "Observe.hxx"

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

/// Where gradients of `arguments` arrive. An operator with many results makes a place for each.
std::vector<torch::autograd::Edge> Ends(const TensorList &arguments)
{
   std::vector<torch::autograd::Edge> ends;
   for (const auto &argument : arguments)
      ends.push_back(argument.requires_grad() ? torch::autograd::impl::gradient_edge(argument) : torch::autograd::Edge());
   return ends;
}

/// The graph from one output.
class Walk {
public:
   Walk(const std::vector<torch::autograd::Edge> &ends, std::uint64_t begin) : fEnds(ends), fBegin(begin) {}

   std::vector<bool> From(const torch::Tensor &output)
   {
      fReached.resize(fEnds.size());
      if (output.requires_grad())
         Follow(torch::autograd::impl::gradient_edge(output));
      while (!fOpen.empty()) {
         auto *node = fOpen.back();
         fOpen.pop_back();
         CheckNode(*node);
         for (const auto &edge : node->next_edges())
            if (edge.is_valid())
               Follow(edge);
      }
      return fReached;
   }

private:
   void Follow(const torch::autograd::Edge &edge)
   {
      for (std::size_t i = 0; i < fEnds.size(); ++i)
         if (fEnds[i] == edge) {
            fReached[i] = true;
            return;
         }
      auto *node = edge.function.get();
      const bool leaf = dynamic_cast<torch::autograd::AccumulateGrad *>(node) != nullptr;
      if (leaf || node->sequence_nr() < fBegin)
         throw Unobservable("a gradient goes to " + node->name() + ", which belongs neither to an input nor to a tensor that it "
                            "captures");
      if (fSeen.insert(node).second)
         fOpen.push_back(node);
   }

   const std::vector<torch::autograd::Edge> &fEnds;
   std::uint64_t fBegin;
   std::vector<bool> fReached;
   std::unordered_set<Node *> fSeen;
   std::vector<Node *> fOpen;
};

} // namespace

Reached FollowAutogradGraph(const TensorList &arguments, std::size_t inputs, const TensorList &outputs, std::uint64_t begin)
{
   for (std::size_t i = 0; i < inputs; ++i)
      if (!torch::autograd::impl::hooks(arguments[i]).empty())
         throw Unobservable("it puts a hook on the gradient of an input (register_hook())");
   const auto ends = Ends(arguments);
   Reached reached;
   for (const auto &output : outputs)
      reached.push_back(output.defined() ? Walk(ends, begin).From(output) : std::vector<bool>(arguments.size()));
   return reached;
}

bool DependsOn(const torch::Tensor &tensor, const torch::Tensor &other)
{
   const auto end = torch::autograd::impl::gradient_edge(other);
   std::unordered_set<const Node *> seen;
   std::vector<Node *> open{tensor.grad_fn().get()};
   while (!open.empty()) {
      auto *node = open.back();
      open.pop_back();
      if (!node || !seen.insert(node).second)
         continue;
      for (const auto &edge : node->next_edges()) {
         if (edge == end)
            return true;
         open.push_back(edge.function.get());
      }
   }
   return false;
}

} // namespace Internal
} // namespace CladTorch
