// LibTorch's side of `cargo xtask bench predict`: torch::nn in eager C++. `predict THREADS`; the lines are those of predict.C.

#include "lines.h"
#include "network.h"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

struct Prediction {
   torch::Tensor fFeatures; // [rows, 28]
   torch::nn::Sequential fModel;
   bool fAtOnce;
   double fSum = 0;

   Prediction(bool atOnce, const std::string &folder)
      : fFeatures(Floats(folder + "/features").reshape({-1, 28})),
        fModel(Perceptron({28, 64, 64, 1}, Floats(folder + "/parameters"))), fAtOnce(atOnce)
   {
   }

   /// Seconds a row.
   double Round()
   {
      const torch::InferenceMode inference;
      const auto rows = fFeatures.size(0);
      const auto single = fFeatures.split(1);
      const auto start = std::chrono::steady_clock::now();
      if (fAtOnce) {
         const auto scores = fModel->forward(fFeatures).sigmoid();
         const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
         fSum = scores.sum(torch::kDouble).item<double>();
         return seconds.count() / rows;
      }
      fSum = 0;
      for (const auto &row : single)
         fSum += fModel->forward(row).sigmoid().item<float>();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      return seconds.count() / rows;
   }
};

int main(int, char **arguments)
{
   torch::set_num_threads(std::stoi(arguments[1]));
   std::unique_ptr<Prediction> prediction;
   Serve([&](const std::string &verb, Values &values) -> std::string {
      if (verb == "case") {
         prediction = std::make_unique<Prediction>(values.at("once") == "1", values.at("data"));
         return "ready";
      }
      if (prediction && verb == "round")
         return Said("time", prediction->Round());
      if (prediction && verb == "check")
         return Said("check", prediction->fSum / prediction->fFeatures.size(0));
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
