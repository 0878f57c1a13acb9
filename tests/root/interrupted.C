/// \file interrupted.C
/// \brief Two long calls, the first of which Ctrl-C ends: the second is not begun.

R__LOAD_LIBRARY(libcladtorch)
#include "long_calls.h"

void interrupted(const char *name)
{
   Call(name);
   Call(name);
}
