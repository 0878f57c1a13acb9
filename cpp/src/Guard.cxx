#include <CladTorch/Guard.hxx>

#include "Interrupt.hxx"
#include "Python.hxx"
#include "Text.hxx"
#include "Unprinted.hxx"

#include <TError.h>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

namespace CladTorch {
namespace Internal {

thread_local int Unprinted::fgCount = 0;

std::string DescribeThrown()
{
   try {
      throw;
   } catch (int number) {
      return "the number " + std::to_string(number);
   } catch (double number) {
      return "the number " + std::to_string(number);
   } catch (const char *text) {
      return std::string("the text '") + (text ? text : "") + "'";
   } catch (const std::string &text) {
      return "the text '" + text + "'";
   } catch (...) {
      const auto *type = abi::__cxa_current_exception_type();
      int failed = 0;
      const std::unique_ptr<char, void (*)(void *)> name(
         type ? abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed) : nullptr, std::free);
      return name && !failed ? "a value of type " + std::string(name.get()) : "an exception of unknown type";
   }
}

void Report(const char *where, const std::string &message)
{
   const auto shown = ShownMessage(message); // names in it come from files
   if (!InPython() && !Unprinted::IsActive())
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
