/// \file compile_forked.C
/// \brief Compiled functions and networks that LibTorch runs in a forked process, which has none of its parent's threads.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <csignal>
#include <cstring>
#include <functional>

#include <sys/wait.h>
#include <unistd.h>

/// Seconds after which a process that waits for threads is ended.
constexpr unsigned kPatience = 60;

/// Whether `body` returns true in a fork, and ends there.
bool InFork(const std::function<bool()> &body)
{
   const auto child = fork();
   if (child == 0) {
      std::signal(SIGALRM, SIG_DFL); // ROOT's handler would continue
      alarm(kPatience);
      bool holds = false;
      try {
         holds = body();
      } catch (const std::exception &error) {
         std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(holds ? 0 : 1);
   }
   int status = 0;
   waitpid(child, &status, 0);
   if (WIFSIGNALED(status))
      std::printf("ended by signal %d\n", WTERMSIG(status));
   return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Tensor::equal() would wait for LibTorch's threads.
bool SameBits(const torch::Tensor &a, const torch::Tensor &b)
{
   return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

/// Another number of threads sums in another order; cancellation in a sum is judged by the size of its terms.
bool SameButForRounding(const torch::Tensor &a, const torch::Tensor &b)
{
   return ((a - b).abs() <= 1e-4 * b.abs().max()).all().item<bool>();
}

void compile_forked()
{
   torch::manual_seed(1);
   torch::set_num_threads(2);
   const auto x = torch::randn({4096, 64}), w = torch::randn({64, 64}); // enough for both threads
   const auto rows = [](torch::Tensor x, torch::Tensor w) { return x.matmul(w).tanh().softmax(1).square().sum(); };
   const auto running = [](torch::Tensor x, torch::Tensor w) {
      const auto y = (x.matmul(w).tanh() * x).exp().softmax(1);
      return (y.cumsum(1).square() * x).sigmoid().mean();
   };
   const auto branch = [](torch::Tensor x, torch::Tensor w) {
      return x.sum().item<float>() > 0 ? x.matmul(w).sum() : x.matmul(w).square().sum();
   };
   const std::vector<CladTorch::Compiled> functions{CladTorch::Compile(rows, {x, w}), CladTorch::Compile(running, {x, w}),
                                                    CladTorch::Compile(branch, {x, w})};
   const auto run = [&](const CladTorch::Compiled &function) {
      auto results = function.Backward({torch::ones_like(function.Forward({x, w}))});
      results.push_back(function.Forward({x, w}));
      return results;
   };
   std::vector<std::vector<torch::Tensor>> before;
   for (const auto &function : functions)
      before.push_back(run(function));
   CHECK(functions[0].BackEnd() == "aot" && functions[1].BackEnd() == "split" && functions[2].BackEnd() == "autograd");

   const auto as_before = [&](std::size_t i, bool bits) {
      const auto after = run(functions[i]);
      for (std::size_t k = 0; k < after.size(); ++k)
         if (bits ? !SameBits(after[k], before[i][k]) : !SameButForRounding(after[k], before[i][k]))
            return false;
      return true;
   };
   CHECK(InFork([&] { return as_before(0, true); }));
   CHECK(InFork([&] {
      torch::set_num_threads(1);
      return as_before(0, true) && as_before(1, false) && as_before(2, false);
   }));
   CHECK(InFork([&] { // a shape that is observed here
      torch::set_num_threads(1);
      const auto part = x.slice(0, 0, 1000);
      return functions[0].Forward({part, w}).allclose(rows(part, w), 1e-4);
   }));

   auto frame = ROOT::RDataFrame(512).Define("x", [](ULong64_t i) { return ROOT::RVecF(8, i % 9); }, {"rdfentry_"});
   CladTorch::Dataset data;
   data.Column("x", 8).Add(frame.Define("y", "int(rdfentry_ % 2)"), "y");
   CladTorch::FitOptions options;
   options.fEpochs = 2;
   options.fVerbose = 0;
   options.fThreads = 1;
   torch::nn::GRU gru(torch::nn::GRUOptions(1, 8).batch_first(true));
   torch::nn::Linear out(8, 1);
   const auto sequence = [=](torch::Tensor x) mutable { return out(std::get<0>(gru(x.unsqueeze(2))).select(1, 7)); };
   CladTorch::Model model(sequence, {8});
   model.Fit(data, options);
   const auto scores = model.Predict(data);
   CHECK(InFork([&] {
      torch::set_num_threads(1);
      const auto again = model.Predict(data);
      for (std::size_t i = 0; i < scores.size(); ++i)
         if (!Near(again[i], scores[i], 1e-5))
            return false;
      return model.Fit(data, options).Epochs() == 2;
   }));
   std::cout << "ALL CHECKS PASSED" << std::endl;
}
