/// \file load_auto.C
/// \brief Neither a library nor a header is named: ROOT finds both by the rootmap.

#include "first_step.h"

void load_auto()
{
   FirstStep(Now(), "the start of the macro");
}
