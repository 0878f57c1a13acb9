#include "Python.hxx"

#include <TError.h>
#include <TROOT.h>

#include <algorithm>

namespace CladTorch {
namespace Internal {

namespace {

/// Functions of Python's C interface.
struct PythonCalls {
   using Dict_t = _object *(*)();
   using SetItem_t = int (*)(_object *, const char *, _object *);
   using GetItem_t = _object *(*)(_object *, const char *);
   using Compile_t = _object *(*)(const char *, const char *, int);
   using Evaluate_t = _object *(*)(_object *, _object *, _object *);
   using Call_t = _object *(*)(_object *, const char *, ...);
   using Release_t = void (*)(_object *);
   using Print_t = void (*)();

   Dict_t fNewDict = PythonFunction<Dict_t>("PyDict_New");
   Dict_t fBuiltins = PythonFunction<Dict_t>("PyEval_GetBuiltins");
   SetItem_t fSetItem = PythonFunction<SetItem_t>("PyDict_SetItemString");
   GetItem_t fGetItem = PythonFunction<GetItem_t>("PyDict_GetItemString");
   Compile_t fCompile = PythonFunction<Compile_t>("Py_CompileString");
   Evaluate_t fEvaluate = PythonFunction<Evaluate_t>("PyEval_EvalCode");
   Call_t fCall = PythonFunction<Call_t>("PyObject_CallFunction");
   Release_t fRelease = PythonFunction<Release_t>("Py_DecRef");
   Print_t fPrintError = PythonFunction<Print_t>("PyErr_Print");

   bool Complete() const
   {
      return fNewDict && fBuiltins && fSetItem && fGetItem && fCompile && fEvaluate && fCall && fRelease && fPrintError;
   }
   /// Drops a result; if there is none, prints the error.
   bool Done(_object *result) const
   {
      result ? fRelease(result) : fPrintError();
      return result != nullptr;
   }
};

/// The names that the files of the folder `python` define, or null after an error, which is printed.
_object *RunSources(const PythonCalls &python)
{
   constexpr int kFileInput = 257; // Py_file_input
   _object *globals = python.fNewDict();
   python.fSetItem(globals, "__builtins__", python.fBuiltins());
   for (auto source = kPythonSources; source->fName; ++source) {
      const auto path = std::string("<CladTorch>/") + source->fName;
      _object *code = python.fCompile(source->fText, path.c_str(), kFileInput);
      _object *result = code ? python.fEvaluate(code, globals, globals) : nullptr;
      if (code)
         python.fRelease(code);
      if (!python.Done(result))
         return nullptr;
   }
   return globals;
}

ErrorHandlerFunc_t gBefore = nullptr;

/// Whether this thread has Python's lock.
bool HasLock()
{
   static const auto check = PythonFunction<int (*)()>("PyGILState_Check");
   return check && check();
}

/// Waiting for the lock here could last for ever: ROOT may print while it holds its own locks, for which the thread
/// with Python's lock waits.
void Print(int level, Bool_t abort, const char *location, const char *message)
{
   (HasLock() ? gBefore : ::DefaultErrorHandler)(level, abort, location, message);
}

/// Lets other threads of Python use ROOT, and lets ROOT print during a call without Python's lock: PyROOT's handler
/// turns ROOT's messages into Python warnings, which needs the lock.
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

/// Whether Python was started as JupyROOT's kernel for C++ (`-m ROOT._jupyroot.kernel.rootkernel`), which silently
/// drops the exceptions of its cells.
bool IsCppKernel()
{
   const auto arguments = PythonFunction<void (*)(int *, wchar_t ***)>("Py_GetArgcArgv");
   int count = 0;
   wchar_t **texts = nullptr;
   if (arguments)
      arguments(&count, &texts);
   const auto names = [](const std::wstring &text) { return text.find(L"kernel.rootkernel") != std::wstring::npos; };
   return std::any_of(texts, texts + count, names);
}

} // namespace

bool InPython()
{
   static const bool showsExceptions = !IsCppKernel();
   const auto initialised = PythonFunction<int (*)()>("Py_IsInitialized");
   return initialised && initialised() && showsExceptions;
}

void Pythonize(_object *pyclass, const std::string &name)
{
   static const PythonCalls python;
   if (!python.Complete())
      return;
   PrepareForThreads();
   static _object *const globals = RunSources(python);
   if (globals)
      python.Done(python.fCall(python.fGetItem(globals, "pythonize"), "Os", pyclass, name.c_str()));
}

} // namespace Internal
} // namespace CladTorch
