// LibTorch's side of `cargo xtask bench step`: torch::nn and torch::optim::Adam in eager C++. `step THREADS`
//
// The lines it reads and writes are those of rust/examples/bench_worker.rs. A batch is a view of contiguous rows.

#include "lines.h"
#include "network.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

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
   for (const auto &size : Cut(values.at("sizes"), ','))
      sizes.push_back(std::stoll(size));
   return std::make_unique<Training>(sizes, std::stoll(values.at("batch")), values.at("data"));
}

int main(int, char **arguments)
{
   torch::set_num_threads(std::stoi(arguments[1]));
   std::unique_ptr<Training> training;
   Serve([&](const std::string &verb, Values &values) -> std::string {
      if (verb == "case") {
         training = NewTraining(values);
         return "ready";
      }
      if (training && verb == "round")
         return Said("time", training->Round(std::stoll(values.at("steps"))));
      if (training && verb == "check")
         return Said("check", training->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
