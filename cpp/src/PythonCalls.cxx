#include "PythonCalls.hxx"

#include "Python.hxx"

#include <TError.h>
#include <TROOT.h>

namespace CladTorch {
namespace Internal {

namespace {

ErrorHandlerFunc_t gBefore = nullptr;

/// Whether this thread has Python's lock.
bool HasLock()
{
   static const auto check = PythonFunction<int (*)()>("PyGILState_Check");
   return check && check();
}

/// Waiting for the lock here could last for ever: ROOT may print with locks of its own held, for which the thread that has
/// Python's lock waits.
void Print(int level, Bool_t abort, const char *location, const char *message)
{
   (HasLock() ? gBefore : ::DefaultErrorHandler)(level, abort, location, message);
}

} // namespace

void PrepareForThreads()
{
   static const bool once = [] {
      ROOT::EnableThreadSafety();
      gBefore = ::GetErrorHandler();
      ::SetErrorHandler(Print);
      return true;
   }();
   static_cast<void>(once);
}

} // namespace Internal
} // namespace CladTorch
