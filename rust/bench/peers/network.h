/// \file network.h
/// \brief Code that the workers with LibTorch share: the numbers of a case and the network.

#ifndef CLADTORCH_BENCH_NETWORK
#define CLADTORCH_BENCH_NETWORK

#include <torch/torch.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

inline torch::Tensor Floats(const std::string &path)
{
   std::ifstream file(path, std::ios::binary | std::ios::ate);
   if (!file)
      throw std::runtime_error("cannot read " + path);
   auto numbers = torch::empty({static_cast<std::int64_t>(file.tellg()) / 4}, torch::kFloat);
   file.seekg(0);
   file.read(static_cast<char *>(numbers.data_ptr()), numbers.numel() * 4);
   return numbers;
}

/// Linear layers with ReLU between them; parameters: for each layer weights [outputs, inputs], then biases.
inline torch::nn::Sequential Perceptron(const std::vector<std::int64_t> &sizes, const torch::Tensor &parameters)
{
   torch::nn::Sequential model;
   for (std::size_t i = 1; i < sizes.size(); ++i) {
      model->push_back(torch::nn::Linear(sizes[i - 1], sizes[i]));
      if (i + 1 < sizes.size())
         model->push_back(torch::nn::ReLU());
   }
   torch::nn::utils::vector_to_parameters(parameters, model->parameters());
   return model;
}

#endif
