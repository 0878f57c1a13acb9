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
/// plugin has its C++ module of LibTorch, otherwise about a minute, with a warning. A compiled program links
/// `CladTorch::Torch` instead of `CladTorch::cladtorch`.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_TORCH
#define CLADTORCH_TORCH

#include <CladTorch/Torch/Headers.hxx>

#endif
