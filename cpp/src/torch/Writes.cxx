#include "Writes.hxx"

#include "Written.hxx"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>

namespace CladTorch {
namespace Internal {

namespace {

/// LibTorch's callbacks are plain functions.
thread_local Writes *gInnermostWrites = nullptr;

/// Whether the traced function made the tensor, or the tensor that it views.
bool IsOwn(const torch::jit::tracer::TracingState &trace, const torch::Tensor &tensor)
{
   const auto base = tensor.is_view() ? torch::Tensor(tensor._base()) : tensor;
   if (!trace.hasValue(base))
      return false;
   const auto kind = const_cast<torch::jit::tracer::TracingState &>(trace).getValue(base)->node()->kind();
   return kind != torch::jit::prim::Constant && kind != torch::jit::prim::Param;
}

} // namespace

Writes::Writes() : fOuter(gInnermostWrites)
{
   gInnermostWrites = this;
   if (!fOuter) // one callback serves all scopes
      fHandle = at::addThreadLocalCallback(
         at::RecordFunctionCallback(&BeforeOperator).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

Writes::~Writes()
{
   if (!fOuter)
      at::removeCallback(fHandle);
   gInnermostWrites = fOuter;
}

std::unique_ptr<at::ObserverContext> Writes::BeforeOperator(const at::RecordFunction &call)
{
   const auto schema = call.operator_schema();
   const auto trace = torch::jit::tracer::getTracingState();
   // Inside an operator nothing is traced.
   if (!schema || !gInnermostWrites || !trace || c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Tracer))
      return nullptr;
   try {
      ForEachWritten(InputsOf(call), *schema, [&](const torch::Tensor &tensor) {
         if (!IsOwn(*trace, tensor) || gInnermostWrites->Counts(tensor)) // what was changed once looks like its own
            gInnermostWrites->Note(schema->name(), InputsOf(call), tensor);
      });
   } catch (const std::exception &e) { // LibTorch would ignore the exception
      gInnermostWrites->fObstacle = "CladTorch does not know what " + std::string(schema->name()) + " changes: " + e.what();
   }
   return nullptr;
}

void Writes::Note(const std::string &name, c10::ArrayRef<const c10::IValue> inputs, const torch::Tensor &changed)
{
   const auto is = [&](std::size_t i) { return inputs.size() > i && inputs[i].isInt(); };
   // A tensor that the trace knows is an input, or was read or counted up before.
   const bool known = torch::jit::tracer::getTracingState()->hasValue(changed) && !Counts(changed);
   // Module::to(dtype) makes the counters of its normalisations floating-point too.
   if (name == "aten::add_" && is(1) && is(2) && !known && !changed.is_complex() && changed.scalar_type() != torch::kBool)
      fCounters.push_back({changed, inputs[1].toInt() * inputs[2].toInt()});
   else if (fObstacle.empty())
      fObstacle = name + " changes an input or a captured tensor in place";
}

bool Writes::Counts(const torch::Tensor &tensor) const
{
   return std::any_of(fCounters.begin(), fCounters.end(),
                      [&](const Counter &counter) { return ShareMemory(counter.fTensor, tensor); });
}

std::vector<Counter> Writes::Counters(const TensorList &read) const
{
   if (!fObstacle.empty())
      throw Unobservable(fObstacle);
   for (const auto &counter : fCounters)
      for (const auto &tensor : read)
         if (ShareMemory(tensor, counter.fTensor))
            throw Unobservable("it reads a captured number that it counts up itself, as batch normalisation does that averages over "
                              "all batches (momentum nullopt)");
   return fCounters;
}

} // namespace Internal
} // namespace CladTorch
