
#include <CladTorch/Guard.hxx>

#include <TError.h>

namespace CladTorch {
namespace Internal {

void Report(const char *where, const std::string &message)
{
   ::Error(where, "%s", message.c_str());
   throw Error(message);
}

} // namespace Internal
} // namespace CladTorch
