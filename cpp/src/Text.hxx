/// \file Text.hxx
/// \brief Text from files and users, made safe to show.

#ifndef CLADTORCH_TEXT
#define CLADTORCH_TEXT

#include "cladtorch/src/bridge/files.rs.h"
#include "rust/cxx.h"

#include <cstdint>
#include <string>

namespace CladTorch {
namespace Internal {

inline rust::Slice<const std::uint8_t> Bytes(const std::string &text)
{
   return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

/// A name on one line: control and invisible characters are escaped, the middle of a long name is left out.
inline std::string ShownName(const std::string &name)
{
   return std::string(Core::text_name(Bytes(name)));
}

/// A message: the same, but its lines stay; those after the first are indented.
inline std::string ShownMessage(const std::string &message)
{
   return std::string(Core::text_message(Bytes(message)));
}

} // namespace Internal
} // namespace CladTorch

#endif
