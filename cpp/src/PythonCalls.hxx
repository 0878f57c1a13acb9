/// \file PythonCalls.hxx
/// \brief Long calls from Python without its lock.

#ifndef CLADTORCH_PYTHONCALLS
#define CLADTORCH_PYTHONCALLS

namespace CladTorch {
namespace Internal {

/// Lets other threads of Python use ROOT, and ROOT print what it has to say in a call without Python's lock: PyROOT's
/// handler of ROOT's messages makes Python warnings of them, which needs the lock.
void PrepareForThreads();

} // namespace Internal
} // namespace CladTorch

#endif
