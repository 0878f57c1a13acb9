#include "Roundings.hxx"

#include "Network.hxx"
#include "Written.hxx"

#include <algorithm>
#include <array>
#include <string_view>

namespace CladTorch {
namespace Internal {

namespace {

thread_local Roundings *gInnermostRoundings = nullptr;

bool IsInteger(at::ScalarType type)
{
   return c10::isIntegralType(type, /*includeBool=*/false);
}

/// The argument whose fractions a call drops; null: it drops none.
const c10::IValue *Rounds(std::string_view name, c10::ArrayRef<const c10::IValue> inputs)
{
   constexpr std::array<std::string_view, 9> kRounding = {"aten::floor", "aten::floor_", "aten::ceil",   "aten::ceil_",        "aten::round",
                                                          "aten::round_", "aten::trunc", "aten::trunc_", "aten::floor_divide"};
   if (std::find(kRounding.begin(), kRounding.end(), name) != kRounding.end())
      return &inputs[0];
   if (name == "aten::_to_copy") // every conversion calls it
      return inputs.size() > 1 && inputs[1].isInt() && IsInteger(static_cast<at::ScalarType>(inputs[1].toInt())) ? &inputs[0] : nullptr;
   if (name == "aten::copy_")
      return inputs[0].isTensor() && IsInteger(inputs[0].toTensor().scalar_type()) ? &inputs[1] : nullptr;
   const auto isMode = [](const c10::IValue &input) { return input.isString(); };
   if ((name == "aten::div" || name == "aten::div_") && std::any_of(inputs.begin(), inputs.end(), isMode))
      return &inputs[0];
   return nullptr;
}

/// The elements of `tensor` as [events, _], by event; undefined if no dimension counts the events.
torch::Tensor ByEvents(const torch::Tensor &tensor, std::int64_t events)
{
   for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
      if (tensor.size(dim) == events)
         return tensor.movedim(dim, 0).reshape({events, -1});
   const bool isFlat = tensor.dim() > 0 && tensor.size(0) > 0 && tensor.size(0) % events == 0;
   return isFlat ? tensor.reshape({events, -1}) : torch::Tensor();
}

} // namespace

Roundings::Roundings() : fOuter(gInnermostRoundings)
{
   gInnermostRoundings = this;
   fHandle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&BeforeOperator).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

Roundings::~Roundings()
{
   at::removeCallback(fHandle);
   gInnermostRoundings = fOuter;
}

std::unique_ptr<at::ObserverContext> Roundings::BeforeOperator(const at::RecordFunction &call)
{
   const auto inputs = InputsOf(call);
   if (!gInnermostRoundings || inputs.empty())
      return nullptr;
   const auto *rounded = Rounds(call.name(), inputs);
   if (rounded && rounded->isTensor() && rounded->toTensor().defined() && rounded->toTensor().is_floating_point() &&
       !rounded->toTensor().requires_grad()) {
      const at::RecordFunctionGuard unobserved(false);
      gInnermostRoundings->fRounded.push_back(rounded->toTensor().detach().clone()); // the function may change it
   }
   return nullptr;
}

rust::Vec<bool> WholeFeatures(const Network &network)
{
   // Numbers from 0 to 1, as in the events of an observation.
   constexpr double kUsual = 0.25, kOther = 0.75;
   constexpr std::int64_t kTogether = 512;
   const auto events = network.Events(2);
   const auto inputs = events[0].numel();
   std::vector<char> whole(inputs, false);
   const auto isRounded = !network.Rounded(events).empty();
   for (std::int64_t first = 0; isRounded && first < inputs; first += kTogether) {
      const auto count = std::min(kTogether, inputs - first);
      // The first event is the reference, each other one differs in one value.
      auto changed = torch::full({count + 1, inputs}, kUsual, torch::kFloat32);
      changed.narrow(0, 1, count).narrow(1, first, count).diagonal().fill_(kOther);
      auto sizes = events.sizes().vec();
      sizes[0] = count + 1;
      for (const auto &rounded : network.Rounded(changed.reshape(sizes))) {
         const auto rows = ByEvents(rounded, count + 1);
         if (!rows.defined() || rows.size(1) == 0)
            continue;
         const auto differs = ((rows != rows[0]) & ~(rows.isnan() & rows[0].isnan())).any(1).contiguous();
         for (std::int64_t i = 0; i < count; ++i)
            whole[first + i] |= differs.data_ptr<bool>()[i + 1];
      }
   }
   rust::Vec<bool> result;
   for (const bool each : whole)
      result.push_back(each);
   return result;
}

} // namespace Internal
} // namespace CladTorch
