/// \file compile_aclic.C
/// \brief CladTorch::Compile in a macro that ACLiC compiles.

#include "compile_checks.h"

void compile_aclic()
{
   CheckCompile();
   Passed();
}
