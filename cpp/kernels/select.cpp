/// \file select.cpp
/// Selects the variant of the kernels for this processor. Compiled once, for every processor of the architecture.
#include "kernels.h"

namespace CladTorch {
namespace KernelsPortable {
extern const ct_kernels kTable;
}
#ifdef CT_X86_64
namespace KernelsAvx2 {
extern const ct_kernels kTable;
}
namespace KernelsAvx512 {
extern const ct_kernels kTable;
}
namespace KernelsAvx512Bf16 {
extern const ct_bf16 kBf16;
}

namespace {

bool HasAvx2()
{
   return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool HasAvx512()
{
   return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

} // namespace
#endif
} // namespace CladTorch

const ct_kernels *ct_kernels_for_this_machine(int widest)
{
#ifdef CT_X86_64
   if (widest >= CT_AVX512 && CladTorch::HasAvx512())
      return &CladTorch::KernelsAvx512::kTable;
   if (widest >= CT_AVX2 && CladTorch::HasAvx2())
      return &CladTorch::KernelsAvx2::kTable;
#endif
   (void)widest;
   return &CladTorch::KernelsPortable::kTable;
}

const ct_bf16 *ct_bf16_for_this_machine(int widest)
{
#ifdef CT_X86_64
   if (widest >= CT_AVX512_BF16 && CladTorch::HasAvx512() && __builtin_cpu_supports("avx512bf16"))
      return &CladTorch::KernelsAvx512Bf16::kBf16;
#endif
   (void)widest;
   return nullptr;
}
