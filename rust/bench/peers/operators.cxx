// The sides of `cargo xtask bench operators`: `operators eager|compiled|list THREADS`.
//
// eager: LibTorch. compiled: CladTorch::Compile. list: prints the names of the operators.
// A repetition is the value, or the value and the gradients of all inputs that are numbers.

#include "lines.h"
#include "operators.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

namespace {

const Operator &Named(const std::string &name)
{
   const auto &all = Operators();
   const auto found = std::find_if(all.begin(), all.end(), [&](const auto &one) { return one.fName == name; });
   if (found == all.end())
      throw std::invalid_argument("no operator '" + name + "'");
   return *found;
}

/// As an optimiser wants them: some of LibTorch's are one number for many elements.
Tensors Dense(Tensors gradients)
{
   for (auto &gradient : gradients)
      if (gradient.defined())
         gradient = gradient.contiguous();
   return gradients;
}

class Run {
   const Operator &fOperator;
   Tensors fInputs, fNumbers;
   torch::Tensor fAdjoint, fValue;
   std::function<Tensors()> fRepeat; ///< returns gradients; sets fValue

public:
   Run(bool compiled, const std::string &name, std::int64_t size, bool forward) : fOperator(Named(name))
   {
      fInputs = fOperator.fInputs(size);
      fAdjoint = Adjoint();
      for (auto &input : fInputs)
         if (input.is_floating_point() && !forward && !compiled)
            fNumbers.push_back(input.set_requires_grad(true));
      if (!compiled) {
         fRepeat = [=] {
            const torch::AutoGradMode recording(!forward);
            fValue = fOperator.fFunction(fInputs);
            return forward ? Tensors{} : Dense(torch::autograd::grad({fValue}, fNumbers, {fAdjoint}, {}, false, true));
         };
         return;
      }
      CladTorch::CompileOptions options;
      options.fName = name;
      options.fBackEnd = CladTorch::kAotBackEnd;
      const auto function = CladTorch::Compile(fOperator.fFunction, fInputs, options);
      fRepeat = [=] {
         if (forward) {
            const torch::NoGradGuard off;
            fValue = function.Call(fInputs);
            return Tensors{};
         }
         fValue = function.Forward(fInputs);
         return function.Backward({fAdjoint});
      };
   }

   /// Seconds a repetition.
   double Round(std::int64_t steps)
   {
      const auto start = std::chrono::steady_clock::now();
      for (std::int64_t step = 0; step < steps; ++step)
         fRepeat();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
   }

   /// The mean magnitudes of the value and of each gradient.
   double Check()
   {
      double sum = 0;
      for (const auto &gradient : fRepeat())
         if (gradient.defined())
            sum += gradient.abs().mean().item<double>();
      return sum + fValue.abs().mean().item<double>();
   }

private:
   torch::Tensor Adjoint() const
   {
      const torch::NoGradGuard off;
      return Numbers(fOperator.fFunction(fInputs).sizes().vec(), 3) + 1;
   }
};

} // namespace

int main(int, char **arguments)
{
   const std::string side = arguments[1];
   if (side == "list") {
      for (const auto &one : Operators())
         std::cout << one.fName << '\n';
      return 0;
   }
   torch::set_num_threads(std::stoi(arguments[2]));
   std::unique_ptr<Run> run;
   Serve([&](const std::string &verb, Values &values) -> std::string {
      if (verb == "case") {
         run.reset();
         run = std::make_unique<Run>(side == "compiled", values.at("operator"), std::stoll(values.at("size")),
                                     values.at("way") == "forward");
         return "ready";
      }
      if (run && verb == "round")
         return Said("time", run->Round(std::stoll(values.at("steps"))));
      if (run && verb == "check")
         return Said("check", run->Check());
      throw std::invalid_argument("no request '" + verb + "' now");
   });
}
