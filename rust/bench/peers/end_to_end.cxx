// LibTorch's side of `cargo xtask bench end-to-end`: columns by RDataFrame's Take, training by torch::nn in C++.
// `end_to_end THREADS`; the lines it reads are those of end_to_end.py.

#include "lines.h"

#include <torch/torch.h>

#include <ROOT/RDataFrame.hxx>
#include <TROOT.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

/// Features [N, F] and labels [N].
struct Events {
   torch::Tensor fFeatures, fLabels;
};

/// Of a tree whose columns are all float.
Events Read(const Values &options, const std::string &tree)
{
   ROOT::RDataFrame frame(tree, options.at("file"));
   std::vector<ROOT::RDF::RResultPtr<std::vector<float>>> taken;
   for (const auto &column : Cut(options.at("columns"), ','))
      taken.push_back(frame.Take<float>(column));
   auto label = frame.Take<float>("label");
   const auto view = [](std::vector<float> &values) {
      return torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())});
   };
   std::vector<torch::Tensor> tensors;
   for (auto &column : taken)
      tensors.push_back(view(*column));
   return {torch::stack(tensors, 1), view(*label).clone()};
}

/// torch::nn::Linear as it comes, with ReLU between.
torch::nn::Sequential Perceptron(const std::string &text)
{
   const auto sizes = Cut(text, ',');
   torch::nn::Sequential model;
   for (std::size_t i = 1; i < sizes.size(); ++i) {
      model->push_back(torch::nn::Linear(std::stoi(sizes[i - 1]), std::stoi(sizes[i])));
      if (i + 1 < sizes.size())
         model->push_back(torch::nn::ReLU());
   }
   return model;
}

/// By the task; output: [N, C].
torch::Tensor Loss(const std::string &task, const torch::Tensor &output, const torch::Tensor &labels)
{
   if (task == "binary")
      return torch::binary_cross_entropy_with_logits(output.select(1, 0), labels);
   if (task == "classes")
      return torch::nn::functional::cross_entropy(output, labels.to(torch::kLong));
   return torch::mse_loss(output.select(1, 0), labels);
}

/// Area under the ROC curve, share of right classes, or minus the root mean squared error; output: [N, C].
double Score(const std::string &task, const torch::Tensor &output, const torch::Tensor &labels)
{
   if (task == "classes")
      return output.argmax(1).eq(labels).to(torch::kDouble).mean().item<double>();
   if (task == "regression")
      return -torch::mse_loss(output.select(1, 0), labels).sqrt().item<double>();
   const auto sorted = labels.index_select(0, output.flatten().argsort()).to(torch::kDouble);
   const auto signal = sorted.sum().item<double>();
   const auto ranks = torch::arange(1, sorted.size(0) + 1, torch::kDouble);
   const auto above = (ranks * sorted).sum().item<double>() - signal * (signal + 1) / 2;
   return above / (signal * (sorted.size(0) - signal));
}

void Epoch(torch::nn::Sequential &model, torch::optim::Optimizer &optimiser, const Events &train, const Values &options)
{
   const auto order = torch::randperm(train.fLabels.size(0), torch::kLong);
   for (const auto &batch : order.split(std::stoi(options.at("batch")))) {
      optimiser.zero_grad();
      const auto output = model->forward(train.fFeatures.index_select(0, batch));
      Loss(options.at("task"), output, train.fLabels.index_select(0, batch)).backward();
      optimiser.step();
   }
}

struct Reached {
   int fEpochs;
   double fScore;
};

Reached Train(const Values &options, std::uint64_t seed)
{
   torch::manual_seed(seed);
   auto train = Read(options, "train"), validation = Read(options, "validation");
   const auto [spread, mean] = torch::std_mean(train.fFeatures, at::IntArrayRef{0}, /*unbiased=*/false);
   const auto deviation = torch::where(spread > 0, spread, torch::ones_like(spread));
   for (auto *events : {&train, &validation})
      events->fFeatures = (events->fFeatures - mean) / deviation;

   auto model = Perceptron(options.at("sizes"));
   torch::optim::Adam optimiser(model->parameters(), torch::optim::AdamOptions(1e-3));
   for (int epoch = 1; epoch <= std::stoi(options.at("epochs")); ++epoch) {
      Epoch(model, optimiser, train, options);
      torch::NoGradGuard guard;
      const auto score = Score(options.at("task"), model->forward(validation.fFeatures), validation.fLabels);
      if (score >= std::stod(options.at("target")))
         return {epoch, score};
   }
   throw std::runtime_error("the target was not reached in " + options.at("epochs") + " epochs");
}

int main(int, char **arguments)
{
   const int threads = std::stoi(arguments[1]);
   torch::set_num_threads(threads);
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   ServeRounds(
      Train,
      [](const Values &options, const Reached &reached) { return reached.fScore - std::stod(options.at("target")); },
      [](const Reached &reached) {
         return " epochs=" + std::to_string(reached.fEpochs) + " quality=" + Digits(reached.fScore);
      });
}
