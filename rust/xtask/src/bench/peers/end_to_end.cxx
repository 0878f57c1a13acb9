// LibTorch's side of `cargo xtask bench end-to-end`: columns by RDataFrame's Take, training by torch::nn in C++.
// `end_to_end THREADS`; the lines it reads are those of end_to_end.py.

#include "lines.h"

#include <torch/torch.h>

#include <ROOT/RDataFrame.hxx>
#include <TROOT.h>

#include <cstdint>
#include <string>
#include <vector>

/// [N, F] and [N] of one tree whose columns are all float.
std::pair<torch::Tensor, torch::Tensor>
ReadTree(const std::string &file, const std::string &tree, const std::string &label, std::vector<std::string> columns)
{
   const bool constant = label.find_first_not_of("0123456789.") == std::string::npos;
   if (!constant)
      columns.push_back(label);
   ROOT::RDataFrame frame(tree, file);
   std::vector<ROOT::RDF::RResultPtr<std::vector<float>>> taken;
   for (const auto &column : columns)
      taken.push_back(frame.Take<float>(column));
   std::vector<torch::Tensor> tensors;
   for (auto &column : taken)
      tensors.push_back(torch::from_blob(column->data(), {static_cast<std::int64_t>(column->size())}));
   auto labels = constant ? torch::full_like(tensors[0], std::stof(label)) : tensors.back().clone();
   if (!constant)
      tensors.pop_back();
   return {torch::stack(tensors, 1), labels};
}

std::pair<torch::Tensor, torch::Tensor> Read(const Values &options)
{
   std::vector<torch::Tensor> features, labels;
   for (const auto &tree : Cut(options.at("trees"), ',')) {
      const auto parts = Cut(tree, ':');
      auto [x, y] = ReadTree(options.at("file"), parts[0], parts[1], Cut(options.at("columns"), ','));
      features.push_back(x);
      labels.push_back(y);
   }
   return {torch::cat(features), torch::cat(labels)};
}

/// CladTorch's initial weights: He et al. 2015, zero biases.
torch::nn::Sequential Perceptron(const std::string &text)
{
   const auto sizes = Cut(text, ',');
   torch::nn::Sequential model;
   for (std::size_t i = 1; i < sizes.size(); ++i) {
      torch::nn::Linear layer(std::stoi(sizes[i - 1]), std::stoi(sizes[i]));
      torch::nn::init::kaiming_uniform_(layer->weight, 0, torch::kFanIn, torch::kReLU);
      torch::nn::init::zeros_(layer->bias);
      model->push_back(layer);
      if (i + 1 < sizes.size())
         model->push_back(torch::nn::ReLU());
   }
   return model;
}

struct Trained {
   torch::nn::Sequential fModel;
   torch::Tensor fFeatures, fLabels; // of the test part

   /// Area under the ROC curve, or the share of right classes.
   double Score()
   {
      torch::NoGradGuard guard;
      const auto output = fModel->forward(fFeatures);
      if (output.size(1) > 1)
         return output.argmax(1).eq(fLabels).to(torch::kDouble).mean().item<double>();
      const auto sorted = fLabels.index_select(0, output.flatten().argsort()).to(torch::kDouble);
      const auto signal = sorted.sum().item<double>();
      const auto ranks = torch::arange(1, sorted.size(0) + 1, torch::kDouble);
      const auto above = (ranks * sorted).sum().item<double>() - signal * (signal + 1) / 2;
      return above / (signal * (sorted.size(0) - signal));
   }
};

Trained Train(const Values &options, std::uint64_t seed)
{
   torch::manual_seed(seed);
   auto [x, y] = Read(options);
   const auto rows = x.size(0);
   const auto testRows = static_cast<std::int64_t>(std::stod(options.at("test")) * rows);
   const auto order = torch::randperm(rows, torch::kLong);
   const auto train = order.narrow(0, testRows, rows - testRows), test = order.narrow(0, 0, testRows);
   const auto [deviation, mean] = torch::std_mean(x.index_select(0, train), at::IntArrayRef{0}, /*unbiased=*/false);
   x = (x - mean) / torch::where(deviation > 0, deviation, torch::ones_like(deviation));

   auto model = Perceptron(options.at("sizes"));
   torch::optim::Adam optimiser(model->parameters(), torch::optim::AdamOptions(1e-3));
   const bool binary = Cut(options.at("sizes"), ',').back() == "1";
   const auto target = binary ? y.unsqueeze(1) : y.to(torch::kLong);
   for (int epoch = std::stoi(options.at("epochs")); epoch > 0; --epoch) {
      const auto shuffled = train.index_select(0, torch::randperm(train.size(0), torch::kLong));
      for (const auto &batch : shuffled.split(std::stoi(options.at("batch")))) {
         optimiser.zero_grad();
         const auto logits = model->forward(x.index_select(0, batch));
         const auto labels = target.index_select(0, batch);
         const auto loss = binary ? torch::binary_cross_entropy_with_logits(logits, labels)
                                  : torch::nn::functional::cross_entropy(logits, labels);
         loss.backward();
         optimiser.step();
      }
   }
   return {model, x.index_select(0, test), y.index_select(0, test)};
}

int main(int, char **arguments)
{
   const int threads = std::stoi(arguments[1]);
   torch::set_num_threads(threads);
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   ServeRounds(Train, [](const Values &, Trained &trained) { return trained.Score(); });
}
