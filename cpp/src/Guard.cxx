
#include <CladTorch/Guard.hxx>

#include "Text.hxx"

#include <TError.h>

namespace CladTorch {
namespace Internal {

void Report(const char *where, const std::string &message)
{
   const auto shown = ShownMessage(message); // names in it come from files
   ::Error(where, "%s", shown.c_str());
   throw Error(shown);
}

} // namespace Internal
} // namespace CladTorch
