/// \file Written.hxx
/// \brief What an operator of LibTorch changes in place.

#ifndef CLADTORCH_WRITTEN
#define CLADTORCH_WRITTEN

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

namespace CladTorch {
namespace Internal {

/// Calls body(argument) for each argument that the operator's schema says it writes to. The call has a schema.
template <class Body>
void ForEachWritten(const at::RecordFunction &call, Body body)
{
   const auto inputs = call.inputs();
   const auto &arguments = call.operator_schema()->arguments();
   for (std::size_t i = 0; i < inputs.size() && i < arguments.size(); ++i) {
      const auto *alias = arguments[i].alias_info();
      if (alias && alias->isWrite())
         body(inputs[i]);
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
