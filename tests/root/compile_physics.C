/// \file compile_physics.C
/// \brief Formulas of particle physics, statistics and signal analysis, compiled and with LibTorch alone: values, gradients, other
///        numbers and shapes, with and without fDynamicBatch.

R__LOAD_LIBRARY(libcladtorch)
#include "compile_physics.h"
#include "compile_signals.h"

/// With fDynamicBatch, tensors of one number that a function makes follow the number of events; those of several
/// numbers are refused.
void CheckFills()
{
   const std::pair<const char *, Tensor (*)(const Tensors &)> follow[] = {
      {"a state of zeros", [](const Tensors &t) {
          auto state = torch::zeros({t[0].size(0), 3});
          for (int step = 0; step < 3; ++step)
             state = torch::tanh(0.5 * state + t[0]);
          return state;
       }},
      {"padding by ones", [](const Tensors &t) { return torch::cat({t[0], torch::ones({t[0].size(0), 2})}, 1).square(); }},
      {"written into zeros", [](const Tensors &t) {
          auto y = torch::zeros({t[0].size(0), 4});
          y.slice(1, 1).add_(t[0]);
          return y.exp();
       }},
      {"twice as many", [](const Tensors &t) {
          return t[0] * torch::full({2 * t[0].size(0), 3}, -0.5).slice(0, 0, t[0].size(0));
       }},
   };
   CladTorch::CompileOptions options;
   options.fDynamicBatch = true;
   for (const auto &[name, run] : follow) {
      const auto compiled = CladTorch::Compile([run = run](const Tensors &t) { return Tensors{run(t)}; }, {torch::randn({6, 3})}, options);
      Check(compiled.BackEnd() == "aot", name, __FILE__, __LINE__);
      for (const int events : {6, 7, 1, 2, 100, 0}) {
         const Tensors inputs{torch::randn({events, 3})};
         Check(Difference(Run(run, inputs), Run([&](const Tensors &x) { return compiled.CallAll(x)[0]; }, inputs)).empty(), name, __FILE__, __LINE__);
      }
   }
   const auto counts = [](const Tensors &t) { return Tensors{t[0] + torch::arange(t[0].size(0)).unsqueeze(1)}; };
   Refuses("numbers of the rows", [&] { CladTorch::Compile(counts, {torch::randn({6, 3})}, options); }, {"aten::add", "fDynamicBatch"});
   const auto share = [](const Tensors &t) { return Tensors{t[0] * torch::full({t[0].size(0), 1}, 1. / double(t[0].size(0)))}; };
   Refuses("one by the number of rows", [&] { CladTorch::Compile(share, {torch::randn({6, 3})}, options); }, {"fDynamicBatch"});
}

void compile_physics()
{
   torch::manual_seed(1);
   CheckFills();
   const std::pair<const char *, std::vector<Formula>> lists[] = {
      {"likelihoods", Likelihoods()}, {"kinematics", Kinematics()}, {"jets", Jets()},
      {"signals", Signals()},         {"networks", Networks()},     {"numerics", Numerics()}};
   bool good = true;
   for (const auto &[name, formulas] : lists) {
      std::printf("%zu %s\n", formulas.size(), name);
      good = AllHold(formulas) && good;
   }
   CHECK(good);
   Passed();
}
