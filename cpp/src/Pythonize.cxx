// What PyROOT adds to our classes. Python's own functions are looked up at run time: the plugin is built without
// Python, and in root.exe nothing here runs.

#include <CladTorch/Dataset.hxx>
#include <CladTorch/Jagged.hxx>
#include <CladTorch/Mlp.hxx>
#include <CladTorch/Source.hxx>
#include <CladTorch/Stream.hxx>
#include <CladTorch/View.hxx>

#include "DLPack.hxx"
#include "PythonCalls.hxx"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace {

using CladTorch::Internal::DLManagedTensor;
using CladTorch::Internal::DLManagedTensorVersioned;

/// Makes a view an array for NumPy and a tensor for DLPack, without a copy; the taker keeps the memory alive.
/// A taker of DLPack before 1.0 cannot be told that the numbers are read only, so it gets a copy.
constexpr const char *kArrayInterface = R"py(
def interface(self):
    shape = (self.Rows(), self.Columns()) if self.Rank() == 2 else (self.Rows(),)
    return {"version": 3, "typestr": "{type}", "shape": shape, "data": (int(self.Address()), True)}
cls.__array_interface__ = property(interface)
cls.__len__ = lambda self: int(self.Rows())
def dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    if stream is not None or dl_device not in (None, (1, 0)):
        raise BufferError("a CladTorch view lies in host memory: ask for it there (dl_device (1, 0)) and move it")
    versioned = max_version is not None and max_version[0] >= 1
    if not versioned and copy is False:
        raise BufferError("a CladTorch view is read only, which DLPack before 1.0 cannot say: allow a copy, "
                          "or ask with max_version=(1, 0)")
    return self.DLPackCapsule(versioned, bool(copy) or not versioned)
cls.__dlpack__ = dlpack
cls.__dlpack_device__ = lambda self: (1, 0)
)py";

/// Every node of a data frame's graph has a type of its own; C++ takes the one that stands for all.
constexpr const char *kAnyNode = R"(
def wrap(method):
    def any_node(self, first, *args, **kwargs):
        import ROOT
        if hasattr(type(first), "GetColumnType") and hasattr(type(first), "Count"):
            first = ROOT.RDF.AsRNode(first)
        return method(self, first, *args, **kwargs)
    any_node.__doc__ = method.__doc__
    return any_node
if "{method}" in cls.__dict__:
    cls.{method} = wrap(cls.{method})
)";

/// The overload of these types alone: PyROOT goes on to the others after an exception, and then begins again, so that
/// work which failed late would be done twice, and every error printed twice and buried in a TypeError.
constexpr const char *kOverload = R"(
def overload(method, *types):
    for string in ("const string&", "const std::string&"):
        try:
            found = method.__overload__(", ".join(string if each == "string" else each for each in types))
            found.__release_gil__ = True  # what has overloads takes long
            return found
        except LookupError:
            pass
    return method
)";

/// What C++ takes as a Source on its own. With an implicit conversion PyROOT would hide the errors of C++.
constexpr const char *kAnySource = R"(
import numbers, types
add = cls.Add
def any_source(self, first, *args, **kwargs):
    import ROOT
    if any(isinstance(each, (types.FunctionType, types.MethodType)) for each in args):
        raise TypeError("a cut that is a Python function has to be a node of a data frame, as frame.Filter(f, ['x']) is")
    if not isinstance(first, (str, ROOT.CladTorch.Source)):
        first = ROOT.CladTorch.Source(first)
    source = ("string", "string") if isinstance(first, str) else ("const CladTorch::Source&",)
    label = args[len(source) - 1] if len(args) >= len(source) else None
    kind = "string" if isinstance(label, str) else "double" if isinstance(label, numbers.Real) else None
    if kind is None or kwargs or not all(isinstance(cut, str) for cut in args[len(source):]):
        return add(self, first, *args, **kwargs)
    return overload(add, *source, kind, "string")(self, first, *args)
any_source.__doc__ = add.__doc__
cls.Add = any_source
)";

/// for x, y, w in batches
constexpr const char *kIteration = R"(
def iteration(self):
    while self.Next():
        yield self.Features(), self.Labels(), self.Weights()
cls.__iter__ = iteration
)";

/// model.Fit(data, fEpochs=5) beside model.Fit(data, options).
constexpr const char *kKeywords = R"(
fit = cls.Fit
def with_keywords(self, data, options=None, **fields):
    import ROOT
    kind = ROOT.CladTorch.FitOptions
    options = kind() if options is None else kind(options)
    for name, value in fields.items():
        known = [field for field in dir(kind) if field[0] == "f" and field[1:2].isupper()]
        if name not in known:
            raise TypeError(f"CladTorch::FitOptions has no field '{name}'; it has {', '.join(known)}")
        try:
            setattr(options, name, value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"CladTorch::FitOptions::{name} cannot be {value!r}: {error}") from None
    kind = "Stream" if isinstance(data, ROOT.CladTorch.Stream) else "Dataset"
    return overload(fit, f"const CladTorch::{kind}&", "const CladTorch::FitOptions&")(self, data, options)
