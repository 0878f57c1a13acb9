#include "Writes.hxx"

#include "Written.hxx"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

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

/// Operators that make a number of what tensors hold; item(), is_nonzero() and allclose() call the first.
bool ReadsNumbers(std::string_view name)
{
   return name == "aten::_local_scalar_dense" || name == "aten::equal";
}

/// What the values of a tensor follow.
struct Sources {
   bool fVaries = false; ///< inputs of floating point, of which an observation tries several values
   bool fStays = false;  ///< other inputs and captured tensors
};

/// \param inputs How many inputs of the trace are the function's.
void FindSources(const torch::jit::tracer::TracingState &trace, const torch::Tensor &tensor, std::size_t inputs, Sources &sources)
{
   if (!trace.hasValue(tensor)) {
      sources.fStays = true; // captured, and not met before
      return;
   }
   std::vector<const torch::jit::Value *> open{const_cast<torch::jit::tracer::TracingState &>(trace).getValue(tensor)};
   std::unordered_set<const torch::jit::Value *> seen;
   while (!open.empty()) {
      const auto *value = open.back();
      open.pop_back();
      if (!seen.insert(value).second)
         continue;
      const auto *node = value->node();
      const auto type = value->type()->cast<c10::TensorType>();
      if (node->kind() == torch::jit::prim::Param) {
         const bool varies = value->offset() < inputs && type && type->scalarType() && c10::isFloatingType(*type->scalarType());
         (varies ? sources.fVaries : sources.fStays) = true;
      } else if (node->kind() == torch::jit::prim::Constant) {
         sources.fStays = sources.fStays || type;
      }
      open.insert(open.end(), node->inputs().begin(), node->inputs().end());
   }
}

} // namespace

Writes::Writes(std::size_t inputs) : fInputs(inputs), fOuter(gInnermost)
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
   ForEachWritten(call, [&](const torch::Tensor &tensor) {
      if (!IsOwn(*trace, tensor) || gInnermost->Counts(tensor)) // what was changed once looks like its own
         gInnermost->Note(schema->name(), call.inputs(), tensor);
   });
   if (ReadsNumbers(schema->name()))
      gInnermost->NoteNumber(schema->name(), call.inputs());
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
   else if (fObstacle.empty())
      fObstacle = name + " changes an input or a captured tensor in place";
}

bool Writes::Counts(const torch::Tensor &tensor) const
{
   return std::any_of(fCounters.begin(), fCounters.end(),
                      [&](const Counter &counter) { return counter.fTensor.is_alias_of(tensor); });
}

void Writes::NoteNumber(const std::string &name, c10::ArrayRef<const c10::IValue> inputs)
{
   if (!fObstacle.empty() || (name == "aten::equal" && inputs[0].toTensor().is_same(inputs[1].toTensor())))
      return;
   const auto &trace = *torch::jit::tracer::getTracingState();
   Sources sources;
   for (const auto &input : inputs)
      ForEachTensor(input, [&](const torch::Tensor &tensor) { FindSources(trace, tensor, fInputs, sources); });
   if (sources.fVaries || !sources.fStays)
      return;
   const auto nodes = trace.graph->nodes();
   const auto before = std::count_if(nodes.begin(), nodes.end(), [](const auto *node) { return node->kind().is_aten(); });
   fObstacle = name + " before operator " + std::to_string(before + 1) + " reads a number out of a captured tensor, or out of " +
               "an input of whole numbers (item(), equal()), which may be another one at the next call: use the tensor itself";
}

std::vector<Counter> Writes::Counters(const TensorList &read) const
{
   if (!fObstacle.empty())
      throw Unobservable(fObstacle);
   for (const auto &counter : fCounters)
      for (const auto &tensor : read)
         if (tensor.is_alias_of(counter.fTensor))
            throw Unobservable("aten::add_ changes a captured tensor that the function reads");
   return fCounters;
}

} // namespace Internal
} // namespace CladTorch
