/// \file interrupted.C
/// \brief Two long calls; Ctrl-C ends the first, and the second does not begin.

R__LOAD_LIBRARY(libcladtorch)
#include "long_calls.h"

void interrupted(const char *name)
{
   Call(name);
   Call(name);
}
