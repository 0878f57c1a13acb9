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
/// itself ends the process on an exception (`root -b -q macro.C`). Not printed are the errors that a Functor, or a column
/// of Mlp::Define, has with an event: an event loop could print them for every event.
class Error : public std::runtime_error {
public:
   using std::runtime_error::runtime_error;
};

namespace Internal {

/// Prints `message` through `::Error(where, ...)` and throws it as CladTorch::Error.
[[noreturn]] void Report(const char *where, const std::string &message);

} // namespace Internal

} // namespace CladTorch

#endif
