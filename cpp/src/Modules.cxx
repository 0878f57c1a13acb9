/// \file Modules.cxx
/// \brief Headers at the prompt: the C++ modules that were made when the plugin was built.

#include "LibraryFolder.hxx"

#include <TInterpreter.h>
#include <TROOT.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace CladTorch {
namespace Internal {

namespace {

std::string Text(const std::string &path)
{
   std::ifstream file(path);
   return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Lets the interpreter use the module `name` in `folder`, if it is whole and was made by this ROOT from these headers,
/// of which `versions` tells. Clang itself would stop with an error, or believe it (see cmake/StampModule.cmake, which
/// writes the stamp).
bool AddModule(const std::string &folder, const std::string &name, const std::string &versions)
{
   std::error_code missing;
   const auto size = std::filesystem::file_size(folder + "/" + name + ".pcm", missing);
   if (missing || Text(folder + "/" + name + ".stamp") != std::to_string(size) + "\n" + versions)
      return false;
   gInterpreter->RegisterPrebuiltModulePath(folder, name + ".modulemap");
   return true;
}

} // namespace

void AddModules(const std::string &folder)
{
   const auto headers = folder + "/include";
   std::error_code missing;
   gInterpreter->AddIncludePath(std::filesystem::path(folder).parent_path().c_str()); // Load.hxx looks for it
   gInterpreter->AddIncludePath(headers.c_str());
   gInterpreter->AddIncludePath((headers + "/torch/csrc/api/include").c_str());
   const auto root = Text((TROOT::GetEtcDir() + "/gitinfo.txt").Data());
   const auto libtorch = Text(headers + "/torch/headeronly/version.h");
   const bool ours = AddModule(folder, "CladTorch", root);
   // LibTorch.hxx says that it will be slow where there is no module.
   if (AddModule(folder, "LibTorch", root + libtorch) && ours)
      AddModule(folder, "CladTorchTorch", root + libtorch);
   // Now rather than at the first use, which may be in a declaration that fails: ROOT would undo what it declares.
   if (std::filesystem::exists(folder + "/../../include/CladTorch/Headers.hxx", missing))
      gInterpreter->Declare("#include <CladTorch/Headers.hxx>");
}

} // namespace Internal
} // namespace CladTorch
