/// \file torch/Pythonize.cxx
/// \brief The functions that PyROOT calls when it meets a class that needs LibTorch's headers.

#include <CladTorch/Torch/Compile.hxx>

#include "Python.hxx"

namespace CladTorch {

void Compiled::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Internal::Pythonize(pyclass, name);
}

void CompileOptions::__cppyy_pythonize__(_object *pyclass, const std::string &name)
{
   Internal::Pythonize(pyclass, name);
}

} // namespace CladTorch
