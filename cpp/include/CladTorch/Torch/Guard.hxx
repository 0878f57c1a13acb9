/// \file CladTorch/Torch/Guard.hxx
/// \brief LibTorch's exceptions as CladTorch::Error.

#ifndef CLADTORCH_TORCH_GUARD
#define CLADTORCH_TORCH_GUARD

#include <CladTorch/Guard.hxx>
#include <CladTorch/Torch/LibTorch.hxx>

#include <stdexcept>
#include <utility>

namespace CladTorch {
namespace Internal {

/// Guard() for code that calls LibTorch: removes the stack trace from its exceptions.
template <class F>
auto TorchGuard(const char *where, F &&f) -> decltype(f())
{
   return Guard(where, [&]() -> decltype(f()) {
      try {
         return std::forward<F>(f)();
      } catch (const c10::Error &e) {
         throw std::runtime_error(e.what_without_backtrace());
      }
   });
}

} // namespace Internal
} // namespace CladTorch

#endif
