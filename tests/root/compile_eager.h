/// \file compile_eager.h
/// \brief A function of one tensor, compiled and with LibTorch alone.

#ifndef CLADTORCH_TEST_COMPILE_EAGER
#define CLADTORCH_TEST_COMPILE_EAGER

#include <CladTorch/Torch.hxx>

#include "check.h"

#include <functional>
#include <iostream>
#include <limits>

using Function = std::function<torch::Tensor(const torch::Tensor &)>;

/// The outcome of a call: its value, the gradient of its input, or its exception.
struct Seen {
   torch::Tensor fValue, fGradient;
   bool fThrows = false;
};

inline Seen Call(const Function &function, const torch::Tensor &input)
{
   Seen seen;
   try {
      CladTorch::Internal::TorchGuard("test", [&] {
         const auto x = input.detach().clone().requires_grad_();
         seen.fValue = function(x);
         if (!seen.fValue.requires_grad())
            return;
         // Of the order of 1 and the same to the last digits, however large the values are.
         const auto value = seen.fValue.detach(), seed = (value / (1 + value.abs())).cos();
         seen.fGradient = torch::autograd::grad({(seen.fValue * seed).sum()}, {x}, {}, false, false, true)[0];
      });
   } catch (const CladTorch::Error &) {
      seen.fThrows = true;
   }
   return seen;
}

inline bool Same(const torch::Tensor &a, const torch::Tensor &b)
{
   if (!a.defined() || !b.defined())
      return a.defined() == b.defined();
   return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && torch::allclose(a, b, 1e-4, 1e-5, true);
}

/// Values that a function may meet later: other signs and sizes, exact numbers, and none.
inline std::vector<torch::Tensor> Later(const torch::Tensor &x)
{
   auto hole = x.clone();
   hole.view(-1)[0] = std::numeric_limits<float>::quiet_NaN();
   return {x, -x, torch::zeros_like(x), torch::full_like(x, 30), 0.01 * x, hole};
}

/// Whether `function`, compiled, runs on `backEnd`, with the reason if that is LibTorch, and behaves as without
/// compilation, at once and later.
inline bool AsEager(const char *name, const Function &function, const torch::Tensor &x, const char *backEnd, const char *why = "")
{
   const auto compiled = CladTorch::Compile([function](torch::Tensor given) { return function(given); }, {x});
   std::printf("%s: %s: %s\n", name, compiled.BackEnd().c_str(), compiled.Reason().c_str());
   bool good = compiled.BackEnd() == backEnd && compiled.Reason().empty() == (compiled.BackEnd() == "aot") &&
               compiled.Reason().find(why) != std::string::npos;
   for (const auto &later : Later(x)) {
      torch::manual_seed(4);
      const auto wanted = Call(function, later);
      torch::manual_seed(4);
      const auto found = Call([&](const torch::Tensor &given) { return compiled(given); }, later);
      const bool same = wanted.fThrows == found.fThrows && Same(wanted.fValue, found.fValue) && Same(wanted.fGradient, found.fGradient);
      if (!same)
         std::cout << name << " of\n" << later << "\nis\n" << found.fValue << found.fGradient << "\nand not\n"
                   << wanted.fValue << wanted.fGradient << std::endl;
      good = good && same;
   }
   return good;
}

#endif
