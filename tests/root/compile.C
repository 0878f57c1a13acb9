/// \file compile.C
/// \brief CladTorch::Compile in a plain macro.

R__LOAD_LIBRARY(libcladtorch)
#include "compile_checks.h"

void compile()
{
   CheckCompile();
   Passed();
}
