/// \file CladTorch/Guard.hxx
/// \brief Guard(), through which every public function runs: it turns exceptions into CladTorch::Error.

#ifndef CLADTORCH_GUARD
#define CLADTORCH_GUARD

#include <CladTorch/Error.hxx>

#include <exception>
#include <string>
#include <utility>

namespace CladTorch {
namespace Internal {

/// Describes the exception that `catch (...)` is handling: "the number 1", or the name of its type.
std::string DescribeThrown();

/// Runs `f`; whatever it throws (an error of the Rust core, of ROOT or of the standard library) is printed once
/// through ROOT's message service and arrives as CladTorch::Error.
/// \param where Class and method as ROOT prints them, "CladTorch::Model::Fit".
template <class F>
auto Guard(const char *where, F &&f) -> decltype(f())
{
   try {
      return std::forward<F>(f)();
   } catch (const Error &) {
      throw; // printed by the guard that made it
   } catch (const Stopped &e) {
      ReportInterrupt(where, e.what());
   } catch (const std::exception &e) {
      Report(where, e.what());
   } catch (...) {
      Report(where, DescribeThrown() + " was thrown");
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
