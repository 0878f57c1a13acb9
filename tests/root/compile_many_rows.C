/// \file compile_many_rows.C
/// \brief Compiled functions with enough rows to run in blocks: random factors, and sums as exact as in float64.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <functional>
#include <string>
#include <vector>

using torch::Tensor;
using Function = std::function<Tensor(const Tensor &)>;

/// The value, and the gradient of the input for an adjoint of ones.
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

/// Products of matrices sum some thousand rows in float32.
void Agrees(const std::string &what, const Tensor &found, const Tensor &expected)
{
   const bool isOfProducts = what.rfind("second moments", 0) == 0 || what.rfind("squared length", 0) == 0;
   const auto difference = Difference(found, expected);
   std::printf("%.1e ", difference);
   Check(difference < (isOfProducts ? 2e-5 : 5e-6), what.c_str(), __FILE__, __LINE__);
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

/// Numbers far from 0, whose running sums in float32 would be wrong in the third digit.
void Sums()
{
   const std::vector<std::pair<std::string, Function>> functions{
      {"sum", [](const Tensor &x) { return x.sum(); }},
      {"sum of rows", [](const Tensor &x) { return x.sum(0); }},
      {"sum of columns", [](const Tensor &x) { return x.sum(1); }},
      {"mean of rows", [](const Tensor &x) { return x.mean(0); }},
      {"mean of computed rows", [](const Tensor &x) { return (x * 2 + 1).mean(0); }},
      {"variance", [](const Tensor &x) { return x.var(0); }},
      {"second moments", [](const Tensor &x) { return x.t().mm(x * 2) / x.size(0); }},
      {"squared length", [](const Tensor &x) { return x.flatten().dot(x.flatten()) / x.numel(); }},
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

/// Which of equal numbers receives the derivative, for rows side by side and one after the other, with and without NaN.
void Ties()
{
   const std::vector<std::pair<std::string, Function>> functions{
      {"amax of rows", [](const Tensor &x) { return x.amax(0) * x.amax(0); }},
      {"amax of columns", [](const Tensor &x) { return x.amax(1).square(); }},
      {"max of rows", [](const Tensor &x) { return std::get<0>(x.max(0)).square(); }},
      {"max of columns", [](const Tensor &x) { return std::get<0>(x.max(1)).square(); }},
      {"max", [](const Tensor &x) { return x.max().square(); }},
      {"argmax of rows", [](const Tensor &x) { return x.gather(0, x.argmax(0, true)).square(); }},
      {"argmax of columns", [](const Tensor &x) { return x.gather(1, x.argmax(1, true)).square(); }},
      {"argmin of rows", [](const Tensor &x) { return x.gather(0, x.argmin(0, true)).square(); }},
      {"argmin of columns", [](const Tensor &x) { return x.gather(1, x.argmin(1, true)).square(); }},
      {"amax of pieces", [](const Tensor &x) { return x.view({x.size(0), 2, -1}).amax(1) * 3; }}};
   for (const auto &[rows, columns] : std::vector<std::pair<int, int>>{{3, 16}, {40, 258}, {700, 18}, {20011, 30}, {5, 3000}}) {
      for (const bool withNaN : {false, true}) {
         auto x = torch::randint(5, {rows, columns}).to(torch::kFloat);
         if (withNaN)
            x[rows / 2][columns / 2] = std::nanf("");
         for (const auto &[name, function] : functions) {
            const auto compiled = CladTorch::Compile([f = function](Tensor given) { return f(given); }, {x});
            const auto expected = Both(function, x, 1), found = Both([&](const Tensor &given) { return compiled(given); }, x, 1);
            CHECK(compiled.BackEnd() == "aot");
            for (std::size_t i = 0; i < expected.size(); ++i)
               Check(torch::allclose(found[i], expected[i], 1e-6, 1e-7, true),
                     (name + " of " + std::to_string(rows) + " x " + std::to_string(columns) + (withNaN ? " with NaN" : "")).c_str(), __FILE__,
                     __LINE__);
         }
      }
   }
}

/// Rows of one number have no deviation, however large the number is.
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
   Ties();
   ConstantRows();
   std::cout << "ALL CHECKS PASSED" << std::endl;
}
