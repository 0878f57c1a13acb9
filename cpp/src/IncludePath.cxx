/// \file IncludePath.cxx
/// \brief Makes `#include <CladTorch/...>` work at the prompt as soon as the plugin is loaded.
///
/// The headers lie in `include` beside the plugin's own folder, so nobody has to set ROOT_INCLUDE_PATH.

#include <TInterpreter.h>

#include <dlfcn.h>

#include <string>

namespace {

/// `<prefix>/include` for `<prefix>/lib/libcladtorch.so`, "" if the dynamic linker does not know where that is.
std::string HeaderFolder()
{
   Dl_info info{};
   if (!dladdr(reinterpret_cast<const void *>(&HeaderFolder), &info) || !info.dli_fname)
      return "";
   const std::string library = info.dli_fname;
   const auto slash = library.rfind('/');
   return (slash == std::string::npos ? "." : library.substr(0, slash)) + "/../include";
}

/// Runs while the plugin is loaded, ahead of the dictionary (priority 101 is the first that is not reserved): the
/// interpreter looks for the headers when the dictionary registers, and remembers it if they are not found.
[[gnu::constructor(101)]] void AddHeaderFolder()
{
   const auto folder = HeaderFolder();
   if (!folder.empty())
      gInterpreter->AddIncludePath(folder.c_str());
}

} // namespace
