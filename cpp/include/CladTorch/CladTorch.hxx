/// \file CladTorch/CladTorch.hxx
/// \brief All of CladTorch but LibTorch's own C++ API.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_CLADTORCH
#define CLADTORCH_CLADTORCH

#include <CladTorch/Headers.hxx>

#endif
