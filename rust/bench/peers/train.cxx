// The sides in C++ of `cargo xtask bench train`: `train eager|model THREADS`.
//
// eager: LibTorch's modules, autograd and Adam. model: CladTorch::Model of the same module, and its Fit. A repetition is a
// step. Adam begins anew in each round, as in each Fit; the time of a Fit's preparation is in that of its steps.

#include "lines.h"
#include "networks.h"

#include <ROOT/RDataFrame.hxx>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace {

class Run {
public:
   Run(const Values &values, int threads)
      : fNetwork(MakeNetwork(values.at("network"))), fBatch(std::stoll(values.at("batch"))), fThreads(threads)
   {
      Initialise(*fNetwork.fModule);
      std::tie(fFeatures, fLabels) = Events(std::stoll(values.at("rows")), fNetwork.fShape);
   }
   virtual ~Run() = default;

   /// Seconds a step.
   double Round(std::int64_t steps)
   {
      const auto start = std::chrono::steady_clock::now();
      Train(steps);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   /// The mean loss in evaluation, by LibTorch.
   double Check()
   {
      constexpr std::int64_t kBlock = 512;
      torch::NoGradGuard guard;
      fNetwork.fModule->eval();
      double sum = 0;
      for (const auto &[x, y] : Blocks(kBlock, Rows()))
         sum += x.size(0) * Loss(x, y).item<double>();
      fNetwork.fModule->train();
      return sum / Rows();
   }

protected:
   using Block = std::pair<torch::Tensor, torch::Tensor>;

   virtual void Train(std::int64_t steps) = 0;

   std::int64_t Rows() const { return fFeatures.size(0); }

   torch::Tensor Loss(const torch::Tensor &x, const torch::Tensor &y) const
   {
      return torch::binary_cross_entropy_with_logits(fNetwork.fForward(x), y);
   }

   /// The events in blocks of `rows`, but for the last.
   std::vector<Block> Blocks(std::int64_t rows, std::int64_t all) const
   {
      std::vector<Block> blocks;
      for (std::int64_t first = 0; first < all; first += rows) {
         const auto count = std::min(rows, all - first);
         blocks.emplace_back(fFeatures.narrow(0, first, count), fLabels.narrow(0, first, count));
      }
      return blocks;
   }

   Network fNetwork;
   torch::Tensor fFeatures, fLabels; // [N, ...], [N, 1]
   std::int64_t fBatch;
   int fThreads;
};

class Eager : public Run {
public:
   using Run::Run;

protected:
   void Train(std::int64_t steps) override
   {
      torch::optim::Adam optimiser(fNetwork.fModule->parameters(), torch::optim::AdamOptions(1e-3));
      const auto blocks = Blocks(fBatch, Rows());
      for (std::int64_t step = 0; step < steps; ++step) {
         const auto &[x, y] = blocks[step % blocks.size()];
         optimiser.zero_grad();
         Loss(x, y).backward();
         optimiser.step();
      }
   }
};

class Ours : public Run {
public:
   Ours(const Values &values, int threads) : Run(values, threads), fModel(fNetwork.fModel()), fData(First(Rows())) {}

protected:
   void Train(std::int64_t steps) override
   {
      const auto perEpoch = Rows() / fBatch;
      CladTorch::FitOptions options;
      options.fBatchSize = fBatch;
      options.fLearningRate = 1e-3;
      options.fSchedule = CladTorch::kConstant;
      options.fShuffle = options.fStandardise = false;
      options.fValidation = 0;
      options.fThreads = fThreads;
      options.fVerbose = 0;
      options.fEpochs = steps < perEpoch ? 1 : steps / perEpoch;
      if (steps > perEpoch && steps % perEpoch != 0)
         throw std::invalid_argument("the steps are no whole epochs");
      fModel.Fit(steps < perEpoch ? First(steps * fBatch) : fData, options);
   }

private:
   /// The first events as a dataset.
   CladTorch::Dataset First(std::int64_t rows) const
   {
      const auto x = fFeatures.flatten(1);
      const auto width = x.size(1);
      const auto row = [x, width](ULong64_t entry) {
         const auto *first = x.data_ptr<float>() + entry * width;
         return ROOT::RVecF(first, first + width);
      };
      const auto label = [y = fLabels](ULong64_t entry) { return y.data_ptr<float>()[entry]; };
      auto frame = ROOT::RDataFrame(rows).Define("x", row, {"rdfentry_"}).Define("y", label, {"rdfentry_"});
      CladTorch::Dataset data;
      data.Column("x", width).Add(frame, "y");
      return data;
   }

   CladTorch::Model fModel;
   CladTorch::Dataset fData;
};

} // namespace

int main(int, char **arguments)
{
   const std::string side = arguments[1];
   const int threads = std::stoi(arguments[2]);
   torch::set_num_threads(threads);
   std::unique_ptr<Run> run;
   Serve([&](const std::string &verb, Values &values) -> std::string {
      if (verb == "case") {
         run.reset();
         if (side == "eager")
            run = std::make_unique<Eager>(values, threads);
         else
            run = std::make_unique<Ours>(values, threads);
         return "ready";
      }
      if (run && verb == "round")
         return Said("time", run->Round(std::stoll(values.at("steps"))));
      if (run && verb == "check")
         return Said("check", run->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
