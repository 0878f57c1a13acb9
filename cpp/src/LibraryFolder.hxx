/// \file LibraryFolder.hxx
/// \brief What lies beside the plugin, in the build folder as in an installation.

#ifndef CLADTORCH_LIBRARYFOLDER
#define CLADTORCH_LIBRARYFOLDER

#include <string>

namespace CladTorch {
namespace Internal {

/// Absolute path of the folder of `libcladtorch.so`, "" if the dynamic linker does not know it.
std::string LibraryFolder();

/// Makes LibTorch's headers known to the interpreter: those in `folder`/include, and from the C++ module in `folder`
/// where that belongs to this ROOT and to these headers.
void AddLibTorch(const std::string &folder);

} // namespace Internal
} // namespace CladTorch

#endif
