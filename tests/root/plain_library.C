/// \file plain_library.C
/// \brief Compiles `name`.C of this folder into `name`.so by ROOT's own command, but without a dictionary.

#include <TString.h>
#include <TSystem.h>

void plain_library(const TString &name)
{
   TString command = gSystem->GetMakeSharedLib();
   command.ReplaceAll("$BuildDir", ".").ReplaceAll("$Opt", "-O0").ReplaceAll("$IncludePath", gSystem->GetIncludePath());
   command.ReplaceAll("$SourceFiles", name + ".C").ReplaceAll("$ObjectFiles", name + ".o").ReplaceAll("$SharedLib", name + ".so");
   command.ReplaceAll("$RPath", "").ReplaceAll("$LinkedLibs", "");
   gSystem->Exit(gSystem->Exec(command) == 0 ? 0 : 1);
}
