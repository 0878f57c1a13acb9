/// \file blas.cpp
/// Keeps the BLAS from opening threads of its own inside a worker.
#include "kernels.h"

/// MKL's switch; null where LibTorch was built with another BLAS.
extern "C" int MKL_Set_Num_Threads_Local(int threads) __attribute__((weak));

int ct_blas_single_thread(void)
{
   if (!MKL_Set_Num_Threads_Local)
      return 0;
   MKL_Set_Num_Threads_Local(1);
   return 1;
}
