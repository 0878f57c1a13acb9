/// \file load_macro.C
/// \brief R__LOAD_LIBRARY and the umbrella header, as in the examples.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "first_step.h"

void load_macro(bool threads = false)
{
   if (threads)
      ROOT::EnableImplicitMT(2);
   FirstStep(Now(), "the start of the macro");
}
