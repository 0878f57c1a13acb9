/// \file Modules.cxx
/// \brief Headers at the prompt: C++ modules that were made when the plugin was built or, for a wheel, at first use.

#include "LibraryFolder.hxx"

#include <TError.h>
#include <TInterpreter.h>
#include <TROOT.h>

#include "cladtorch/src/bridge/interpreter.rs.h"

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

std::string Text(const std::string &path)
{
   std::ifstream file(path);
   return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool Exists(const std::string &path)
{
   std::error_code missing;
   return std::filesystem::exists(path, missing);
}

/// A module of headers; its stamp records what it was made from.
struct Module {
   const char *fName;
   const char *fHeader;
   std::initializer_list<const char *> fUses; ///< modules that it takes headers from
};

// Constants, because AddModules runs before variables of the plugin are initialised.
constexpr Module kOurs{"CladTorch", "CladTorch/Headers.hxx", {}};
constexpr Module kLibTorch{"LibTorch", "CladTorch/Torch/LibTorch.hxx", {}};
constexpr Module kOursOfTorch{"CladTorchTorch", "CladTorch/Torch/Headers.hxx", {"CladTorch", "LibTorch"}};

/// The modules for one plugin, this ROOT and this LibTorch.
class ModuleFolder {
public:
   /// `folder` is beside the plugin.
   explicit ModuleFolder(const std::string &folder)
      : fFolder(folder), fLibTorch(folder + "/include"), fIsWheel(Exists(folder + "/first_use.h"))
   {
      if (fIsWheel)
         OpenCache();
      fRootVersion = Text((TROOT::GetEtcDir() + "/gitinfo.txt").Data());
      fVersions = fRootVersion + Text(fLibTorch + "/torch/headeronly/version.h");
   }

   void AddIncludePaths() const
   {
      // Load.hxx and Torch.hxx look for entries of both.
      for (const auto &folder : {fBeside, fFolder})
         if (!folder.empty())
            gInterpreter->AddIncludePath(std::filesystem::path(folder).parent_path().c_str());
      gInterpreter->AddIncludePath(fLibTorch.c_str());
      gInterpreter->AddIncludePath((fLibTorch + "/torch/csrc/api/include").c_str());
   }

   /// Lets the interpreter use the existing modules; makes the small one of CladTorch's own headers if necessary.
   void Add()
   {
      Make(kOurs, fRootVersion);
      fHasOurs = Add(kOurs, fRootVersion);
      AddTorch();
   }

   /// Makes the modules of LibTorch if the plugin came without them.
   void MakeTorch()
   {
      if (fHasTorch || !fHasOurs)
         return;
      Make(kLibTorch, fVersions);
      Make(kOursOfTorch, fVersions);
      AddTorch();
   }

private:
   std::string fFolder, fLibTorch, fBeside, fRootVersion, fVersions;
   bool fIsWheel = false, fHasOurs = false, fHasTorch = false;

   /// A wheel is installed in ROOT's folder, beside LibTorch's, and has its modules in the user's cache.
   void OpenCache()
   {
      fBeside = fFolder;
      fFolder.clear();
      fLibTorch = std::filesystem::path(fBeside + "/../../../torch/include").lexically_normal().string();
      try {
         const std::vector<std::string> marks{RootCling(), (TROOT::GetSharedLibDir() + "/libCling.so").Data(),
                                              fLibTorch + "/../lib/libtorch_cpu.so"};
         const std::vector<rust::String> names(marks.begin(), marks.end());
         fFolder = std::string(Core::modules_folder(fBeside, TROOT::GetIncludeDir().Data(), fLibTorch,
                                                    {names.data(), names.size()}));
         fLibTorch = fFolder + "/include";
      } catch (const std::exception &error) {
         ::Warning("CladTorch", "ROOT reads headers slowly and may not survive typing errors, because their C++ modules "
                                "cannot be kept: %s", error.what());
      }
   }

   static std::string RootCling() { return (TROOT::GetBinDir() + "/rootcling").Data(); }

   void Make(const Module &module, const std::string &versions) const
   {
      if (!fIsWheel || fFolder.empty() || IsWhole(module, versions))
         return;
      try {
         const std::vector<rust::String> uses(module.fUses.begin(), module.fUses.end());
         Core::modules_make(fFolder, module.fName, module.fHeader, {uses.data(), uses.size()}, versions, RootCling());
      } catch (const std::exception &error) {
         ::Warning("CladTorch", "%s", error.what());
      }
   }

   /// Whether the module is whole and was made by this ROOT from these headers, as `versions` identifies them. Clang
   /// itself would stop with an error, or accept the module (see cmake/StampModule.cmake, which writes the stamp).
   bool IsWhole(const Module &module, const std::string &versions) const
   {
      std::error_code missing;
      const auto path = fFolder + "/" + module.fName;
      const auto size = std::filesystem::file_size(path + ".pcm", missing);
      return !missing && Text(path + ".stamp") == std::to_string(size) + "\n" + versions;
   }

   bool Add(const Module &module, const std::string &versions) const
   {
      if (!IsWhole(module, versions))
         return false;
      gInterpreter->RegisterPrebuiltModulePath(fFolder, std::string(module.fName) + ".modulemap");
      return true;
   }

   void AddTorch()
   {
      // LibTorch.hxx warns that it will be slow without a module.
      if (Add(kLibTorch, fVersions) && fHasOurs)
         fHasTorch = Add(kOursOfTorch, fVersions);
   }
};

std::unique_ptr<ModuleFolder> gModules;

} // namespace

void AddModules(const std::string &folder)
{
   if (Core::modules_are_being_made())
      return;
   gModules = std::make_unique<ModuleFolder>(folder);
   gModules->AddIncludePaths();
   gModules->Add();
   // Now rather than at the first use, which may be in a declaration that fails: ROOT would undo what it declares.
   if (Exists(folder + "/../../include/CladTorch/Headers.hxx"))
      gInterpreter->Declare("#include <CladTorch/Headers.hxx>");
}

void MakeTorchModules()
{
   if (gModules)
      gModules->MakeTorch();
}

} // namespace Internal
} // namespace CladTorch
