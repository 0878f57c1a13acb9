/// \file torch_macro.C
/// \brief LibTorch in a plain macro, and the initial weights of its linear layers beside ours.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "torch_api.h"

/// Whether two samples of `count` numbers are uniform within the same bound: largest magnitudes and mean squares agree
/// within five standard errors and more.
void CheckSameUniform(const float *ours, const float *theirs, std::size_t count)
{
   const auto largest = [count](const float *values) {
      return std::fabs(*std::max_element(values, values + count, [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
   };
   const auto square = [count](const float *values) { return std::inner_product(values, values + count, values, 0.); };
   CHECK(Near(largest(ours) / largest(theirs), 1, 20. / count));
   CHECK(Near(square(ours) / square(theirs), 1, 7 * std::sqrt(0.8 / count)));
}

/// The default initialisation is that of torch::nn::Linear.
void CheckInitialRange()
{
   torch::manual_seed(1);
   for (const std::size_t inputs : {1, 28, 256}) {
      const std::size_t outputs = 5000;
      const torch::nn::Linear layer(inputs, outputs);
      const auto weight = layer->weight.detach(), bias = layer->bias.detach();
      const auto ours = CladTorch::Mlp({inputs, outputs}).Parameters();
      CheckSameUniform(ours.Data(), weight.data_ptr<float>(), inputs * outputs);
      CheckSameUniform(ours.Data() + inputs * outputs, bias.data_ptr<float>(), outputs);
   }
}

void torch_macro()
{
   CheckTorchApi();
   CheckInitialRange();
   Passed();
}
