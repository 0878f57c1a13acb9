#include "Writes.hxx"

#include "Written.hxx"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>

namespace CladTorch {
namespace Internal {

namespace {

/// LibTorch's callbacks are plain functions.
thread_local Writes *gInnermost = nullptr;

/// Whether the traced function made the tensor, or that of which it is a view.
bool IsOwn(const torch::jit::tracer::TracingState &trace, const torch::Tensor &tensor)
{
   const auto base = tensor.is_view() ? torch::Tensor(tensor._base()) : tensor;
   if (!trace.hasValue(base))
      return false;
   const auto kind = const_cast<torch::jit::tracer::TracingState &>(trace).getValue(base)->node()->kind();
   return kind != torch::jit::prim::Constant && kind != torch::jit::prim::Param;
}

} // namespace

Writes::Writes() : fOuter(gInnermost)
{
   gInnermost = this;
   auto callback = at::RecordFunctionCallback(&BeforeOperator).needsInputs(true).scopes({at::RecordScope::FUNCTION});
   fHandle = at::addThreadLocalCallback(callback);
}

Writes::~Writes()
{
   at::removeCallback(fHandle);
   gInnermost = fOuter;
}

std::unique_ptr<at::ObserverContext> Writes::BeforeOperator(const at::RecordFunction &call)
{
   const auto schema = call.operator_schema();
   const auto trace = torch::jit::tracer::getTracingState();
   // Inside an operator nothing is traced.
   if (!schema || !gInnermost || !trace || c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Tracer))
      return nullptr;
   ForEachWritten(call, [&](const c10::IValue &argument) {
      if (argument.isTensor() && !IsOwn(*trace, argument.toTensor()))
         gInnermost->Note(schema->name(), call.inputs(), argument.toTensor());
   });
   return nullptr;
}

void Writes::Note(const std::string &name, c10::ArrayRef<const c10::IValue> inputs, const torch::Tensor &changed)
{
   const auto is = [&](std::size_t i) { return inputs.size() > i && inputs[i].isInt(); };
   // What the trace knows is an input, or read before.
   const bool known = torch::jit::tracer::getTracingState()->hasValue(changed);
   if (name == "aten::add_" && is(1) && is(2) && !known &&
       at::isIntegralType(changed.scalar_type(), false))
      fCounters.push_back({changed, inputs[1].toInt() * inputs[2].toInt()});
   else if (fOther.empty())
      fOther = name;
}

std::vector<Counter> Writes::Counters(const TensorList &read) const
{
   if (!fOther.empty())
      throw Unobservable(fOther + " changes an input or a captured tensor in place");
   for (const auto &counter : fCounters)
      for (const auto &tensor : read)
         if (tensor.is_alias_of(counter.fTensor))
            throw Unobservable("aten::add_ changes a captured tensor that the function reads");
   return fCounters;
}

} // namespace Internal
} // namespace CladTorch
