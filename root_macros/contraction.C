/// \file contraction.C
/// \brief Tensor contractions by torch::einsum and their gradients: compiled, against LibTorch and central differences.
///
/// Two cases: a tensor of rank 3 with a matrix, y_ijl = sum_k a_ijk b_kl, and two tensors of rank 3 over two indices,
/// V_il = sum_jk T_ijk U_jkl. If all indices run over n values, a value and its gradient by both operands take 6 n^4
/// operations.
///
///     root -l -b -q root_macros/contraction.C
///     root -l 'root_macros/contraction.C("cuda:0", 256)'
///
/// The device "" is a GPU if there is one. Operands are normal random numbers from a seed.

R__LOAD_LIBRARY(libcladtorch)
#include "compiled_cases.h"

#include <cmath>
#include <cstdint>

/// A contraction of two operands, by its equation.
struct Case {
   std::string fName, fEquation;
   bool fSecondIsMatrix;

   Tensor operator()(Tensor a, Tensor b) const { return torch::einsum(fEquation, {a, b}); }

   /// Two operands of length `size` along each dimension, scaled so that sums of products are of the order of 1.
   Tensors Operands(std::int64_t size, torch::TensorOptions options) const
   {
      torch::manual_seed(1);
      const std::vector<std::int64_t> second(fSecondIsMatrix ? 2 : 3, size);
      const double products = fSecondIsMatrix ? size : size * size;
      return {torch::randn({size, size, size}, options), torch::randn(second, options) / std::sqrt(products)};
   }
};

const std::vector<Case> kCases = {{"rank 3 with rank 2", "ijk,kl->ijl", true}, {"rank 3 with rank 3", "ijk,jkl->il", false}};

/// Values and gradients against LibTorch's, for the sum of random adjoints times values.
void CheckAgainstLibTorch(const Case &contraction, const Tensors &operands, double bound)
{
   const auto compiled = CladTorch::Compile(contraction, operands);
   RequireKernels(compiled);
   const auto leaves = Leaves(operands);
   const auto wanted = contraction(leaves[0], leaves[1]);
   const auto adjoint = torch::randn_like(wanted);
   RequireBelow(ErrorOf(compiled.Forward(operands), wanted), bound, "   values against LibTorch");
   const auto gradients = torch::autograd::grad({wanted}, leaves, {adjoint}), found = compiled.Backward({adjoint});
   for (std::size_t i = 0; i < gradients.size(); ++i)
      RequireBelow(ErrorOf(found[i], gradients[i]), bound, "   gradient by operand " + std::to_string(i));
}

/// Central differences by every element of both operands; the function is linear in each, so the step may be large.
void CheckAgainstDifferences(const Case &contraction, torch::Device device)
{
   const double step = 1e-2;
   const std::int64_t size = 4;
   const auto operands = contraction.Operands(size, torch::dtype(torch::kFloat64).device(device));
   const auto compiled = CladTorch::Compile(contraction, operands);
   const auto adjoint = torch::randn_like(compiled.Forward(operands));
   const auto gradients = compiled.Backward({adjoint});
   for (std::size_t i = 0; i < operands.size(); ++i) {
      auto differences = torch::empty({operands[i].numel()}, torch::kFloat64);
      for (std::int64_t k = 0; k < operands[i].numel(); ++k) {
         const auto sum = [&](double shift) {
            auto moved = operands;
            moved[i] = operands[i].clone();
            moved[i].view(-1)[k] += shift;
            return (adjoint * contraction(moved[0], moved[1])).sum().item<double>();
         };
         differences[k] = (sum(step) - sum(-step)) / (2 * step);
      }
      const auto error = ErrorOf(gradients[i].view(-1), differences);
      RequireBelow(error, 1e-10, "   central differences by operand " + std::to_string(i));
   }
}

void Time(const Case &contraction, const Tensors &operands, torch::Device device)
{
   const auto compiled = CladTorch::Compile(contraction, operands);
   const auto adjoint = torch::ones_like(compiled.Forward(operands));
   const auto leaves = Leaves(operands);
   const auto timings = TimeInTurn({[&] {
                                       compiled.Forward(operands);
                                       compiled.Backward({adjoint});
                                    },
                                    [&] { torch::autograd::grad({contraction(leaves[0], leaves[1])}, leaves, {adjoint}); }},
                                   device);
   Print("   value and gradient, compiled", timings[0]);
   Print("   value and gradient, LibTorch", timings[1]);
   const double operations = 6 * std::pow(operands[0].size(0), 4);
   std::printf("   %.2f times LibTorch's speed, %.1f and %.1f GFLOP/s\n", timings[1].fMedian / timings[0].fMedian,
               1e-9 * operations / timings[0].fMedian, 1e-9 * operations / timings[1].fMedian);
}

void contraction(const char *device = "", std::size_t size = 64)
{
   const auto place = DeviceFor(device);
   for (const auto &contraction : kCases) {
      std::printf("%s, %s, %zu numbers along each dimension on %s\n", contraction.fName.c_str(),
                  contraction.fEquation.c_str(), size, place.str().c_str());
      const auto operands = contraction.Operands(size, torch::device(place));
      CheckAgainstLibTorch(contraction, operands, 1e-4);
      CheckAgainstLibTorch(contraction, contraction.Operands(16, torch::dtype(torch::kFloat64).device(place)), 1e-12);
      CheckAgainstDifferences(contraction, place);
      Time(contraction, operands, place);
   }
}
