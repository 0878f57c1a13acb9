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
///
/// A wheel has none in `folder`: it makes that of CladTorch's headers here, in the user's cache, unless it exists.
void AddModules(const std::string &folder);

/// Makes the C++ modules of LibTorch's headers for a plugin that came without them, and lets the interpreter use them.
void MakeTorchModules();

/// Prints an error if the plugin was built for another ROOT or LibTorch than those of this process.
void CheckVersions();

} // namespace Internal
} // namespace CladTorch

#endif
