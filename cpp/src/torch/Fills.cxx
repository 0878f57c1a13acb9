#include "Fills.hxx"

#include <algorithm>
#include <optional>

namespace CladTorch {
namespace Internal {

namespace {

/// The value of all elements, with the sign of a zero. None for a tensor without dimensions, whose type adapts.
std::optional<double> OnlyNumber(const torch::Tensor &tensor)
{
   if (tensor.dim() == 0 || tensor.numel() == 0 ||
       (tensor.scalar_type() != torch::kFloat32 && tensor.scalar_type() != torch::kFloat64))
      return std::nullopt;
   const auto numbers = tensor.detach().to(torch::kFloat64).contiguous().view(-1), digits = numbers.view(torch::kInt64);
   return (digits == digits[0]).all().item<bool>() ? std::make_optional(numbers[0].item<double>()) : std::nullopt;
}

bool IsFill(const Observation &observation, std::size_t constant)
{
   return constant < observation.fConstants.size() && observation.fMade[constant] && OnlyNumber(observation.fConstants[constant]);
}

Core::ObservedNode Full(std::uint32_t value, const torch::Tensor &tensor, double number)
{
   Core::ObservedArgument sizes{Core::ArgumentKind::Integers, 0, 0, {}, {}, {}}, fill{Core::ArgumentKind::Float, 0, number, {}, {}, {}};
   for (const auto size : tensor.sizes())
      sizes.list.push_back(size);
   Core::ObservedNode node{"aten::full", "", {}, {}, "a tensor of one number"};
   node.arguments.push_back(std::move(sizes));
   node.arguments.push_back(std::move(fill));
   node.outputs.push_back(value);
   return node;
}

} // namespace

std::vector<std::size_t> FillsOfOtherShapes(const Observation &first, const Observation (&others)[2])
{
   std::vector<std::size_t> fills;
   for (std::size_t i = 0; i < first.fConstants.size(); ++i) {
      const auto follows = [&](const Observation &other) { return IsFill(other, i) && other.fConstants[i].sizes() != first.fConstants[i].sizes(); };
      if (IsFill(first, i) && follows(others[0]) && follows(others[1]))
         fills.push_back(i);
   }
   return fills;
}

void SpellOutFills(Observation &observation, const std::vector<std::size_t> &fills)
{
   auto &graph = observation.fGraph;
   rust::Vec<Core::ObservedNode> nodes;
   rust::Vec<std::uint32_t> constants;
   TensorList tensors;
   std::vector<bool> made;
   for (const auto fill : fills)
      if (!IsFill(observation, fill))
         throw Unobservable("a tensor that it makes of numbers follows the number of rows");
   for (std::size_t i = 0; i < observation.fConstants.size(); ++i) {
      const auto &tensor = observation.fConstants[i];
      if (std::find(fills.begin(), fills.end(), i) != fills.end()) {
         nodes.push_back(Full(graph.constants[i], tensor, *OnlyNumber(tensor)));
         continue;
      }
      constants.push_back(graph.constants[i]);
      tensors.push_back(tensor);
      made.push_back(observation.fMade[i]);
   }
   for (auto &node : graph.nodes)
      nodes.push_back(std::move(node));
   graph.nodes = std::move(nodes);
   graph.constants = std::move(constants);
   observation.fConstants = std::move(tensors);
   observation.fMade = std::move(made);
   observation.fFills = fills;
}

} // namespace Internal
} // namespace CladTorch
