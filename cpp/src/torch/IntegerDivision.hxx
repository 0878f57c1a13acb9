/// \file torch/IntegerDivision.hxx
/// \brief Divisions of whole numbers in a TorchScript network, which throw where the processor would end the session.

#ifndef CLADTORCH_TORCH_INTEGERDIVISION
#define CLADTORCH_TORCH_INTEGERDIVISION

#include <torch/csrc/jit/ir/ir.h>

namespace CladTorch {
namespace Internal {

/// Makes every division, remainder and greatest common divisor of two whole numbers in `block` check its divisor first.
/// LibTorch does not check it: 5 % 0 and -2^63 // -1 raise SIGFPE.
void CheckDivisors(torch::jit::Block &block);

} // namespace Internal
} // namespace CladTorch

#endif
