/// \file include_only.C
/// \brief The header loads the plugin: no other line does.

#include <CladTorch/CladTorch.hxx>

#include <iostream>

void include_only()
{
   const CladTorch::Mlp model({2, 3, 1}, CladTorch::kReLU);
   std::cout << "loaded by the header" << std::endl;
}
