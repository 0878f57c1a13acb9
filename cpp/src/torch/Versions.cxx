/// \file Versions.cxx
/// \brief Tells whether ROOT and LibTorch of this process are those that the plugin was built for.

#include "LibraryFolder.hxx"

#include <RVersion.h>
#include <TError.h>
#include <TROOT.h>

#include <torch/headeronly/version.h>

#include <dlfcn.h>

#include <cstdint>
#include <fstream>
#include <string>

extern "C" std::int32_t aoti_torch_device_type_cpu();

namespace CladTorch {
namespace Internal {

namespace {

/// "6.40" of "6.40.00" and of "6.40/00": versions with one binary interface.
std::string Line(const std::string &version)
{
   const auto end = version.find_first_of("./", version.find('.') + 1);
   return version.substr(0, end);
}

/// The version in the version header in `include`, or "".
std::string VersionIn(const std::string &include)
{
   std::ifstream file(include + "/torch/headeronly/version.h");
   std::string version;
   for (std::string define, name, value; file >> define;)
      if (define == "#define" && file >> name && name.rfind("TORCH_VERSION_", 0) == 0 && name != "TORCH_VERSION_ABI_TAG" &&
          file >> value)
         version += (version.empty() ? "" : ".") + value;
   return version;
}

/// The folder of the loaded LibTorch.
std::string LoadedLibTorch()
{
   Dl_info info{};
   if (!dladdr(reinterpret_cast<const void *>(&aoti_torch_device_type_cpu), &info) || !info.dli_fname)
      return "";
   return info.dli_fname;
}

void Refuse(const char *what, const std::string &wanted, const std::string &found)
{
   ::Error("CladTorch", "libcladtorch was built for %s %s, but this process has %s: results may be wrong and the session may "
                        "end; install a CladTorch for it, or %s %s",
           what, wanted.c_str(), found.c_str(), what, wanted.c_str());
}

} // namespace

void CheckVersions()
{
   const std::string root = gROOT->GetVersion();
   if (Line(root) != Line(ROOT_RELEASE))
      Refuse("ROOT", ROOT_RELEASE, "ROOT " + root);
   const auto library = LoadedLibTorch();
   const auto folder = library.substr(0, library.rfind('/') + 1);
   auto libtorch = VersionIn(folder + "../include");
   if (libtorch.empty())
      libtorch = VersionIn(folder + "include"); // an installation of its own
   if (!libtorch.empty() && Line(libtorch) != Line(TORCH_VERSION))
      Refuse("LibTorch", TORCH_VERSION, library + " of LibTorch " + libtorch);
}

} // namespace Internal
} // namespace CladTorch
