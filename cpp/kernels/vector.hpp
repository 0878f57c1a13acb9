/// \file vector.hpp
/// One vector register of the variant being compiled, by the compiler's own vector types.
#pragma once
#include <cstddef>
#include <cstring>

namespace CladTorch::Kernels {

#if defined(__AVX__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

template <typename T>
struct VectorOf {
   typedef T Type __attribute__((vector_size(kVectorBytes)));
};

template <typename T>
using Vector = typename VectorOf<T>::Type;

/// Numbers in a register.
template <typename T>
constexpr std::size_t kLanes = kVectorBytes / sizeof(T);

/// Numbers from an address of any alignment.
template <typename T>
inline Vector<T> Load(const T *from)
{
   Vector<T> v;
   std::memcpy(&v, from, sizeof v);
   return v;
}

template <typename T>
inline void Store(Vector<T> v, T *to)
{
   std::memcpy(to, &v, sizeof v);
}

} // namespace CladTorch::Kernels
