/// \file Python.hxx
/// \brief What PyROOT adds to the public classes: Python of the folder `python`, part of the library.
///
/// Python's own functions are looked up at run time: the plugin is built without Python, and in root.exe nothing here
/// runs.

#ifndef CLADTORCH_PYTHON
#define CLADTORCH_PYTHON

#include <dlfcn.h>

#include <string>

struct _object;

namespace CladTorch {
namespace Internal {

/// A file of the folder `python`.
struct PythonSource {
   const char *fName;
   const char *fText;
};

/// All of them, in the order in which they run; the last has no name.
extern const PythonSource kPythonSources[];

/// Python's function `name`, or null without Python.
template <class F>
F PythonFunction(const char *name)
{
   return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

/// Whether the process runs a Python that itself shows the message of an exception.
bool InPython();

/// Gives the class `name` its additions from classes.py. PyROOT calls it with the interpreter's lock held; an error is
/// printed, and the class is unchanged.
void Pythonize(_object *pyclass, const std::string &name);

} // namespace Internal
} // namespace CladTorch

#endif
