/// \file select.cpp
/// Which variant of the kernels runs here. Compiled once, for every processor of the architecture.
#include "kernels.h"

namespace CladTorch {
namespace KernelsPortable {
extern const ct_kernels kTable;
}
#ifdef CT_HAS_AVX2
namespace KernelsAvx2 {
extern const ct_kernels kTable;
}
#endif
} // namespace CladTorch

const ct_kernels *ct_kernels_for_this_machine(int portable)
{
#ifdef CT_HAS_AVX2
   if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return &CladTorch::KernelsAvx2::kTable;
#endif
   (void)portable;
   return &CladTorch::KernelsPortable::kTable;
}
