/// \file blas.cpp
/// Keeps the BLAS from starting its own threads inside a worker.
#include "kernels.h"

/// MKL's switch; null if LibTorch was built with another BLAS.
extern "C" int MKL_Set_Num_Threads_Local(int threads) __attribute__((weak));

int ct_blas_threads(int count)
{
   return MKL_Set_Num_Threads_Local ? MKL_Set_Num_Threads_Local(count) : -1;
}
