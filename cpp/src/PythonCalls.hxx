/// \file PythonCalls.hxx
/// \brief Long calls from Python: without its lock, and with its Ctrl-C.

#ifndef CLADTORCH_PYTHONCALLS
#define CLADTORCH_PYTHONCALLS

#include <string>

namespace CladTorch {
namespace Internal {

/// Python source that lets the methods `names` (of the class `cls`, separated by blanks) run without Python's lock, so that
/// its other threads go on. To be run before anything wraps them.
std::string WithoutLock(const std::string &names);

/// Python source that makes Interrupted from the methods `names` what Python's handler of SIGINT makes of Ctrl-C:
/// KeyboardInterrupt, usually. To be run after all else that wraps them.
std::string RaisingKeyboardInterrupt(const std::string &names);

/// Lets other threads of Python use ROOT, and ROOT print what it has to say in a call without Python's lock: PyROOT's
/// handler of ROOT's messages makes Python warnings of them, which needs the lock.
void PrepareForThreads();

} // namespace Internal
} // namespace CladTorch

#endif
