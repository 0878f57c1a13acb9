/// \file compile_many_rows.C
/// \brief Compiled functions of so many rows that they run in blocks: random factors, and sums as exact as in float64.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <functional>
#include <string>
#include <vector>

using torch::Tensor;
using Function = std::function<Tensor(const Tensor &)>;

/// The value, and what an adjoint of ones gives the input.
std::vector<Tensor> Both(const Function &function, const Tensor &x, int seed)
{
   torch::manual_seed(seed);
   const auto input = x.detach().clone().requires_grad_();
   const auto value = function(input);
   CladTorch::Internal::TorchGuard("test", [&] { value.sum().backward(); });
   return {value.detach(), input.grad()};
}

double Difference(const Tensor &a, const Tensor &b)
{
   const auto scale = b.abs().max().item<double>();
   return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>() / (scale > 0 ? scale : 1);
}

void Agrees(const std::string &what, const Tensor &found, const Tensor &expected)
{
   const auto difference = Difference(found, expected);
   std::printf("%.1e ", difference);
   Check(difference < 5e-6, what.c_str(), __FILE__, __LINE__);
}

/// LibTorch's generator draws the factors, in the same order.
void RandomFactors()
{
   torch::nn::Sequential net(torch::nn::Linear(13, 16), torch::nn::ReLU(), torch::nn::Dropout(0.3), torch::nn::Linear(16, 2));
   const std::vector<std::pair<std::string, Function>> functions{
      {"dropout", [](const Tensor &x) { return torch::dropout(x, 0.3, true); }},
      {"dropout twice", [](const Tensor &x) { return torch::dropout(torch::dropout(x * 2, 0.3, true).tanh(), 0.5, true).square(); }},
      {"dropout of channels", [](const Tensor &x) { return torch::feature_dropout(x.unsqueeze(2) * 2, 0.4, true).squeeze(2); }},
      {"a network", [=](const Tensor &x) mutable { return net->forward(x); }}};
   for (const auto &[name, function] : functions) {
      for (const int rows : {1000, 20011}) {
         const auto x = torch::randn({rows, 13});
         const auto compiled = CladTorch::Compile([f = function](Tensor given) { return f(given); }, {x});
         const auto expected = Both(function, x, 3), found = Both([&](const Tensor &given) { return compiled(given); }, x, 3);
         CHECK(compiled.BackEnd() == "aot");
         for (std::size_t i = 0; i < expected.size(); ++i)
            Check(Difference(found[i], expected[i]) < 1e-5, (name + " of " + std::to_string(rows) + " rows").c_str(), __FILE__, __LINE__);
      }
   }
}

/// Of numbers far from 0, whose running sums in float32 would be wrong in the third digit.
void Sums()
{
   const std::vector<std::pair<std::string, Function>> functions{
      {"sum", [](const Tensor &x) { return x.sum(); }},
      {"sum of rows", [](const Tensor &x) { return x.sum(0); }},
      {"sum of columns", [](const Tensor &x) { return x.sum(1); }},
      {"mean of rows", [](const Tensor &x) { return x.mean(0); }},
      {"mean of computed rows", [](const Tensor &x) { return (x * 2 + 1).mean(0); }},
      {"variance", [](const Tensor &x) { return x.var(0); }},
      {"deviation", [](const Tensor &x) { return (x - x.mean(0)).square().mean(0); }},
      {"gradient of what is broadcast", [](const Tensor &x) { return (x.slice(0, 0, 1) * torch::ones_like(x)).sum(0); }}};
   for (const auto &[columns, rows] : std::vector<std::pair<int, int>>{{1, 1000003}, {3, 1000003}, {16, 300007}, {50, 100003}, {300, 20011}}) {
      const auto x = torch::rand({rows, columns}) * 2 + 1000;
      for (const auto &[name, function] : functions) {
         const auto compiled = CladTorch::Compile([f = function](Tensor given) { return f(given); }, {x});
         const auto expected = Both(function, x.to(torch::kDouble), 1), found = Both([&](const Tensor &given) { return compiled(given); }, x, 1);
         for (std::size_t i = 0; i < expected.size(); ++i)
            Agrees(name + " of " + std::to_string(rows) + " x " + std::to_string(columns), found[i], expected[i]);
      }
   }
}

/// Rows of one number have no deviation, however large that is.
void ConstantRows()
{
   for (const double number : {0.1, 1234.567, 1000000.3, 1.1e10}) {
      const auto x = torch::full({5, 58}, number);
      const auto compiled = CladTorch::Compile([](Tensor given) { return torch::layer_norm(given, {58}); }, {x});
      CHECK(compiled.BackEnd() == "aot" && compiled(x).abs().max().item<float>() == 0);
   }
}

void compile_many_rows()
{
   torch::manual_seed(1);
   RandomFactors();
   Sums();
   ConstantRows();
   std::cout << "ALL CHECKS PASSED" << std::endl;
}
