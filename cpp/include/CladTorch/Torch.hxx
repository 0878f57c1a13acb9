/// \file CladTorch/Torch.hxx
/// \brief LibTorch's own C++ API beside ROOT's: `torch::Tensor`, `torch::nn`, `torch::optim`, autograd.
///
/// ~~~{.cpp}
/// R__LOAD_LIBRARY(libcladtorch)
/// #include <CladTorch/Torch.hxx>
///
/// void gradient()
/// {
///    auto x = torch::ones({2, 3}, torch::requires_grad());
///    (x * x).sum().backward();
///    std::cout << x.grad() << std::endl;
/// }
/// ~~~
///
/// In macros, at the prompt and in PyROOT's `gInterpreter.Declare` the include takes about a second if the
/// plugin has its C++ module of LibTorch, otherwise about a minute, with a warning. A plugin from a wheel makes the module at
/// the first include, for later sessions as well. A compiled program links
/// `CladTorch::Torch` instead of `CladTorch::cladtorch`.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_TORCH
#define CLADTORCH_TORCH

// A wheel has this file, and makes the C++ module here if this user has none yet.
#if defined(__CLING__) && !defined(__ROOTCLING__) && __has_include(<cladtorch/first_use.h>)
#include <cladtorch/first_use.h>
#endif

// rootcling crashes on a missing header. At the prompt the headers come from a C++ module.
#if (!defined(__CLING__) || defined(__ROOTCLING__)) && !__has_include(<torch/torch.h>)
#error "LibTorch's headers are not on the include path. In ROOT (.L macro.C+), load libcladtorch with gSystem->Load first, which adds them. In a program, link CMake's target CladTorch::Torch"
#else
#include <CladTorch/Torch/Headers.hxx>
#endif

#endif
