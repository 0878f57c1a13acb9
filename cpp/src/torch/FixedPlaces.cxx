#include "FixedPlaces.hxx"

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Sizes = std::vector<std::int64_t>;

std::int64_t Product(const Sizes &sizes)
{
   return std::accumulate(sizes.begin(), sizes.end(), std::int64_t(1), std::multiplies<>());
}

std::optional<Sizes> KnownSizes(const Value &value)
{
   const auto type = value.type()->cast<c10::TensorType>();
   return type && type->scalarType() && type->device() ? type->sizes().concrete_sizes() : std::nullopt;
}

/// The elements of a tensor, in the indexed dimensions, that are replaced, and their replacements.
struct Places {
   std::size_t fFirst;   ///< the first indexed dimension
   std::size_t fCount;   ///< number of indexed dimensions
   Sizes fIndices;       ///< the shape of the indices together
   at::Tensor fReplaced; ///< bool, of the shape of these dimensions
   at::Tensor fFrom;     ///< [elements of these dimensions]: the number of the index that replaces it, or arbitrary
};

/// Constant indices of neighbouring dimensions, and the first of these dimensions; none for other indices.
std::optional<std::size_t> NeighboursOf(const Value &list, std::vector<at::Tensor> &indices)
{
   if (list.node()->kind() != torch::jit::prim::ListConstruct)
      return std::nullopt;
   std::optional<std::size_t> first;
   const auto given = list.node()->inputs();
   for (std::size_t i = 0; i < given.size(); ++i) {
      const auto constant = torch::jit::toIValue(given[i]);
      if (!constant || (!constant->isNone() && !constant->isTensor()))
         return std::nullopt;
      if (constant->isNone())
         continue;
      if (constant->toTensor().scalar_type() != at::kLong || (first && *first + indices.size() != i))
         return std::nullopt;
      first = first.value_or(i);
      indices.push_back(constant->toTensor().cpu()); // to be read here
   }
   return first;
}

/// The places in a tensor of shape `sizes`; none: a place is beyond it, or replaced twice.
std::optional<Places> PlacesOf(const Value &list, const Sizes &sizes)
{
   std::vector<at::Tensor> found;
   const auto first = NeighboursOf(list, found);
   if (!first || *first + found.size() > sizes.size())
      return std::nullopt;
   Places places{*first, found.size(), {}, {}, {}};
   const Sizes shape(sizes.begin() + static_cast<std::ptrdiff_t>(places.fFirst),
                     sizes.begin() + static_cast<std::ptrdiff_t>(places.fFirst + places.fCount));
   const auto indices = at::broadcast_tensors(found);
   places.fIndices = indices[0].sizes().vec();
   auto flat = at::zeros({indices[0].numel()}, at::kLong);
   for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto index = indices[i].reshape({-1});
      if (((index < -shape[i]) | (index >= shape[i])).any().item<bool>())
         return std::nullopt;
      flat = flat * shape[i] + at::where(index < 0, index + shape[i], index);
   }
   auto from = at::zeros({Product(shape)}, at::kLong), replaced = at::zeros({Product(shape)}, at::kBool);
   from.index_put_({flat}, at::arange(flat.numel()));
   replaced.index_put_({flat}, at::ones({flat.numel()}, at::kBool));
   if (flat.numel() == 0 || replaced.sum().item<std::int64_t>() != flat.numel())
      return std::nullopt;
   places.fFrom = from;
   places.fReplaced = replaced.reshape(shape);
   return places;
}

/// Inserts a node of one tensor of that shape, and of the type of `like`.
Value *Insert(Graph &graph, c10::Symbol kind, const std::vector<Value *> &inputs, const Sizes &sizes, const Value &like)
{
   auto *output = graph.insertNode(graph.create(kind, inputs))->output();
   const auto &type = like.type()->expectRef<c10::TensorType>();
   output->setType(c10::TensorType::createContiguous(*type.scalarType(), *type.device(), sizes));
   return output;
}

/// `sizes` with those of the indexed dimensions replaced.
Sizes With(const Sizes &sizes, const Places &places, const Sizes &middle)
{
   Sizes all(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(places.fFirst));
   all.insert(all.end(), middle.begin(), middle.end());
   all.insert(all.end(), sizes.begin() + static_cast<std::ptrdiff_t>(places.fFirst + places.fCount), sizes.end());
   return all;
}

