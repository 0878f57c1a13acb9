/// \file standin.hpp
/// What the text of cpp/kernels uses of C++'s headers, for NVRTC, which has none, and how kernels raise flags. The functions of <cmath>
/// are CUDA's own.
#pragma once

using int32_t = int;
using int64_t = long long;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uint8_t = unsigned char;
using size_t = decltype(sizeof 0);

/// Every GPU has fused multiply-adds.
#define __FMA__ 1

namespace std {

using ::int32_t;
using ::int64_t;
using ::size_t;
using ::uint32_t;
using ::uint64_t;

#define CT_SAME_1(F)                                                                                                   \
   inline float F(float x) { return ::F##f(x); }                                                                       \
   inline double F(double x) { return ::F(x); }                                                                        \
   inline double F(int x) { return ::F(double(x)); }
CT_SAME_1(sqrt) CT_SAME_1(exp) CT_SAME_1(exp2) CT_SAME_1(expm1) CT_SAME_1(log) CT_SAME_1(log1p) CT_SAME_1(log2)
CT_SAME_1(log10) CT_SAME_1(sin) CT_SAME_1(cos) CT_SAME_1(tan) CT_SAME_1(asin) CT_SAME_1(acos) CT_SAME_1(atan)
CT_SAME_1(sinh) CT_SAME_1(cosh) CT_SAME_1(tanh) CT_SAME_1(asinh) CT_SAME_1(acosh) CT_SAME_1(atanh) CT_SAME_1(erf) CT_SAME_1(erfc)
CT_SAME_1(floor) CT_SAME_1(ceil) CT_SAME_1(trunc) CT_SAME_1(nearbyint) CT_SAME_1(cbrt) CT_SAME_1(fabs) CT_SAME_1(round)
#undef CT_SAME_1
inline float abs(float x) { return ::fabsf(x); }
inline double abs(double x) { return ::fabs(x); }
inline int abs(int x) { return x < 0 ? -x : x; }

#define CT_SAME_2(F)                                                                                                   \
   inline float F(float x, float y) { return ::F##f(x, y); }                                                           \
   inline double F(double x, double y) { return ::F(x, y); }                                                           \
   inline double F(double x, int y) { return ::F(x, double(y)); }                                                      \
   inline double F(int x, double y) { return ::F(double(x), y); }
CT_SAME_2(pow) CT_SAME_2(atan2) CT_SAME_2(fmod) CT_SAME_2(copysign) CT_SAME_2(hypot) CT_SAME_2(fmax) CT_SAME_2(fmin)
#undef CT_SAME_2
template <typename T>
inline const T &max(const T &a, const T &b)
{
   return a < b ? b : a;
}
template <typename T>
inline const T &min(const T &a, const T &b)
{
   return b < a ? b : a;
}
inline float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return ::fma(x, y, z); }

inline void memcpy(void *to, const void *from, size_t n)
{
   ::memcpy(to, from, n);
}

template <typename T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
   static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000u); }
   static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000u); }
   static constexpr float max() { return 3.40282346638528859812e38f; }
};
template <>
struct numeric_limits<double> {
   static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000ull); }
   static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000ull); }
   static constexpr double max() { return 1.79769313486231570815e308; }
};
template <>
struct numeric_limits<int64_t> {
   static constexpr int64_t min() { return -9223372036854775807LL - 1; }
};

template <typename T, T... I>
struct integer_sequence {};
template <size_t... I>
using index_sequence = integer_sequence<size_t, I...>;
template <size_t N, size_t... I>
struct MakeIndices {
   using type = typename MakeIndices<N - 1, N - 1, I...>::type;
};
template <size_t... I>
struct MakeIndices<0, I...> {
   using type = index_sequence<I...>;
};
template <size_t N>
using make_index_sequence = typename MakeIndices<N>::type;

} // namespace std

namespace CladTorch::Device {

/// Sets a flag, which many threads may do at once.
inline void Raise(int32_t *flag)
{
   asm volatile("st.relaxed.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}

} // namespace CladTorch::Device
