/// \file compile_threads.C
/// \brief Compiled functions, trainings and Ctrl-C in several threads at once.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

/// A thread sees its own calls, even if it got the number of a thread that has ended.
void OwnCalls()
{
   const auto x = torch::randn({4});
   const auto compiled = CladTorch::Compile([](torch::Tensor given) { return given.exp(); }, {x});
   std::string answers;
   for (int i = 0; i < 4; ++i)
      std::thread([&] {
         try {
            compiled.Backward({torch::ones({4})});
            answers += "a stranger's call ";
         } catch (const CladTorch::Error &) {
         }
         compiled.Forward({x});
      }).join();
   CHECK(answers.empty());
}

std::atomic<bool> gObserving{false}, gRelease{false}, gReleased{false};

torch::Tensor Waiting(const torch::Tensor &x)
{
   if (x.size(0) == 5) {
      gObserving = true;
      for (int i = 0; i < 1000 && !gRelease; ++i)
         std::this_thread::sleep_for(std::chrono::milliseconds(10));
      gReleased = gRelease.load();
   }
   return x.exp();
}

/// While one thread observes a new shape, others continue with known ones.
void KnownShapesGoOn()
{
   const auto x = torch::randn({4}), longer = torch::randn({5});
   const auto compiled = CladTorch::Compile(Waiting, {x});
   std::thread other([&] { compiled.Forward({longer}); });
   while (!gObserving)
      std::this_thread::yield();
   compiled.Forward({x});
   gRelease = true;
   other.join();
   CHECK(gReleased);
   CHECK(compiled.Specialisations() == 2);
}

struct sigaction Handler()
{
   struct sigaction handler = {};
   sigaction(SIGINT, nullptr, &handler);
   return handler;
}

/// Two simultaneous trainings leave Ctrl-C as they found it.
void HandlerComesBack()
{
   const auto before = Handler();
   CladTorch::Dataset data({"x"});
   data.Add(ROOT::RDataFrame(100).Define("x", [](ULong64_t i) { return float(i % 7); }, {"rdfentry_"}), 1);
   const auto train = [&](int epochs) {
      CladTorch::FitOptions options;
      options.fEpochs = epochs;
      options.fVerbose = 0;
      options.fThreads = 1;
      CladTorch::Mlp model({1, 4, 1});
      for (int i = 0; i < 100; ++i)
         model.Fit(data, options);
   };
   std::thread one([&] { train(1); }), two([&] { train(2); });
   one.join();
   two.join();
   CHECK(Handler().sa_handler == before.sa_handler);
}

void compile_threads()
{
   torch::manual_seed(1);
   ROOT::EnableThreadSafety();
   OwnCalls();
   KnownShapesGoOn();
   HandlerComesBack();
   Passed();
}
