#include "InPlace.hxx"

#include "Recorded.hxx"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Sizes = std::vector<std::int64_t>;

/// The position of a view in the tensor that it views.
struct Link {
   enum EKind {
      kSlice,   ///< fNumbers: dimension, first element, end, step
      kSelect,  ///< fNumbers: dimension, element
      kPermute, ///< fNumbers: the order of the dimensions
      kReshape, ///< to fSizes
      kExpand   ///< to fSizes: elements share memory
   };
   EKind fKind;
   Sizes fNumbers;
   Sizes fSizes; ///< of the view
};

/// The memory, and the part of it, that a tensor shows.
struct Place {
   std::size_t fMemory;
   std::vector<Link> fLinks;
   std::size_t fVersion; ///< of the memory when the tensor was computed
};

/// Memory that an operator allocated.
struct Memory {
   Value *fNow; ///< its whole contents, after the changes so far
   std::size_t fVersion = 0;
   bool fShared = false; ///< by a tensor whose part of it is unknown
};

std::optional<Sizes> SizesOf(const Value &value)
{
   const auto type = value.type()->cast<c10::TensorType>();
   return type && type->scalarType() ? type->sizes().concrete_sizes() : std::nullopt;
}

std::optional<Sizes> Integers(const Value &value)
{
   const auto constant = torch::jit::toIValue(&value);
   if (constant && constant->isIntList())
      return constant->toIntVector();
   if (constant && constant->isInt())
      return Sizes{constant->toInt()};
   return std::nullopt;
}

/// The whole number that is argument `index`, or `missing` if it is None.
std::optional<std::int64_t> Integer(const Node &node, std::size_t index, std::optional<std::int64_t> missing = std::nullopt)
{
   const auto constant = torch::jit::toIValue(node.input(index));
   if (constant && constant->isInt())
      return constant->toInt();
   return constant && constant->isNone() ? missing : std::nullopt;
}

bool AreOfOneType(const Value *a, const Value *b)
{
   return a->type()->expectRef<c10::TensorType>().scalarType() == b->type()->expectRef<c10::TensorType>().scalarType();
}

std::int64_t FromStart(std::int64_t number, std::int64_t size)
{
   return number < 0 ? number + size : number;
}

/// The view of its first argument, of shape `from`, that a node with one result returns; nothing if it may not be a
/// view.
std::optional<Link> LinkOf(const Node &node, const Sizes &from)
{
   const std::string_view name = node.kind().is_aten() ? node.kind().toUnqualString() : "";
   const auto to = SizesOf(*node.output());
   const auto rank = static_cast<std::int64_t>(from.size());
   if (!to || !AreOfOneType(node.input(0), node.output()))
      return std::nullopt;
   if (name == "view" || name == "unsqueeze" || name == "squeeze" || name == "unflatten")
      return Link{Link::kReshape, {}, *to};
   if (name == "expand")
      return Link{Link::kExpand, {}, *to};
   if (name == "alias")
      return Link{Link::kReshape, {}, from};
   if (name == "t" && rank == 2)
      return Link{Link::kPermute, {1, 0}, *to};
   if (name == "permute") {
      auto order = Integers(*node.input(1));
      if (order)
         for (auto &dim : *order)
            dim = FromStart(dim, rank);
      return order ? std::optional<Link>({Link::kPermute, *order, *to}) : std::nullopt;
   }
   const bool hasDimension = name == "transpose" || name == "select" || name == "slice" || name == "narrow";
   const auto dim = hasDimension ? Integer(node, 1, 0) : std::nullopt;
   if (!dim || rank == 0)
      return std::nullopt;
   const auto first = FromStart(*dim, rank), size = from.at(static_cast<std::size_t>(first));
   if (name == "transpose") {
      const auto other = Integer(node, 2);
      Sizes order;
      for (std::int64_t i = 0; i < rank; ++i)
         order.push_back(i);
      if (other)
         std::swap(order.at(static_cast<std::size_t>(first)), order.at(static_cast<std::size_t>(FromStart(*other, rank))));
      return other ? std::optional<Link>({Link::kPermute, order, *to}) : std::nullopt;
   }
   if (name == "select") {
      const auto index = Integer(node, 2);
      return index ? std::optional<Link>({Link::kSelect, {first, FromStart(*index, size)}, *to}) : std::nullopt;
   }
   if (name == "slice") {
      const auto start = Integer(node, 2, 0), end = Integer(node, 3, size), step = Integer(node, 4, 1);
      if (!start || !end || !step)
         return std::nullopt;
      const auto clipped = [&](std::int64_t number) { return std::clamp(FromStart(number, size), std::int64_t(0), size); };
      return Link{Link::kSlice, {first, clipped(*start), std::max(clipped(*start), clipped(*end)), *step}, *to};
   }
   if (name == "narrow") {
      const auto start = Integer(node, 2), length = Integer(node, 3);
      if (!start || !length)
         return std::nullopt;
      const auto begin = FromStart(*start, size);
      return Link{Link::kSlice, {first, begin, begin + *length, 1}, *to};
   }
   return std::nullopt;
}

