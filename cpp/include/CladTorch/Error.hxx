/// \file CladTorch/Error.hxx
/// \brief The one exception of CladTorch.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_ERROR
#define CLADTORCH_ERROR

#include <stdexcept>
#include <string>

namespace CladTorch {

/// The exception that every public function throws on an error.
///
/// The message names the cause (column, source, entry, shape, file or device), what was expected and what to do.
/// It is printed by ROOT's function Error before it is thrown, because ROOT ends the process on an uncaught exception
/// (`root -b -q macro.C`). Errors are not printed in Python, which shows the exception itself, nor if a Functor or a
/// column of Model::Define fails on an event, as an event loop could print them for every event.
class Error : public std::runtime_error {
public:
   using std::runtime_error::runtime_error;
};

/// Thrown by long calls after Ctrl-C (or `gROOT->SetInterrupt()`): the call has ended early, and dataset and model are
/// in a valid state.
///
/// The message has been printed by ROOT's function Warning. It ends a macro that does not catch it and
/// returns to the prompt; under `root -q` the session ends with exit code 130. In Python the methods raise
/// KeyboardInterrupt instead, or whatever Python's own handler of SIGINT raises.
class Interrupted : public Error {
public:
   using Error::Error;
};

namespace Internal {

/// Thrown by the code that notices Ctrl-C; Guard() catches it.
class Stopped : public std::runtime_error {
public:
   using std::runtime_error::runtime_error;
};

/// Prints `message` through `::Warning(where, ...)` and throws it as CladTorch::Interrupted.
[[noreturn]] void ReportInterrupt(const char *where, const std::string &message);

/// Throws `message` as CladTorch::Error, after printing it through `::Error(where, ...)` unless the process runs
/// Python.
[[noreturn]] void Report(const char *where, const std::string &message);

} // namespace Internal

} // namespace CladTorch

#endif
