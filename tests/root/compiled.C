/// \file compiled.C
/// \brief A small compiled function, to be damaged by typos.rs, which also names it.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

torch::Tensor graph_of_FUNCTION(torch::Tensor x, torch::Tensor w)
{
   return x.matmul(w).relu().sum();
}

void FUNCTION()
{
   auto x = torch::randn({8, 4}), w = torch::randn({4, 2});
   CladTorch::CompileOptions options;
   options.fName = "graph";
   options.fBackEnd = CladTorch::kAotBackEnd;
   auto compiled = CladTorch::Compile(graph_of_FUNCTION, {x, w}, options);
   auto y = compiled.Forward({x, w});
   auto gradients = compiled.Backward({torch::ones_like(y)});
   if (y.item<double>() >= 0 && gradients.size() == 2)
      std::cout << "FUNCTION PASSED" << std::endl;
}
