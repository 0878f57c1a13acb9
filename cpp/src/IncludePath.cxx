/// \file IncludePath.cxx
/// \brief Makes `#include <CladTorch/...>` work at the prompt as soon as the plugin is loaded.
///
/// The headers are in `include` beside the plugin's own folder, so that users need not set ROOT_INCLUDE_PATH.

#include "LibraryFolder.hxx"

#include <TInterpreter.h>

#include <dlfcn.h>

#include <filesystem>

namespace CladTorch {
namespace Internal {

std::string LibraryFolder()
{
   Dl_info info{};
   if (!dladdr(reinterpret_cast<const void *>(&LibraryFolder), &info) || !info.dli_fname)
      return "";
   std::error_code failed;
   return std::filesystem::absolute(info.dli_fname, failed).parent_path().string();
}

} // namespace Internal
} // namespace CladTorch

namespace {

/// Runs while the plugin is loaded, before the dictionary (priority 101 is the first that is not reserved): the
/// interpreter looks for the headers when the dictionary registers, and remembers it if they are not found.
[[gnu::constructor(101)]] void AddHeaderFolders()
{
   const auto folder = CladTorch::Internal::LibraryFolder();
   if (folder.empty())
      return;
   gInterpreter->AddIncludePath((folder + "/../include").c_str());
   CladTorch::Internal::CheckVersions();
   CladTorch::Internal::AddModules(folder + "/cladtorch");
}

} // namespace
