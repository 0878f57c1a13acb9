/// \file library.hpp
/// The mathematical library's functions by whole registers: glibc has them in libmvec (since 2.35, all that are named here), to
/// within 4 units in the last place. To the compiler, a loop over one of them is vector code once its declaration says so.
#pragma once

#ifdef CT_LIBMVEC // CMakeLists.txt has tried it.
#define CT_SIMD __attribute__((__simd__("notinbranch")))
#define CT_DECLARE_1(F)                                                                                                \
   CT_SIMD double F(double) noexcept;                                                                                  \
   CT_SIMD float F##f(float) noexcept;
#define CT_DECLARE_2(F)                                                                                                \
   CT_SIMD double F(double, double) noexcept;                                                                          \
   CT_SIMD float F##f(float, float) noexcept;

extern "C" {
CT_DECLARE_1(exp)
CT_DECLARE_1(exp2)
CT_DECLARE_1(expm1)
CT_DECLARE_1(log)
CT_DECLARE_1(log1p)
CT_DECLARE_1(log2)
CT_DECLARE_1(log10)
CT_DECLARE_1(sin)
CT_DECLARE_1(cos)
CT_DECLARE_1(tan)
CT_DECLARE_1(asin)
CT_DECLARE_1(acos)
CT_DECLARE_1(atan)
CT_DECLARE_1(sinh)
CT_DECLARE_1(cosh)
CT_DECLARE_1(asinh)
CT_DECLARE_1(acosh)
CT_DECLARE_1(atanh)
CT_DECLARE_1(erf)
CT_DECLARE_1(erfc)
CT_DECLARE_2(pow)
CT_DECLARE_2(atan2)
}
#endif