with_keywords.__doc__ = fit.__doc__
cls.Fit = with_keywords
)";

template <class F>
F Python(const char *name)
{
   return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

/// Runs `source` with the class as `cls`. PyROOT calls with the interpreter's lock held; an error of the source is
/// printed, and the class stays as it was.
void Run(const std::string &source, _object *pyclass)
{
   constexpr int kFileInput = 257; // Py_file_input
   const auto newDict = Python<_object *(*)()>("PyDict_New");
   const auto setItem = Python<int (*)(_object *, const char *, _object *)>("PyDict_SetItemString");
   const auto builtins = Python<_object *(*)()>("PyEval_GetBuiltins");
   const auto run = Python<_object *(*)(const char *, int, _object *, _object *)>("PyRun_String");
   const auto release = Python<void (*)(_object *)>("Py_DecRef");
   const auto printError = Python<void (*)()>("PyErr_Print");
   if (!newDict || !setItem || !builtins || !run || !release || !printError)
      return;
   _object *globals = newDict();
   setItem(globals, "__builtins__", builtins());
   setItem(globals, "cls", pyclass);
   if (_object *result = run(source.c_str(), kFileInput, globals, globals))
      release(result);
   else
      printError();
   release(globals);
}

/// `source` with `value` for every `key`.
std::string With(std::string source, const std::string &key, const std::string &value)
{
   for (auto at = source.find(key); at != std::string::npos; at = source.find(key, at + value.size()))
      source.replace(at, key.size(), value);
   return source;
}

/// NumPy's name for T in the order of this machine's bytes.
template <class T>
std::string TypeString()
{
   return (std::is_integral<T>::value ? "<i" : "<f") + std::to_string(sizeof(T));
}

/// Runs when Python drops a capsule: one that was taken has another name.
template <class Managed>
void DropCapsule(_object *capsule, const char *name)
{
   const auto pointer = Python<void *(*)(_object *, const char *)>("PyCapsule_GetPointer");
   const auto isValid = Python<int (*)(_object *, const char *)>("PyCapsule_IsValid");
   if (!isValid(capsule, name))
      return;
   auto *managed = static_cast<Managed *>(pointer(capsule, name));
   managed->deleter(managed);
}

_object *Capsule(void *managed, const char *name, void (*drop)(_object *))
{
   return Python<_object *(*)(void *, const char *, void (*)(_object *))>("PyCapsule_New")(managed, name, drop);
}

constexpr const char *kVersioned = "dltensor_versioned";
constexpr const char *kLegacy = "dltensor";

} // namespace

namespace CladTorch {

using namespace Internal;

template <class T>
void View<T>::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   Run(With(kArrayInterface, "{type}", TypeString<T>()), pyclass);
}

template <class T>
_object *View<T>::DLPackCapsule(bool versioned, bool copied) const
{
   if (versioned)
      return Capsule(ExportVersioned(*this, copied), kVersioned,
                     [](_object *capsule) { DropCapsule<DLManagedTensorVersioned>(capsule, kVersioned); });
   return Capsule(ExportCopy(*this), kLegacy,
                  [](_object *capsule) { DropCapsule<DLManagedTensor>(capsule, kLegacy); });
}

template class View<float>;
template class View<double>;
template class View<std::int64_t>;

namespace {
/// Runs `source` between what the class's methods `names`, which may take long, need before and after it.
void RunWithLongCalls(const std::string &source, const std::string &names, _object *pyclass)
{
   PrepareForThreads();
   Run(WithoutLock(names), pyclass);
   Run(source, pyclass);
   Run(RaisingKeyboardInterrupt(names), pyclass);
}
} // namespace

void Dataset::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   RunWithLongCalls(std::string(kOverload) + kAnySource, "Add Balance Split", pyclass);
}

void Stream::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   RunWithLongCalls(std::string(kOverload) + kAnySource, "Add", pyclass);
}

void Batches::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   RunWithLongCalls(kIteration, "Next", pyclass);
}

template <class T>
void Jagged<T>::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   RunWithLongCalls("", "Read Padded", pyclass);
}

template void Jagged<float>::__cppyy_pythonize__(_object *, const std::string &);
template void Jagged<double>::__cppyy_pythonize__(_object *, const std::string &);
template void Jagged<std::int64_t>::__cppyy_pythonize__(_object *, const std::string &);

void Source::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   Run(With(kAnyNode, "{method}", "__init__"), pyclass);
}

void Mlp::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   RunWithLongCalls(With(kAnyNode, "{method}", "Define") + kOverload + kKeywords,
                    "__init__ Fit Predict Logits Auc AucError Roc Scores DrawScores Save Load", pyclass);
}

} // namespace CladTorch
