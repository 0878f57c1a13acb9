/// \file compile_pure.C
/// \brief Functions that are more than a pure function of their inputs, in a macro that ACLiC compiles: the interpreter cannot link
///        custom autograd functions.

R__LOAD_LIBRARY(libcladtorch)
#include "compile_programs.h"
#include "compile_pure.h"

void compile_pure()
{
   torch::manual_seed(1);
   CheckPure();
   gErrorIgnoreLevel = kFatal; // programs throw on purpose
   TryPrograms(RandomPrograms(0, 60, "::apply"));
   Passed();
}