bool IsRandom(const c10::FunctionSchema &schema)
{
   const auto handle = c10::Dispatcher::singleton().findSchema(schema.operator_name());
   return !handle || handle->hasTag(at::Tag::nondeterministic_seeded);
}

/// Operators whose out-of-place form returns another type than the tensor that they change.
bool Compares(std::string_view name)
{
   constexpr std::array names{"eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal"};
   return name.substr(0, 8) == "logical_" || std::find(names.begin(), names.end(), name) != names.end();
}

/// Operators whose result has the type of their first argument, whatever the types of the others.
bool KeepsType(std::string_view name)
{
   constexpr std::array names{"masked_fill", "masked_scatter", "index_put", "index_add", "index_fill", "index_copy", "scatter", "scatter_add"};
   return std::find(names.begin(), names.end(), name) != names.end();
}

class Functional {
public:
   explicit Functional(Graph &graph) : fGraph(graph) {}

   void Run()
   {
      for (auto it = fGraph.nodes().begin(); it != fGraph.nodes().end();) {
         Node *node = *it++;
         const torch::jit::WithInsertPoint here(node);
         for (std::size_t i = 0; i < node->inputs().size(); ++i)
            if (auto *now = Refreshed(node->input(i)))
               node->replaceInput(i, now);
         if (const auto *schema = node->maybeSchema(); schema && Writes(*schema))
            Change(*node);
         else
            Follow(*node);
      }
      const torch::jit::WithInsertPoint end(fGraph.return_node());
      for (std::size_t i = 0; i < fGraph.outputs().size(); ++i)
         if (auto *now = Refreshed(fGraph.outputs()[i]))
            fGraph.return_node()->replaceInput(i, now);
   }

private:
   static bool Writes(const c10::FunctionSchema &schema)
   {
      const auto &arguments = schema.arguments();
      return std::any_of(arguments.begin(), arguments.end(), [](const auto &argument) {
         return argument.alias_info() && argument.alias_info()->isWrite();
      });
   }

   Place *Find(const Value *value)
   {
      const auto known = fPlaces.find(value);
      return known == fPlaces.end() ? nullptr : &known->second;
   }

   /// The tensor's present value, if that is another value; otherwise null.
   Value *Refreshed(const Value *value)
   {
      const auto *place = Find(value);
      if (!place || place->fVersion == fMemories[place->fMemory].fVersion)
         return nullptr;
      const auto known = *place;
      return Shown(known.fMemory, known.fLinks, known.fLinks.size());
   }

