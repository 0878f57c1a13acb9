// LibTorch's side of `cargo xtask bench step`: torch::nn and torch::optim::Adam in eager C++. `step THREADS`
//
// The lines it reads and writes are those of rust/examples/bench_worker.rs. A batch is a view of contiguous rows.

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using Values = std::map<std::string, std::string>;

torch::Tensor Floats(const std::string &path)
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
torch::nn::Sequential Perceptron(const std::vector<std::int64_t> &sizes, const torch::Tensor &parameters)
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

struct Training {
   torch::Tensor fFeatures, fLabels; // [N, F]; [N, 1] or [N] class numbers
   torch::nn::Sequential fModel;
   torch::optim::Adam fOptimiser;
   bool fBinary;
   std::int64_t fBatch, fTaken = 0;

   Training(const std::vector<std::int64_t> &sizes, std::int64_t batch, const std::string &data)
      : fFeatures(Floats(data + "/features").reshape({-1, sizes.front()})), fLabels(Floats(data + "/labels")),
        fModel(Perceptron(sizes, Floats(data + "/parameters"))),
        fOptimiser(fModel->parameters(), torch::optim::AdamOptions(1e-3)), fBinary(sizes.back() == 1), fBatch(batch)
   {
      fLabels = fBinary ? fLabels.reshape({-1, 1}) : fLabels.to(torch::kLong);
   }

   torch::Tensor Loss(const torch::Tensor &x, const torch::Tensor &y)
   {
      const auto logits = fModel->forward(x);
      return fBinary ? torch::binary_cross_entropy_with_logits(logits, y) : torch::nn::functional::cross_entropy(logits, y);
   }

   /// Seconds a step.
   double Round(std::int64_t steps)
   {
      const auto batches = fFeatures.size(0) / fBatch;
      const auto start = std::chrono::steady_clock::now();
      for (const auto end = fTaken + steps; fTaken < end; ++fTaken) {
         const auto first = fTaken % batches * fBatch;
         fOptimiser.zero_grad();
         Loss(fFeatures.narrow(0, first, fBatch), fLabels.narrow(0, first, fBatch)).backward();
         fOptimiser.step();
      }
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   double Check()
   {
      torch::NoGradGuard guard;
      return Loss(fFeatures, fLabels).item<double>();
   }
};

std::unique_ptr<Training> NewTraining(Values &values)
{
   std::vector<std::int64_t> sizes;
   std::istringstream list(values.at("sizes"));
   for (std::string size; std::getline(list, size, ',');)
      sizes.push_back(std::stoll(size));
   return std::make_unique<Training>(sizes, std::stoll(values.at("batch")), values.at("data"));
}

std::string Answer(const std::string &line, std::unique_ptr<Training> &training)
{
   std::istringstream words(line);
   std::string verb, word;
   Values values;
   words >> verb;
   while (words >> word)
      values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
   std::ostringstream answer;
   answer.precision(9);
   if (verb == "case") {
      training = NewTraining(values);
      answer << "ready";
   } else if (verb == "round") {
      answer << "time " << training->Round(std::stoll(values.at("steps")));
   } else if (verb == "check") {
      answer << "check " << training->Check();
   }
   return answer.str();
}

int main(int, char **arguments)
{
   torch::set_num_threads(std::stoi(arguments[1]));
   std::unique_ptr<Training> training;
   for (std::string line; std::getline(std::cin, line);) {
      try {
         std::cout << "bench " << Answer(line, training) << std::endl;
      } catch (const std::exception &error) {
         const std::string message = error.what();
         std::cout << "bench error " << message.substr(0, message.find('\n')) << std::endl;
      }
   }
}
