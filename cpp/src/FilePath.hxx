/// \file FilePath.hxx
/// \brief Names of files that CladTorch itself writes and reads.

#ifndef CLADTORCH_FILEPATH
#define CLADTORCH_FILEPATH

#include <string>

namespace CladTorch {
namespace Internal {

/// `path` with a leading `~` or `~user` replaced by that home folder, as ROOT does for its files. Throws for an empty one.
/// Environment variables are not expanded: ROOT passes them to a shell, and a file name is not code.
std::string FilePath(const std::string &path);

} // namespace Internal
} // namespace CladTorch

#endif
