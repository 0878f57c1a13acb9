#include <CladTorch/Guard.hxx>

#include "Interrupt.hxx"
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

void ReportInterrupt(const char *where, const std::string &message)
{
   ::Warning(where, "%s", message.c_str());
   EndMacroWhereUncaught();
   throw Interrupted(message);
}

} // namespace Internal
} // namespace CladTorch
