// What PyROOT adds to our classes. Python's own functions are looked up at run time: the plugin is built without
// Python, and in root.exe nothing here runs.

#include <CladTorch/Dataset.hxx>
#include <CladTorch/FloatView.hxx>
#include <CladTorch/Mlp.hxx>

#include <dlfcn.h>

namespace {

/// Makes a view an array for NumPy, without a copy; NumPy keeps the view alive.
constexpr const char *kArrayInterface = R"(
def interface(self):
    shape = (self.Rows(), self.Columns()) if self.Rank() == 2 else (self.Rows(),)
    return {"version": 3, "typestr": "<f4", "shape": shape, "data": (int(self.Address()), True)}
cls.__array_interface__ = property(interface)
cls.__len__ = lambda self: int(self.Rows())
)";

/// Every node of a data frame's graph has a type of its own; C++ takes the one that stands for all.
constexpr const char *kAnyNode = R"(
def wrap(add):
    def any_node(self, first, *args, **kwargs):
        import ROOT
        if hasattr(type(first), "GetColumnType") and hasattr(type(first), "Count"):
            first = ROOT.RDF.AsRNode(first)
        return add(self, first, *args, **kwargs)
    any_node.__doc__ = add.__doc__
    return any_node
if "{method}" in cls.__dict__:
    cls.{method} = wrap(cls.{method})
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
    return fit(self, data, options)
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

std::string For(std::string source, const std::string &method)
{
   const std::string key = "{method}";
   for (auto at = source.find(key); at != std::string::npos; at = source.find(key, at))
      source.replace(at, key.size(), method);
   return source;
}

} // namespace

namespace CladTorch {

void FloatView::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   Run(kArrayInterface, pyclass);
}

void Dataset::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   Run(For(kAnyNode, "Add"), pyclass);
}

void Mlp::__cppyy_pythonize__(_object *pyclass, const std::string &)
{
   Run(For(kAnyNode, "Define"), pyclass);
   Run(kKeywords, pyclass);
}

} // namespace CladTorch
