/// \file blas.cpp
/// Keeps the BLAS from opening threads of its own inside a worker.
#include "kernels.h"

/// MKL's switch; null where LibTorch was built with another BLAS.
extern "C" int MKL_Set_Num_Threads_Local(int threads) __attribute__((weak));

int ct_blas_threads(int count)
{
   return MKL_Set_Num_Threads_Local ? MKL_Set_Num_Threads_Local(count) : -1;
}
