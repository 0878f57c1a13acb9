/// \file CladTorch/Error.hxx
/// \brief The one exception of CladTorch.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_ERROR
#define CLADTORCH_ERROR

#include <stdexcept>
#include <string>

namespace CladTorch {

/// What every public function throws when it cannot do what was asked.
///
/// The message names the thing (column, source, entry, shape, file or device), what was expected and what to do.
/// It has been printed through ROOT's `::Error` before it is thrown, so that it is the first thing seen where ROOT
/// itself ends the process on an exception (`root -b -q macro.C`). Not printed are errors in Python, which shows the
/// exception itself, and the errors that a Functor, or a column
/// of Mlp::Define, has with an event: an event loop could print them for every event.
class Error : public std::runtime_error {
public:
   using std::runtime_error::runtime_error;
};

/// What a long call throws after Ctrl-C (or `gROOT->SetInterrupt()`): it has ended early, and what it worked on is whole.
///
/// The message has been printed through ROOT's `::Warning`. At the prompt it brings you back there. A macro that does not
/// catch it ends: under `root -q` the session, too, with exit code 130; otherwise the prompt comes. In Python the methods
/// raise KeyboardInterrupt in its stead, or whatever Python's own handler of SIGINT does.
class Interrupted : public Error {
public:
   using Error::Error;
};

namespace Internal {

/// On its way from the code that noticed Ctrl-C to Guard().
class Stopped : public std::runtime_error {
public:
   using std::runtime_error::runtime_error;
};

/// Prints `message` through `::Warning(where, ...)` and throws it as CladTorch::Interrupted.
[[noreturn]] void ReportInterrupt(const char *where, const std::string &message);

/// Throws `message` as CladTorch::Error, after printing it through `::Error(where, ...)` unless the process runs Python.
[[noreturn]] void Report(const char *where, const std::string &message);

} // namespace Internal

} // namespace CladTorch

#endif
