/// \file write_network.h
/// \brief Writes the TorchScript network of pretrained.C and pretrained.py, in place of one that a PyTorch user has
/// trained.
///
/// In Python `torch.jit.script(net).save("ring.pt")` makes the file.

#ifndef CLADTORCH_WRITE_NETWORK
#define CLADTORCH_WRITE_NETWORK

#include <CladTorch/Torch.hxx>

#include <string>
#include <vector>

/// A layer of torch.nn.
inline torch::jit::Module LinearScript(const std::string &name, int inputs, int outputs)
{
   torch::jit::Module layer(name);
   const auto made = torch::nn::Linear(inputs, outputs);
   layer.register_parameter("weight", made->weight, false);
   layer.register_parameter("bias", made->bias, false);
   layer.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
   return layer;
}

/// Trains a network of two inputs to tell whether a point is in the ring 1 < x^2 + y^2 < 4, and saves it. Its
/// parameters are hidden.weight, hidden.bias, inner.weight, inner.bias, last.weight and last.bias; it returns one
/// logit.
inline void WriteNetwork(const std::string &path)
{
   torch::manual_seed(1);
   torch::jit::Module net("Ring");
   net.register_module("hidden", LinearScript("Hidden", 2, 32));
   net.register_module("inner", LinearScript("Inner", 32, 32));
   net.register_module("last", LinearScript("Last", 32, 1));
   net.define("def forward(self, x):\n"
              "  return self.last.forward(torch.tanh(self.inner.forward(torch.tanh(self.hidden.forward(x)))))\n");
   std::vector<torch::Tensor> parameters;
   for (const auto &parameter : net.parameters())
      parameters.push_back(parameter);
   torch::optim::Adam adam(parameters, torch::optim::AdamOptions(0.01));
   for (int step = 0; step < 400; ++step) {
      const auto x = torch::randn({256, 2}) * 1.5;
      const auto radius = x.square().sum(1, true);
      const auto inside = ((radius > 1) & (radius < 4)).to(torch::kFloat32);
      adam.zero_grad();
      torch::binary_cross_entropy_with_logits(net.forward({x}).toTensor(), inside).backward();
      adam.step();
   }
   net.eval();
   net.save(path);
}

#endif
