#include "Preserve.hxx"

#include "Written.hxx"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <string_view>

namespace CladTorch {
namespace Internal {

namespace {

/// LibTorch's callbacks are plain functions.
thread_local Preserve *gInnermost = nullptr;

/// Operators that update running statistics without saying so in their schema.
bool WritesSilently(std::string_view name)
{
   return name.find("batch_norm") != std::string_view::npos || name.find("instance_norm") != std::string_view::npos;
}

} // namespace

Preserve::Preserve() : fOuter(gInnermost)
{
   auto generator = at::detail::getDefaultCPUGenerator();
   const std::lock_guard<std::mutex> lock(generator.mutex());
   fRandomState = generator.get_state();
   gInnermost = this;
   auto callback = at::RecordFunctionCallback(&BeforeOperator).needsInputs(true).scopes({at::RecordScope::FUNCTION});
   fHandle = at::addThreadLocalCallback(callback);
}

Preserve::~Preserve()
{
   at::removeCallback(fHandle);
   gInnermost = fOuter;
   const torch::NoGradGuard withoutGradients;
   for (auto &[key, kept] : fKept)
      if (kept.first.use_count() > 1) // else nobody has it any more
         kept.first.copy_(kept.second);
   auto generator = at::detail::getDefaultCPUGenerator();
   const std::lock_guard<std::mutex> lock(generator.mutex());
   generator.set_state(fRandomState);
}

std::unique_ptr<at::ObserverContext> Preserve::BeforeOperator(const at::RecordFunction &call)
{
   const auto schema = call.operator_schema();
   if (!schema || !gInnermost)
      return nullptr;
   if (WritesSilently(schema->name()))
      for (const auto &input : call.inputs())
         gInnermost->Keep(input);
   ForEachWritten(call, [](const c10::IValue &argument) { gInnermost->Keep(argument); });
   return nullptr;
}

void Preserve::Keep(const c10::IValue &argument)
{
   if (!argument.isTensor() || !argument.toTensor().defined())
      return;
   const auto &tensor = argument.toTensor();
   if (fKept.count(tensor.unsafeGetTensorImpl()))
      return;
   const at::RecordFunctionGuard unobserved(false);
   const torch::NoGradGuard withoutGradients;
   const auto resume = torch::jit::tracer::pauseTracing();
   fKept.emplace(tensor.unsafeGetTensorImpl(), std::make_pair(tensor, tensor.detach().clone()));
   resume();
}

} // namespace Internal
} // namespace CladTorch
