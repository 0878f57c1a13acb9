/// \file torch_api.h
/// \brief LibTorch's C++ API as a macro sees it: tensors, modules, optimisers, autograd, exceptions.

#include <CladTorch/Torch.hxx>

#include "check.h"

#include <TH1F.h>

/// A small regression, trained by LibTorch; returns the last loss.
inline double TrainWithLibTorch()
{
   torch::manual_seed(1);
   const auto x = torch::randn({256, 4});
   const auto y = x.sum(1, true);
   torch::nn::Sequential net(torch::nn::Linear(4, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1));
   torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(1e-2));
   torch::Tensor loss;
   for (int step = 0; step < 200; ++step) {
      adam.zero_grad();
      loss = torch::mse_loss(net->forward(x), y);
      loss.backward();
      adam.step();
   }
   return loss.item<double>();
}

inline void CheckTorchApi()
{
   auto x = torch::arange(6, torch::dtype(torch::kFloat64).requires_grad(true));
   (x * x).sum().backward();
   CHECK(torch::equal(x.grad(), 2 * x.detach()));
   CHECK(TrainWithLibTorch() < 0.1);

   std::string message;
   try {
      torch::ones({3, 4}).matmul(torch::ones({3, 3}));
   } catch (const c10::Error &e) {
      message = e.what_without_backtrace();
   }
   CHECK(message.find("3x4 and 3x3") != std::string::npos);

   TH1F histogram("histogram", "", 10, -5, 5); // ROOT's own still work
   histogram.Fill(x.grad()[2].item<double>());
   CHECK(histogram.GetBinContent(10) == 1);
}
