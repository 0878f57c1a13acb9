/// \file compile_pure.C
/// \brief Functions that are more than a pure function of their inputs, in a macro that ACLiC compiles.

R__LOAD_LIBRARY(libcladtorch)
#include "compile_pure.h"

void compile_pure()
{
   torch::manual_seed(1);
   CheckPure();
   Passed();
}