/// The tensor with the elements of `values` in these places.
Value *Replaced(Graph &graph, Value &x, Value &values, const Places &places)
{
   using namespace torch::jit::aten;
   const auto sizes = *KnownSizes(x);
   const auto device = *x.type()->expectRef<c10::TensorType>().device();
   const auto constant = [&](const c10::IValue &value) { return graph.insertConstant(value); };
   const auto given = With(sizes, places, places.fIndices), row = With(sizes, places, {Product(places.fIndices)}),
              taken = With(sizes, places, {places.fFrom.numel()});
   auto *wide = Insert(graph, expand, {&values, constant(given), constant(false)}, given, x);
   auto *joined = Insert(graph, reshape, {wide, constant(row)}, row, x);
   const auto dim = static_cast<std::int64_t>(places.fFirst);
   auto *found = Insert(graph, index_select, {joined, constant(dim), constant(places.fFrom.to(device))}, taken, x);
   auto *apart = Insert(graph, reshape, {found, constant(sizes)}, sizes, x);
   Sizes mask(places.fReplaced.sizes().vec());
   mask.resize(sizes.size() - places.fFirst, 1);
   return Insert(graph, where, {constant(places.fReplaced.reshape(mask).to(device)), apart, &x}, sizes, x);
}

/// Whether the index at dimension `first` is a mask of the following dimensions of a tensor of shape `sizes`.
bool IsMask(const Value &index, const Sizes &sizes, std::size_t first)
{
   const auto type = index.type()->cast<c10::TensorType>();
   const auto shape = KnownSizes(index);
   return shape && *type->scalarType() == at::kBool && !shape->empty() && first + shape->size() <= sizes.size() &&
          std::equal(shape->begin(), shape->end(), sizes.begin() + static_cast<std::ptrdiff_t>(first));
}

/// The only index, if it is a mask, with dimensions of one element after its own, so that it broadcasts to shape
/// `sizes`; otherwise null.
Value *MaskOf(Graph &graph, Value &list, const Sizes &sizes)
{
   if (list.node()->kind() != torch::jit::prim::ListConstruct)
      return nullptr;
   Value *mask = nullptr;
   std::size_t first = 0;
   const auto given = list.node()->inputs();
   for (std::size_t i = 0; i < given.size(); ++i) {
      const auto constant = torch::jit::toIValue(given[i]);
      if (constant && constant->isNone())
         continue;
      if (mask || !IsMask(*given[i], sizes, i))
         return nullptr;
      mask = given[i];
      first = i;
   }
   if (!mask)
      return nullptr;
   auto shape = *KnownSizes(*mask);
   shape.resize(sizes.size() - first, 1);
   return Insert(graph, torch::jit::aten::reshape, {mask, graph.insertConstant(shape)}, shape, *mask);
}

bool AreOfOneType(const Value &a, const Value &b)
{
   return a.type()->expectRef<c10::TensorType>().scalarType() == b.type()->expectRef<c10::TensorType>().scalarType();
}

} // namespace

void TakeFixedPlaces(Graph &graph)
{
   for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
      auto *node = *it++;
      if (node->kind() != torch::jit::aten::index_put)
         continue;
      const auto sizes = KnownSizes(*node->input(0)), values = KnownSizes(*node->input(2));
      const auto adds = torch::jit::toIValue(node->input(3));
      if (!sizes || !values || !adds || adds->toBool() || !AreOfOneType(*node->input(0), *node->input(2)))
         continue;
      const torch::jit::WithInsertPoint here(node);
      auto &x = *node->input(0), &given = *node->input(2);
      Value *made = nullptr;
      if (const auto places = PlacesOf(*node->input(1), *sizes))
         made = Replaced(graph, x, given, *places);
      else if (auto *mask = Product(*values) == 1 && values->size() <= sizes->size() ? MaskOf(graph, *node->input(1), *sizes) : nullptr)
         made = Insert(graph, torch::jit::aten::where, {mask, &given, &x}, *sizes, x);
      if (!made)
         continue;
      node->output()->replaceAllUsesWith(made);
      node->destroy();
   }
}

} // namespace Internal
} // namespace CladTorch
