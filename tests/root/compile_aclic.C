/// \file compile_aclic.C
/// \brief CladTorch::Compile in macros that ACLiC compiles: the interpreter can neither enter LibTorch's inference mode nor link
/// custom autograd functions.

#include "compile_checks.h"

#include "compile_captured.h"

#include "compile_programs.h"

#include "compile_pure.h"

void compile_aclic()
{
   CheckCompile();
   Passed();
}

/// Captured tensors that change, calls that overlap, tensors that differ from the contents of their memory.
void compile_captured()
{
   torch::manual_seed(1);
   Captured::CheckAll();
   Passed();
}

/// Functions that are more than a pure function of their inputs.
void compile_pure()
{
   torch::manual_seed(1);
   CheckPure();
   gErrorIgnoreLevel = kFatal; // programs throw on purpose
   TryPrograms(RandomPrograms(0, 60, "::apply"));
   Passed();
}