   /// The first `count` links of a view of the memory.
   Value *Shown(std::size_t memory, const std::vector<Link> &links, std::size_t count)
   {
      auto *value = fMemories[memory].fNow;
      for (std::size_t i = 0; i < count; ++i)
         value = Applied(links[i], value);
      Know(value, {memory, {links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count)}, fMemories[memory].fVersion});
      return value;
   }

   void Know(const Value *value, Place place) { fPlaces.insert_or_assign(value, std::move(place)); }

   Value *Numbers(const Sizes &numbers) { return fGraph.insertConstant(numbers); }

   /// Inserts a node of one tensor of that shape, and of the type of `like`.
   Value *Insert(const char *name, const std::vector<Value *> &inputs, const Sizes &sizes, const Value &like)
   {
      auto *node = fGraph.insertNode(fGraph.create(c10::Symbol::aten(name), inputs));
      const auto &type = like.type()->expectRef<c10::TensorType>();
      node->output()->setType(c10::TensorType::createContiguous(*type.scalarType(), *type.device(), sizes));
      return node->output();
   }

   Value *Applied(const Link &link, Value *value)
   {
      const auto number = [&](std::size_t i) { return fGraph.insertConstant(link.fNumbers[i]); };
      switch (link.fKind) {
      case Link::kSlice: return Insert("slice", {value, number(0), number(1), number(2), number(3)}, link.fSizes, *value);
      case Link::kSelect: return Insert("select", {value, number(0), number(1)}, link.fSizes, *value);
      case Link::kPermute: return Insert("permute", {value, Numbers(link.fNumbers)}, link.fSizes, *value);
      case Link::kReshape: return Insert("reshape", {value, Numbers(link.fSizes)}, link.fSizes, *value);
      case Link::kExpand: break;
      }
      return Insert("expand", {value, Numbers(link.fSizes), fGraph.insertConstant(false)}, link.fSizes, *value);
   }

   /// `whole` with `part` in the place that the link shows.
   Value *PutBack(const Link &link, Value *whole, Value *part)
   {
      const auto sizes = *SizesOf(*whole);
      const auto number = [&](std::size_t i) { return fGraph.insertConstant(link.fNumbers[i]); };
      if (link.fKind == Link::kSlice)
         return Insert("slice_scatter", {whole, part, number(0), number(1), number(2), number(3)}, sizes, *whole);
      if (link.fKind == Link::kSelect)
         return Insert("select_scatter", {whole, part, number(0), number(1)}, sizes, *whole);
      if (link.fKind == Link::kReshape)
         return Insert("reshape", {part, Numbers(sizes)}, sizes, *whole);
      Sizes back(link.fNumbers.size());
      for (std::size_t i = 0; i < back.size(); ++i)
         back[static_cast<std::size_t>(link.fNumbers[i])] = static_cast<std::int64_t>(i);
      return Insert("permute", {part, Numbers(back)}, sizes, *whole);
   }

   /// fill_diagonal_() has no out-of-place form: a masked fill with a mask of the diagonal replaces it.
   Value *FilledDiagonal(const Node &node, const Sizes &sizes)
   {
      auto *changed = node.input(0);
      const auto wraps = torch::jit::toIValue(node.input(2));
      if (!wraps)
         return nullptr;
      const auto device = *changed->type()->expectRef<c10::TensorType>().device();
      const auto diagonal = at::zeros(sizes, at::kBool).fill_diagonal_(1, wraps->toBool()).to(device);
      return Insert("masked_fill", {changed, fGraph.insertConstant(diagonal), node.input(1)}, sizes, *changed);
   }

   /// The node that makes a new tensor with the value that `node` would write to its first argument; null if none is
   /// known.
   Value *Remade(Node &node)
   {
      auto *changed = node.input(0);
      const auto sizes = SizesOf(*changed);
      const auto name = WithoutUnderscore(node);
      if (name == c10::Symbol() || node.outputs().size() != 1 || !sizes || SizesOf(*node.output()) != sizes)
         return nullptr;
      const std::string_view plain = name.toUnqualString();
      auto *none = plain == "fill" || plain == "zero" ? fGraph.insertConstant(c10::IValue()) : nullptr;
      if (plain == "zero")
         return Insert("zeros_like", {changed, none, none, none, none, none}, *sizes, *changed);
      if (plain == "fill_diagonal")
         return FilledDiagonal(node, *sizes);
      if (plain == "fill" && !node.input(1)->type()->isSubtypeOf(*c10::TensorType::get()))
         return Insert("full_like", {changed, node.input(1), none, none, none, none, none}, *sizes, *changed);
      if (plain == "copy" || plain == "fill")
         return HaveOneType(node) ? Insert("expand_as", {node.input(1), changed}, *sizes, *changed) : nullptr;
      if (Compares(plain) || !(KeepsType(plain) || HaveOneType(node)))
         return nullptr;
      auto *made = fGraph.create(name, node.inputs())->copyMetadata(&node);
      const auto *schema = made->maybeSchema();
      if (!schema || schema->returns().size() != 1 || schema->returns()[0].alias_info() || IsRandom(*schema)) {
         made->destroy();
         return nullptr;
      }
      fGraph.insertNode(made)->output()->setType(node.output()->type());
      return made->output();
   }

   void Change(Node &node)
   {
      const auto *known = Find(node.input(0));
      if (!known || fMemories[known->fMemory].fShared)
         return;
      const auto place = *known;
      const auto isShared = [](const Link &link) { return link.fKind == Link::kExpand; };
      if (std::any_of(place.fLinks.begin(), place.fLinks.end(), isShared))
         return;
      auto *made = Remade(node);
      if (!made)
         return;
      auto *whole = made;
      for (std::size_t i = place.fLinks.size(); i-- > 0;)
         whole = PutBack(place.fLinks[i], Shown(place.fMemory, place.fLinks, i), whole);
      auto &memory = fMemories[place.fMemory];
      memory.fNow = whole;
      ++memory.fVersion;
      Know(whole, {place.fMemory, {}, memory.fVersion});
      Know(made, {place.fMemory, place.fLinks, memory.fVersion});
      node.output()->replaceAllUsesWith(made);
      node.destroy();
   }

   /// Records the memory that the results of an operator without changes show.
   void Follow(Node &node)
   {
      if (node.kind() == torch::jit::prim::ListUnpack)
         return Unpack(node);
      if (IsSpeltOut(node))
         return; // operators that take the list may return its elements
      const auto *schema = node.maybeSchema();
      const auto returns = [&](std::size_t i) { return schema && i < schema->returns().size() ? &schema->returns()[i] : nullptr; };
      for (std::size_t i = 0; i < node.outputs().size(); ++i) {
         const auto *result = returns(i);
         if (result && !result->alias_info()) {
            if (SizesOf(*node.outputs()[i])) {
               fMemories.push_back({node.outputs()[i]});
               Know(node.outputs()[i], {fMemories.size() - 1, {}, 0});
            }
         } else if (!FollowView(node)) {
            Share(node);
         }
      }
   }

   bool FollowView(const Node &node)
   {
      const auto *place = node.inputs().empty() ? nullptr : Find(node.input(0));
      if (!place || node.outputs().size() != 1)
         return false;
      if (node.output()->type()->kind() == c10::TypeKind::ListType)
         return IsTakenApart(node);
      const auto sizes = SizesOf(*node.input(0));
      const auto link = sizes ? LinkOf(node, *sizes) : std::nullopt;
      if (!link)
         return false;
      auto of = *place;
      of.fLinks.push_back(*link);
      Know(node.output(), std::move(of));
      return true;
   }

   /// Whether the node returns a list of parts whose elements are known when it is unpacked.
   static bool IsTakenApart(const Node &node)
   {
      const std::string_view name = node.kind().is_aten() ? node.kind().toUnqualString() : "";
      const auto &uses = node.output()->uses();
      return (name == "unbind" || name == "split" || name == "split_with_sizes" || name == "chunk" || name == "unsafe_chunk" ||
              name == "unsafe_split") &&
             Integer(node, name == "unbind" ? 1 : 2).has_value() && uses.size() == 1 &&
             uses[0].user->kind() == torch::jit::prim::ListUnpack;
   }

   void Unpack(Node &node)
   {
      const auto &parts = *node.input(0)->node();
      const auto *place = parts.inputs().empty() ? nullptr : Find(parts.input(0));
      const auto from = parts.inputs().empty() ? std::nullopt : SizesOf(*parts.input(0));
      if (!place || !from || !IsTakenApart(parts))
         return;
      const auto whole = *place;
      const bool single = parts.kind() == c10::Symbol::aten("unbind");
      const auto dim = FromStart(*Integer(parts, single ? 1 : 2), static_cast<std::int64_t>(from->size()));
      std::int64_t start = 0;
      for (std::size_t i = 0; i < node.outputs().size(); ++i) {
         const auto sizes = SizesOf(*node.outputs()[i]);
         if (!sizes)
            return;
         const auto end = start + (single ? 1 : sizes->at(static_cast<std::size_t>(dim)));
         auto part = whole;
         part.fLinks.push_back(single ? Link{Link::kSelect, {dim, start}, *sizes} : Link{Link::kSlice, {dim, start, end, 1}, *sizes});
         Know(node.outputs()[i], std::move(part));
         start = end;
      }
   }

   /// Marks the memory of the node's inputs: other tensors may show it now.
   void Share(const Node &node)
   {
      for (const auto *input : node.inputs()) {
         if (const auto *place = Find(input))
            fMemories[place->fMemory].fShared = true;
         if (input->node()->kind() == torch::jit::prim::ListConstruct)
            Share(*input->node());
      }
   }

   Graph &fGraph;
   std::vector<Memory> fMemories;
   std::unordered_map<const Value *, Place> fPlaces;
};

} // namespace

c10::Symbol WithoutUnderscore(const Node &node)
{
   const std::string name = node.kind().is_aten() ? node.kind().toUnqualString() : "";
   const bool inPlace = name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
   return inPlace ? c10::Symbol::aten(name.substr(0, name.size() - 1)) : c10::Symbol();
}

bool HaveOneType(const Node &node)
{
   std::optional<c10::ScalarType> found;
   for (const auto *input : node.inputs())
      if (const auto type = input->type()->cast<c10::TensorType>()) {
         if (!type->scalarType() || (found && *found != *type->scalarType()))
            return false;
         found = type->scalarType();
      }
   return found.has_value();
}

void ReplaceChangesInPlace(Graph &graph)
{
   Functional(graph).Run();
}

} // namespace Internal
} // namespace CladTorch
