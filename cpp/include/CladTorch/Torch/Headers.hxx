/// \file CladTorch/Torch/Headers.hxx
/// \brief All of Torch.hxx but LibTorch itself as one C++ module (see CladTorch/Headers.hxx).

#ifndef CLADTORCH_TORCH_HEADERS
#define CLADTORCH_TORCH_HEADERS

#include <CladTorch/Error.hxx>
#include <CladTorch/Torch/Compile.hxx>
#include <CladTorch/Torch/Convert.hxx>
#include <CladTorch/Torch/LibTorch.hxx>
#include <CladTorch/Torch/Model.hxx>

#endif
