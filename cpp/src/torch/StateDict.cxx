#include "StateDict.hxx"

#include "Observe.hxx"
#include "Written.hxx"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace CladTorch {
namespace Internal {

namespace {

/// The element type in a file of weights; none: it has none for complex and quantised elements.
std::optional<Core::EElement> Element(torch::ScalarType type)
{
   switch (type) {
   case torch::kBool: return Core::EElement::Bool;
   case torch::kUInt8: return Core::EElement::U8;
   case torch::kInt8: return Core::EElement::I8;
   case torch::kInt16: return Core::EElement::I16;
   case torch::kInt32: return Core::EElement::I32;
   case torch::kInt64: return Core::EElement::I64;
   case torch::kFloat16: return Core::EElement::F16;
   case torch::kBFloat16: return Core::EElement::BF16;
   case torch::kFloat32: return Core::EElement::F32;
   case torch::kFloat64: return Core::EElement::F64;
   default: return std::nullopt;
   }
}

rust::Vec<std::uint8_t> Bytes(const torch::Tensor &tensor)
{
   const auto dense = tensor.detach().contiguous();
   return Core::copied_bytes({static_cast<const std::uint8_t *>(dense.data_ptr()), dense.nbytes()});
}

/// Whether it is the count of batches that PyTorch keeps with running statistics; nothing is computed from it.
bool CountsBatches(const std::string &name)
{
   const std::string ending = "num_batches_tracked";
   return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

/// Adds a tensor, unless its elements are part of another one or no file supports their type.
void Add(rust::Vec<Core::StateSpec> &specs, const std::string &name, const torch::Tensor &tensor, bool isBuffer,
         const PlacedTensors &placed, bool knowsAll)
{
   const auto element = tensor.defined() ? Element(tensor.scalar_type()) : std::nullopt;
   if (!element)
      return;
   const auto &[tensors, places, counters, shapes] = placed;
   auto held = Core::EHeld::Kept;
   std::size_t start = 0;
   bool isUsed = !knowsAll && !CountsBatches(name);
   for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!ShareMemory(tensors[i], tensor))
         continue;
      isUsed = true;
      if (!SamePlace(tensors[i], tensor)) {
         if (places[i].kind != kFixed)
            return;
         continue;
      }
      start = places[i].start;
      if (places[i].kind != kFixed)
         held = places[i].kind == kParameter ? Core::EHeld::Parameters : Core::EHeld::State;
      break;
   }
   rust::Vec<std::size_t> shape;
   std::copy(tensor.sizes().begin(), tensor.sizes().end(), std::back_inserter(shape));
   auto bytes = held == Core::EHeld::Kept ? Bytes(tensor) : rust::Vec<std::uint8_t>();
   specs.push_back({name, std::move(shape), isBuffer, held, start, isUsed, *element, std::move(bytes)});
}

} // namespace

rust::Vec<Core::StateSpec> StateDict(const torch::nn::Module &module, const PlacedTensors &placed, bool knowsAll)
{
   rust::Vec<Core::StateSpec> specs;
   for (const auto &parameter : module.named_parameters())
      Add(specs, parameter.key(), parameter.value(), false, placed, knowsAll);
   for (const auto &buffer : module.named_buffers())
      Add(specs, buffer.key(), buffer.value(), true, placed, knowsAll);
   return specs;
}

} // namespace Internal
} // namespace CladTorch
