/// \file compiled_cases.h
/// \brief Devices, checks and timings shared by the macros of compiled functions: black_scholes.C, contraction.C and shock.C.

#ifndef COMPILED_CASES
#define COMPILED_CASES

#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include <TError.h>
#include <TStopwatch.h>
#include <TSystem.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using torch::Tensor;
using Tensors = std::vector<Tensor>;

/// The device of this name; for "" the first GPU, or the CPU if there is none. Must be called first.
inline torch::Device DeviceFor(const std::string &name)
{
   if (!name.empty())
      return CladTorch::OpenDevice(name);
   const auto level = gErrorIgnoreLevel;
   gErrorIgnoreLevel = kFatal; // the absence of a GPU is not an error here
   torch::Device device(torch::kCPU);
   try {
      device = CladTorch::OpenDevice("cuda:0");
   } catch (const CladTorch::Error &) {
   }
   gErrorIgnoreLevel = level;
   return device;
}

/// Ends ROOT with exit code 1 unless the check holds.
inline void Require(bool holds, const std::string &what)
{
   if (holds)
      return;
   std::printf("FAILED: %s\n", what.c_str());
   std::fflush(stdout);
   gSystem->Exit(1);
}

/// Prints an error and requires that it is below its bound. A NaN fails.
inline void RequireBelow(double error, double bound, const std::string &what)
{
   std::printf("%s: %.2g (bound %.2g)\n", what.c_str(), error, bound);
   Require(error < bound, what);
}

/// Requires that kernels run the whole function, on either device, and leave nothing to LibTorch.
inline void RequireKernels(const CladTorch::Compiled &compiled)
{
   const auto backEnd = compiled.BackEnd();
   std::printf("back end %s\n", backEnd.c_str());
   Require(backEnd == "aot" || backEnd == "cuda", "LibTorch runs a part: " + compiled.Reason());
}

/// The largest difference over the largest expected value.
inline double ErrorOf(const Tensor &found, const Tensor &wanted)
{
   const auto exact = wanted.detach().to(torch::kCPU, torch::kFloat64);
   const auto difference = found.detach().to(torch::kCPU, torch::kFloat64) - exact;
   return (difference.abs().max() / exact.abs().max()).item<double>();
}

/// Copies by which LibTorch's autograd differentiates.
inline Tensors Leaves(const Tensors &inputs)
{
   Tensors leaves;
   for (const auto &input : inputs)
      leaves.push_back(input.detach().clone().requires_grad_());
   return leaves;
}

/// Seconds per call.
struct Timing {
   double fMedian, fFastest, fSlowest;
};

inline void Print(const std::string &what, const Timing &timing)
{
   std::printf("%-36s %10.3f ms (%.3f to %.3f)\n", what.c_str(), 1e3 * timing.fMedian, 1e3 * timing.fFastest,
               1e3 * timing.fSlowest);
}

/// Seconds of `count` calls, to the end of their work on a GPU.
inline double SecondsOf(const std::function<void()> &call, int count, torch::Device device)
{
   const auto wait = [&] {
      if (device.is_cuda())
         torch::cuda::synchronize();
   };
   wait();
   TStopwatch watch;
   for (int i = 0; i < count; ++i)
      call();
   wait();
   return watch.RealTime();
}

/// Times calls in alternating rounds, so that other load on the machine slows all of them alike.
inline std::vector<Timing> TimeInTurn(const std::vector<std::function<void()>> &calls, torch::Device device)
{
   const int rounds = 7;
   const double secondsPerRound = 0.03;
   std::vector<int> counts;
   for (const auto &call : calls) {
      SecondsOf(call, 1, device); // fills caches and memory pools
      counts.push_back(std::clamp<int>(secondsPerRound / SecondsOf(call, 1, device), 1, 1000));
   }
   std::vector<std::vector<double>> seconds(calls.size());
   for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < calls.size(); ++i)
         seconds[i].push_back(SecondsOf(calls[i], counts[i], device) / counts[i]);
   std::vector<Timing> timings;
   for (auto &of : seconds) {
      std::sort(of.begin(), of.end());
      timings.push_back({of[rounds / 2], of.front(), of.back()});
   }
   return timings;
}

#endif
