/// \file include_torch_only.C
/// \brief The header loads the plugin: no other line does.

#include <CladTorch/Torch.hxx>

#include <iostream>

void include_torch_only()
{
   const auto compiled = CladTorch::Compile([](torch::Tensor x) { return x.exp().sum(); }, {torch::ones({2})});
   if (compiled.Forward({torch::zeros({2})}).item<float>() == 2)
      std::cout << "loaded by the header" << std::endl;
}
