/// \file compile_formulas.h
/// \brief Formulas as physicists write them, compiled and with LibTorch alone: what they share. The lists are in
///        compile_physics.h and compile_signals.h.

#ifndef CLADTORCH_TEST_COMPILE_FORMULAS
#define CLADTORCH_TEST_COMPILE_FORMULAS

#include <CladTorch/Torch.hxx>

#include "check.h" // last: LibTorch has a CHECK, too

#include <TString.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>

using torch::Tensor;
using Tensors = std::vector<Tensor>;
using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

/// An input: random numbers of a shape in which -1 stands for the number of events, or given ones.
struct Given {
   std::vector<std::int64_t> fShape;
   bool fUniform = false;
   double fLow = 0, fHigh = 1; ///< of uniform numbers; else mean and deviation
   std::vector<float> fNumbers;

   Tensor Make(std::int64_t events, torch::ScalarType type) const
   {
      if (!fNumbers.empty())
         return torch::tensor(fNumbers, type);
      auto shape = fShape;
      for (auto &size : shape)
         size = size < 0 ? events : size;
      return fUniform ? fLow + (fHigh - fLow) * torch::rand(shape, type) : fLow + fHigh * torch::randn(shape, type);
   }
};

inline Given Normal(std::vector<std::int64_t> shape, double mean = 0, double deviation = 1)
{
   return {std::move(shape), false, mean, deviation, {}};
}

inline Given Uniform(std::vector<std::int64_t> shape, double low = 0, double high = 1)
{
   return {std::move(shape), true, low, high, {}};
}

inline Given Fixed(std::vector<float> numbers)
{
   return {{}, false, 0, 1, std::move(numbers)};
}

struct Formula {
   const char *fName;
   std::vector<Given> fInputs;
   std::function<Tensor(const Tensors &)> fRun;
   const char *fBackEnd = "aot"; ///< the expected back end
};

/// Value and gradients of a call, or that it throws.
struct Outcome {
   Tensors fTensors;
   std::string fThrown;
};

inline Outcome Run(const std::function<Tensor(const Tensors &)> &function, const Tensors &inputs)
{
   Outcome outcome;
   try {
      CladTorch::Internal::TorchGuard("test", [&] {
         Tensors leaves;
         for (const auto &input : inputs)
            leaves.push_back(input.detach().clone().requires_grad_());
         const auto value = function(leaves);
         outcome.fTensors.push_back(value.detach());
         if (!value.requires_grad())
            return;
         const auto seed = torch::cos(torch::arange(value.numel(), value.options().requires_grad(false))).view(value.sizes());
         const auto gradients = torch::autograd::grad({value}, leaves, {seed}, false, false, true);
         outcome.fTensors.insert(outcome.fTensors.end(), gradients.begin(), gradients.end());
      });
   } catch (const CladTorch::Error &e) {
      outcome.fThrown = e.what();
   }
   return outcome;
}

/// Where the outcomes differ, to the precision of the value's type; empty if they do not. An undefined gradient counts
/// as zeros.
inline std::string Difference(const Outcome &wanted, const Outcome &found)
{
   if (wanted.fThrown.empty() != found.fThrown.empty())
      return "throws '" + found.fThrown + "' instead of '" + wanted.fThrown + "'";
   if (wanted.fTensors.size() != found.fTensors.size())
      return "another number of gradients";
   const bool isDouble = !wanted.fTensors.empty() && wanted.fTensors[0].scalar_type() == torch::kFloat64;
   const double tolerance = isDouble ? 1e-9 : 2e-4;
   for (std::size_t i = 0; i < wanted.fTensors.size(); ++i) {
      const auto &a = wanted.fTensors[i], &b = found.fTensors[i];
      const auto what = i ? "gradient " + std::to_string(i - 1) : std::string("value");
      if (!a.defined() && !b.defined())
         continue;
      const auto filled = [](const Tensor &one, const Tensor &other) { return one.defined() ? one : torch::zeros_like(other); };
      const auto left = filled(a, b), right = filled(b, a);
      if (left.sizes() != right.sizes() || left.scalar_type() != right.scalar_type())
         return what + " of another shape or type";
      const auto largest = left.numel() ? left.nan_to_num().abs().max().item<double>() : 0;
      if (!torch::allclose(left, right, tolerance, tolerance * std::max(1.0, largest), true))
         return what + TString::Format(" off by %.3g of %.3g", (left - right).abs().max().item<double>(), largest).Data();
   }
   return "";
}

/// Whether the compiled formula behaves as without compilation, for several numbers of events, other values, and a NaN
/// among them. In float32 two orders of the same sums differ; float64 shows whether there is more to it.
inline bool HoldsCompiled(const Formula &formula, bool dynamic, torch::ScalarType type)
{
   torch::manual_seed(3);
   const auto make = [&](std::int64_t events) {
      Tensors inputs;
      for (const auto &input : formula.fInputs)
         inputs.push_back(input.Make(events, type));
      return inputs;
   };
   CladTorch::CompileOptions options;
   options.fDynamicBatch = dynamic;
   std::optional<CladTorch::Compiled> made;
   try {
      made.emplace(CladTorch::Compile([run = formula.fRun](const Tensors &inputs) { return Tensors{run(inputs)}; }, make(6), options));
   } catch (const CladTorch::Error &) { // the message has been printed
      std::printf("%s: refused%s\n", formula.fName, dynamic ? " with fDynamicBatch" : "");
      // Not every function supports any number of events, or another type than its float32 constants.
      return dynamic || !Run(formula.fRun, make(6)).fThrown.empty();
   }
   const auto &compiled = *made;
   bool good = true;
   const auto check = [&](const std::string &what, const std::string &difference) {
      if (!difference.empty())
         std::cout << "FAILED " << formula.fName << (dynamic ? ", fDynamicBatch, " : ", ") << type << ", " << what << ": " << difference << std::endl;
      good = good && difference.empty();
   };
   if (!dynamic && type == torch::kFloat32) // constants are float32, which does not mix
      check("back end", compiled.BackEnd() == formula.fBackEnd ? "" : compiled.BackEnd() + ": " + compiled.Reason());
   for (const std::int64_t events : {6, 6, 9, 1, 2, 6, 40}) {
      auto inputs = make(events);
      if (events == 2) // a NaN in each
         for (auto &input : inputs)
            input.view(-1)[0] = std::numeric_limits<float>::quiet_NaN();
      check(std::to_string(events) + " events", Difference(Run(formula.fRun, inputs), Run([&](const Tensors &x) { return compiled.CallAll(x)[0]; }, inputs)));
   }
   return good;
}

inline bool AllHold(const std::vector<Formula> &formulas)
{
   bool good = true;
   for (const auto &formula : formulas) {
      for (const bool dynamic : {false, true})
         good = HoldsCompiled(formula, dynamic, torch::kFloat32) && good;
      good = HoldsCompiled(formula, false, torch::kFloat64) && good;
   }
   return good;
}

#endif
