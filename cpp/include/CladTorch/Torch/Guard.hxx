/// \file CladTorch/Torch/Guard.hxx
/// \brief What LibTorch throws, as CladTorch::Error.

#ifndef CLADTORCH_TORCH_GUARD
#define CLADTORCH_TORCH_GUARD

#include <CladTorch/Error.hxx>
#include <CladTorch/Torch/LibTorch.hxx>

#include <exception>
#include <string>
#include <utility>

namespace CladTorch {
namespace Internal {

/// Runs `f`; an exception of LibTorch (without the list of addresses that comes with it) or of the standard library is
/// printed once through ROOT's message service and arrives as CladTorch::Error.
/// \param where Function as ROOT prints it, "CladTorch::Compile".
template <class F>
auto TorchGuard(const char *where, F &&f) -> decltype(f())
{
   try {
      return std::forward<F>(f)();
   } catch (const Error &) {
      throw; // printed by the guard that made it
   } catch (const c10::Error &e) {
      Report(where, e.what_without_backtrace());
   } catch (const std::exception &e) {
      Report(where, e.what());
   } catch (...) {
      Report(where, "an exception of unknown type was thrown");
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
