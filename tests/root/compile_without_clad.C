/// \file compile_without_clad.C
/// \brief Compiled functions if Clad cannot be found.

R__LOAD_LIBRARY(libcladtorch)
#include "compile_checks.h"

void compile_without_clad()
{
   torch::manual_seed(1);
   CheckFastest();
   CladTorch::CompileOptions options;
   options.fBackEnd = CladTorch::kJitBackEnd;
   const auto x = torch::rand({8, 4}), w = torch::rand({4, 3});
   Refuses("jit without Clad", [&] { CladTorch::Compile(MyGraph, {x, w}, options); }, {"Clad", "CLAD_ROOT"});
   options.fBackEnd = CladTorch::kFastestBackEnd;
   CHECK(CladTorch::Compile(MyGraph, {x, w}, options).BackEnd() == "aot");
   Passed();
}
