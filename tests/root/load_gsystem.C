/// \file load_gsystem.C
/// \brief gSystem->Load, then a macro without includes of CladTorch.

void load_gsystem()
{
   const auto start = 1e-9 * std::chrono::steady_clock::now().time_since_epoch().count();
   if (gSystem->Load("libcladtorch") != 0)
      gSystem->Exit(1);
   gROOT->LoadMacro(TString(gSystem->Getenv("CLADTORCH_SOURCE_DIR")) + "/tests/root/first_step.h");
   gROOT->ProcessLine(TString::Format("FirstStep(%.9f, \"gSystem->Load\")", start));
}
