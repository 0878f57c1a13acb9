/// \file torch_aclic.C
/// \brief LibTorch in a macro that ACLiC compiles.

#include "torch_api.h"

void torch_aclic()
{
   CheckTorchApi();
   Passed();
}
