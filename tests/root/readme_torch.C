R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

torch::Tensor my_graph(torch::Tensor x, torch::Tensor w) { return x.matmul(w).relu().sum(); }

void readme_torch()
{
   auto x = torch::randn({8, 4}), w = torch::randn({4, 2});
   auto compiled = CladTorch::Compile(my_graph, {x, w});
   auto y = compiled.Forward({x, w});
   auto gradients = compiled.Backward({torch::ones_like(y)}); // of x and of w
   compiled.Print();                                          // operators, shapes, memory, back end, and why
   std::cout << gradients[1] << std::endl;
}
