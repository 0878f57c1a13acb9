/// \file compile_outputs.C
/// \brief Compiled functions of which only some outputs are used; inputs in any order of memory, with zeros of both signs;
/// conversions that convert nothing.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <iostream>

using Tensors = std::vector<torch::Tensor>;
using Outputs = std::function<Tensors(const Tensors &)>;

/// Whether two tensors have the same numbers, NaN included, or are both undefined.
bool Same(const torch::Tensor &a, const torch::Tensor &b)
{
   if (!a.defined() || !b.defined())
      return a.defined() == b.defined();
   return a.sizes() == b.sizes() && torch::allclose(a, b, 1e-3, 1e-4, true);
}

Tensors Leaves(const Tensors &inputs)
{
   Tensors leaves;
   for (const auto &input : inputs)
      leaves.push_back(input.detach().clone().requires_grad_());
   return leaves;
}

/// The gradients of the sum of these outputs.
Tensors Gradients(const Outputs &function, const Tensors &inputs, const std::vector<std::size_t> &used)
{
   const auto leaves = Leaves(inputs);
   const auto outputs = function(leaves);
   torch::Tensor sum;
   for (const auto output : used)
      sum = sum.defined() ? sum + outputs[output].sum() : outputs[output].sum();
   return torch::autograd::grad({sum}, leaves, {}, {}, false, true);
}

/// Each subset of three outputs, the first and last of which have slopes that are infinite for some of the numbers.
void CheckSubsets(const char *name, const Outputs &function, const Tensors &inputs, CladTorch::EBackEnd backEnd)
{
   CladTorch::CompileOptions options;
   options.fName = name;
   options.fBackEnd = backEnd;
   const auto compiled = CladTorch::Compile([=](const Tensors &tensors) { return function(tensors); }, inputs, options);
   std::cout << name << ": " << compiled.BackEnd() << " " << compiled.Reason() << std::endl;
   const auto call = [=](const Tensors &tensors) { return compiled.CallAll(tensors); };
   for (const std::vector<std::size_t> used :
        {std::vector<std::size_t>{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
      const auto found = Gradients(call, inputs, used), wanted = Gradients(function, inputs, used);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
         if (!Same(found[i], wanted[i]))
            std::cout << "used from " << used.front() << " to " << used.back() << ", input " << i << ":\n"
                      << found[i].flatten().slice(0, 0, 8) << "\ninstead of\n"
                      << wanted[i].flatten().slice(0, 0, 8) << std::endl;
         CHECK(Same(found[i], wanted[i]));
      }
   }
}

/// [rows, 4], with a zero, a great number and a NaN in some rows.
Tensors Awkward(std::int64_t rows)
{
   auto x = torch::rand({rows, 4}) + 0.5, y = torch::rand({rows, 4}) + 0.5;
   x[0][1] = 0;
   x[rows / 2][2] = 100;
   y[rows - 1][3] = 0;
   y[1][0] = NAN;
   return {x, y};
}

void CheckUnused(CladTorch::EBackEnd backEnd)
{
   for (const std::int64_t rows : {3, 200000}) { // at once, and in blocks of rows
      const auto inputs = Awkward(rows);
      CheckSubsets("by_rows", [](const Tensors &t) -> Tensors { return {t[0].sqrt().log(), t[0] * 2, (t[0] / t[1]).log()}; },
                   inputs, backEnd);
      CheckSubsets("sums", [](const Tensors &t) -> Tensors { return {t[0].sqrt().log().sum(), (t[0] * 2).sum(), (t[0] * t[1]).log().sum(0)}; },
                   inputs, backEnd);
      CheckSubsets("after_sums", [](const Tensors &t) -> Tensors {
         const auto sum = t[0].sum(), other = t[1].sum();
         return {(sum - sum).sqrt(), sum * 2, (other / (sum - sum)).log()};
      }, inputs, backEnd);
      CheckSubsets("before_rows", [](const Tensors &t) -> Tensors {
         const auto row = t[0][0], root = row.sqrt();
         return {root * t[1], row + t[1] * 0, (row * t[1]).softmax(1)};
      }, inputs, backEnd);
      CheckSubsets("in_parts", [](const Tensors &t) -> Tensors {
         const auto sums = ((t[0] * 2 + 1).square() + t[1].nan_to_num()).cumsum(1);
         return {t[0].sqrt().log() + sums.sin(), (sums * t[0]).cos() + 1, ((t[0] / t[1]).log() * 2).cumsum(1)};
      }, inputs, backEnd);
      CheckSubsets("reductions", [](const Tensors &t) -> Tensors {
         return {t[0].sqrt().log().amax(1), t[0].softmax(1), t[1].log().softmax(0)};
      }, inputs, backEnd);
   }
}

/// 1 / x shows the sign of a zero. Shapes around the tiles of a transposed copy.
void CheckZeros()
{
   for (const std::int64_t rows : {1, 3, 5, 16, 17, 33})
      for (const std::int64_t columns : {1, 4, 9, 16, 17})
         for (const auto type : {torch::kFloat32, torch::kFloat64}) {
            const auto minus = torch::full({columns, rows}, -0., type);
            const Tensors layouts{minus.t(), minus.t().contiguous(), torch::full({rows, 2 * columns}, -0., type).slice(1, 0, {}, 2),
                                  torch::full({1, columns}, -0., type).expand({rows, columns})};
            for (const auto &x : layouts) {
               const auto compiled = CladTorch::Compile([](torch::Tensor t) { return 1 / t; }, {x});
               CHECK((compiled.Forward({x}) == -INFINITY).all().item<bool>());
               const auto captured = CladTorch::Compile([x](torch::Tensor t) { return t / x; }, {torch::ones({rows, columns}, type)});
               CHECK((captured.Forward({torch::ones({rows, columns}, type)}) == -INFINITY).all().item<bool>());
            }
         }
}

void CheckConversions()
{
   using Function = torch::Tensor (*)(torch::Tensor);
   const Function functions[] = {
      [](torch::Tensor x) { return (x * 2).to(x.scalar_type()).sum(); },
      [](torch::Tensor x) { return x.sin().to(x.options()).sum(1); },
      [](torch::Tensor x) { return (x + 1).type_as(x) * x; },
      [](torch::Tensor x) { return x.matmul(x.t()).to(x.dtype()).exp(); },
      [](torch::Tensor x) { return x.cos().to(torch::kCPU).contiguous().clone(); },
   };
   for (const auto type : {torch::kFloat32, torch::kFloat64})
      for (const auto function : functions) {
         const auto x = torch::randn({5, 3}, type);
         const auto compiled = CladTorch::Compile(function, {x});
         std::cout << compiled.BackEnd() << " " << compiled.Reason() << std::endl;
         CHECK(compiled.BackEnd() == "aot");
         CHECK(Same(compiled.Forward({x}), function(x)));
      }
}

void compile_outputs()
{
   torch::manual_seed(1);
   CheckZeros();
   CheckConversions();
   CheckUnused(CladTorch::kAnyBackEnd);
   CheckUnused(CladTorch::kFastestBackEnd); // jit where there is a compiler
   std::cout << "ALL CHECKS PASSED" << std::endl;
}
