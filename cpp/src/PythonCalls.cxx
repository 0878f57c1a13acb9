#include "PythonCalls.hxx"

#include <TError.h>
#include <TROOT.h>

#include <dlfcn.h>

namespace CladTorch {
namespace Internal {

namespace {

constexpr const char *kWithoutLock = R"py(
for name in "{names}".split():
    if hasattr(cls.__dict__[name], "__release_gil__"):  # one with a template is released overload by overload
        cls.__dict__[name].__release_gil__ = True
)py";

// Python's handler runs in its main thread only. Where it raises nothing, the call still has ended early.
constexpr const char *kRaisingKeyboardInterrupt = R"py(
import signal
def raising(method):
    def call(*args, **kwargs):
        import ROOT
        try:
            return method(*args, **kwargs)
        except ROOT.CladTorch.Interrupted as error:
            interrupted = error
        signal.raise_signal(signal.SIGINT)
        raise interrupted
    call.__doc__ = method.__doc__
    call.__name__ = method.__name__
    return call
for name in "{names}".split():
    kind = staticmethod if name in ("Load", "Read") else lambda function: function
    setattr(cls, name, kind(raising(getattr(cls, name))))
)py";

std::string With(std::string source, const std::string &names)
{
   const std::string key = "{names}";
   return source.replace(source.find(key), key.size(), names);
}

ErrorHandlerFunc_t gBefore = nullptr;

/// Whether this thread has Python's lock.
bool HasLock()
{
   static const auto check = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
   return check && check();
}

/// Waiting for the lock here could last for ever: ROOT may print with locks of its own held, for which the thread that has
/// Python's lock waits.
void Print(int level, Bool_t abort, const char *location, const char *message)
{
   (HasLock() ? gBefore : ::DefaultErrorHandler)(level, abort, location, message);
}

} // namespace

std::string WithoutLock(const std::string &names)
{
   return With(kWithoutLock, names);
}

std::string RaisingKeyboardInterrupt(const std::string &names)
{
   return With(kRaisingKeyboardInterrupt, names);
}

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
