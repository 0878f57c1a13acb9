/// \file Written.hxx
/// \brief The tensors among the arguments of LibTorch's operators, and those that an operator changes in place.

#ifndef CLADTORCH_WRITTEN
#define CLADTORCH_WRITTEN

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

namespace CladTorch {
namespace Internal {

/// Calls body(tensor) for the tensor that `argument` is, or for each of the list of tensors.
template <class Body>
void ForEachTensor(const c10::IValue &argument, Body body)
{
   if (argument.isTensor())
      body(argument.toTensor());
   else if (argument.isTensorList())
      for (const auto &tensor : argument.toTensorVector())
         body(tensor);
}

/// Calls body(tensor) for each tensor that the operator's schema says it writes to. The call has a schema.
template <class Body>
void ForEachWritten(const at::RecordFunction &call, Body body)
{
   const auto inputs = call.inputs();
   const auto &arguments = call.operator_schema()->arguments();
   for (std::size_t i = 0; i < inputs.size() && i < arguments.size(); ++i) {
      const auto *alias = arguments[i].alias_info();
      if (alias && alias->isWrite())
         ForEachTensor(inputs[i], body);
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
