/// \file LibraryFolder.hxx
/// \brief What lies beside the plugin, in the build folder as in an installation.

#ifndef CLADTORCH_LIBRARYFOLDER
#define CLADTORCH_LIBRARYFOLDER

#include <string>

namespace CladTorch {
namespace Internal {

/// Absolute path of the folder of `libcladtorch.so`, "" if the dynamic linker does not know it.
std::string LibraryFolder();

/// Makes the headers of LibTorch, in `folder`/include, known to the interpreter, and those C++ modules in `folder` that
/// belong to this ROOT and to these headers; reads CladTorch's headers.
void AddModules(const std::string &folder);

} // namespace Internal
} // namespace CladTorch

#endif
