/// \file torch_macro.C
/// \brief LibTorch in a plain macro.

R__LOAD_LIBRARY(libcladtorch)
#include "torch_api.h"

void torch_macro()
{
   CheckTorchApi();
   Passed();
}
