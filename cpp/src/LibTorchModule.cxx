/// \file LibTorchModule.cxx
/// \brief LibTorch's headers at the prompt, quickly: the C++ module that was made when the plugin was built.

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

/// Whether the module in `folder` is whole and was made by this ROOT from these headers. Clang itself would stop with an
/// error, or believe it (see cmake/StampModule.cmake, which writes the stamp).
bool ModuleFits(const std::string &folder)
{
   std::error_code missing;
   const auto size = std::filesystem::file_size(folder + "/LibTorch.pcm", missing);
   if (missing)
      return false;
   const auto root = Text((TROOT::GetEtcDir() + "/gitinfo.txt").Data());
   const auto libtorch = Text(folder + "/include/torch/headeronly/version.h");
   return Text(folder + "/LibTorch.stamp") == std::to_string(size) + "\n" + root + libtorch;
}

} // namespace

void AddLibTorch(const std::string &folder)
{
   const auto headers = folder + "/include";
   gInterpreter->AddIncludePath(std::filesystem::path(folder).parent_path().c_str()); // Load.hxx looks for it
   gInterpreter->AddIncludePath(headers.c_str());
   gInterpreter->AddIncludePath((headers + "/torch/csrc/api/include").c_str());
   // LibTorch.hxx says that it will be slow where there is no module.
   if (ModuleFits(folder))
      gInterpreter->RegisterPrebuiltModulePath(folder, "cladtorch.modulemap");
}

} // namespace Internal
} // namespace CladTorch
