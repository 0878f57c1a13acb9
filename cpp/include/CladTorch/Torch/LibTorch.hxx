/// \file CladTorch/Torch/LibTorch.hxx
/// \brief LibTorch's headers, adapted to coexist with ROOT's.
///
/// At the prompt this file comes from the C++ module that was built with the plugin, and nothing below is read.

#ifndef CLADTORCH_LIBTORCH
#define CLADTORCH_LIBTORCH

#if defined(__CLING__) && !defined(__ROOTCLING__)
#warning "this will be slow: LibTorch's headers are compiled for this session alone, which takes about a minute, because the module that CladTorch was built with is missing or belongs to another ROOT or LibTorch; build and install CladTorch again with this ROOT"
#endif

// ROOT's macro is the name of a class of LibTorch.
#pragma push_macro("ClassDef")
#undef ClassDef
#include <torch/torch.h>

#include <torch/script.h>
#pragma pop_macro("ClassDef")

#endif
