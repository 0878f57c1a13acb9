// LibTorch's sides of `cargo xtask bench inference`: `inference eager|frozen THREADS`; the lines are those of inference.C.
//
// eager: the network's operators one by one, without autograd, as TorchScript's interpreter calls them in C++. frozen:
// torch::jit::freeze and optimize_for_inference.

#include "lines.h"
#include "network.h"

#include <torch/script.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

class Inference {
public:
   Inference(bool freezes, const Values &values) : fModule(torch::jit::load(values.at("data") + "/net.pt"))
   {
      fModule.eval();
      if (freezes) {
         auto frozen = torch::jit::freeze(fModule);
         fModule = torch::jit::optimize_for_inference(frozen);
      }
      std::vector<std::int64_t> shape{-1};
      for (const auto &size : Cut(values.at("shape"), ','))
         shape.push_back(std::stoll(size));
      const torch::InferenceMode inference;
      for (const auto &block : Floats(values.at("data") + "/events").reshape(shape).split(std::stoll(values.at("batch"))))
         fInputs.push_back({block.contiguous()});
      const auto expected = Floats(values.at("data") + "/expected").to(torch::kDouble);
      std::vector<torch::Tensor> found;
      for (const auto &input : fInputs)
         found.push_back(fModule.forward(input).toTensor().flatten());
      const auto worst = ((torch::cat(found) - expected).abs().max() / expected.abs().max()).item<double>();
      if (!(worst < std::stod(values.at("tolerance"))))
         throw std::runtime_error("predictions differ by " + Digits(worst) + " from those in float64");
   }

   /// Seconds a call.
   double Round(std::size_t steps)
   {
      const torch::InferenceMode inference;
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t step = 0; step < steps; ++step)
         fScores = fModule.forward(fInputs[step % fInputs.size()]).toTensor();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   double Check() const { return fScores.mean(torch::kDouble).item<double>(); }

private:
   torch::jit::Module fModule;
   std::vector<std::vector<torch::IValue>> fInputs; // of each call
   torch::Tensor fScores;                           // of the last one
};

int main(int, char **arguments)
{
   const bool freezes = arguments[1] == std::string("frozen");
   torch::set_num_threads(std::stoi(arguments[2]));
   if (!freezes)
      torch::jit::setGraphExecutorOptimize(false);
   std::unique_ptr<Inference> inference;
   Serve([&](const std::string &verb, Values &values) -> std::string {
      if (verb == "case") {
         inference.reset();
         inference = std::make_unique<Inference>(freezes, values);
         return "ready";
      }
      if (inference && verb == "round")
         return Said("time", inference->Round(std::stoull(values.at("steps"))));
      if (inference && verb == "check")
         return Said("check", inference->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
