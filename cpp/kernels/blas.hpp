/// \file blas.hpp
/// The matrix product of the BLAS that LibTorch carries (MKL in the official builds), by its Fortran name. Weak, because a
/// program without LibTorch, which multiplies no matrices, has none.
#pragma once
#include <cstddef>

extern "C" {
void sgemm_(const char *transA, const char *transB, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc) __attribute__((weak));
void dgemm_(const char *transA, const char *transB, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc) __attribute__((weak));
}

namespace CladTorch::Kernels {

inline void Gemm(const char *transA, const char *transB, const int *m, const int *n, const int *k, const float *alpha,
                 const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
                 const int *ldc)
{
   sgemm_(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

inline void Gemm(const char *transA, const char *transB, const int *m, const int *n, const int *k, const double *alpha,
                 const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
                 const int *ldc)
{
   dgemm_(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// A row-major matrix as a factor of a product; `stride` is the length of a row in memory.
template <typename T>
struct Factor {
   const T *data;
   std::size_t stride;
   bool transposed = false;
};

/// c[M,N] = a[M,K] b[K,N] + beta c, row-major with rows `stride` apart; beta is 0 or 1. BLAS counts columns first, so it
/// is given the transposed product.
template <typename T>
inline void
Multiply(std::size_t M, std::size_t N, std::size_t K, Factor<T> a, Factor<T> b, T beta, T *c, std::size_t stride)
{
   const int m = static_cast<int>(N), n = static_cast<int>(M), k = static_cast<int>(K);
   const int lda = static_cast<int>(b.stride), ldb = static_cast<int>(a.stride), ldc = static_cast<int>(stride);
   const T one = 1;
   Gemm(b.transposed ? "T" : "N", a.transposed ? "T" : "N", &m, &n, &k, &one, b.data, &lda, a.data, &ldb, &beta, c,
        &ldc);
}

} // namespace CladTorch::Kernels
