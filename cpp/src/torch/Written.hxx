/// \file Written.hxx
/// \brief The tensors among the arguments of LibTorch's operators, and those that an operator changes in place.

#ifndef CLADTORCH_WRITTEN
#define CLADTORCH_WRITTEN

#include <CladTorch/Torch/LibTorch.hxx>

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <algorithm>

namespace CladTorch {
namespace Internal {

/// Whether both are in the same memory. Unlike LibTorch's is_alias_of() it does nothing that a watched storage refuses.
inline bool ShareMemory(const torch::Tensor &a, const torch::Tensor &b)
{
   return a.has_storage() && b.has_storage() && a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

/// The arguments of an operator, and below its results: LibTorch's interpreter of TorchScript shows its whole stack,
/// where these come last.
inline c10::ArrayRef<const c10::IValue> InputsOf(const at::RecordFunction &call)
{
   const auto inputs = call.inputs();
   const auto schema = call.operator_schema();
   const auto count = schema ? std::min(schema->arguments().size(), inputs.size()) : inputs.size();
   return c10::ArrayRef<const c10::IValue>(inputs.data() + (inputs.size() - count), count);
}

inline c10::ArrayRef<const c10::IValue> OutputsOf(const at::RecordFunction &call)
{
   const auto &outputs = call.outputs();
   const auto schema = call.operator_schema();
   const auto count = schema ? std::min(schema->returns().size(), outputs.size()) : outputs.size();
   return c10::ArrayRef<const c10::IValue>(outputs.data() + (outputs.size() - count), count);
}

/// Calls body(tensor) for the tensor that `argument` is, or for each of the list of tensors, some of which may be missing.
template <class Body>
void ForEachTensor(const c10::IValue &argument, Body body)
{
   if (argument.isTensor())
      body(argument.toTensor());
   else if (argument.isList())
      for (const c10::IValue &element : argument.toListRef())
         if (element.isTensor())
            body(element.toTensor());
}

/// Calls body(tensor) for each tensor of an operator's inputs that its schema says it writes to.
template <class Body>
void ForEachWritten(c10::ArrayRef<const c10::IValue> inputs, const c10::FunctionSchema &schema, Body body)
{
   const auto &arguments = schema.arguments();
   for (std::size_t i = 0; i < inputs.size() && i < arguments.size(); ++i) {
      const auto *alias = arguments[i].alias_info();
      if (alias && alias->isWrite())
         ForEachTensor(inputs[i], body);
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
