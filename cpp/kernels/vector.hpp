/// \file vector.hpp
/// One vector register of the variant being compiled, by the compiler's own vector types.
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace CladTorch::Kernels {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

/// Numbers in a register.
template <typename T>
constexpr std::size_t kLanes = kVectorBytes / sizeof(T);

template <typename T, std::size_t C>
struct VectorOf {
   typedef T Type __attribute__((vector_size(C * sizeof(T))));
};

/// C numbers as one, C a power of two: in a part of a register, in one, or in several.
template <typename T, std::size_t C>
using Pack = typename VectorOf<T, C>::Type;

template <typename T>
using Vector = Pack<T, kLanes<T>>;

/// Numbers from an address of any alignment.
template <typename T>
inline Vector<T> Load(const T *from)
{
   Vector<T> v;
   std::memcpy(&v, from, sizeof v);
   return v;
}

template <typename T, typename U, std::size_t... I>
inline Pack<T, sizeof...(I)> ConvertEach(const U *from, std::index_sequence<I...>)
{
   return Pack<T, sizeof...(I)>{static_cast<T>(from[I])...};
}

/// N numbers from an address as numbers of type T. g++ 12 converts the elements of a list by one instruction, where it takes
/// several for __builtin_convertvector.
template <typename T, std::size_t N, typename U>
inline Pack<T, N> Converted(const U *from)
{
   if constexpr (std::is_same_v<T, U>) {
      Pack<T, N> v;
      std::memcpy(&v, from, sizeof v);
      return v;
   } else {
      return ConvertEach<T>(from, std::make_index_sequence<N>());
   }
}

template <typename T>
inline void Store(Vector<T> v, T *to)
{
   std::memcpy(to, &v, sizeof v);
}

/// sum += a * b in every lane, rounded once where the variant has an instruction for that and the file is compiled for it. clang is
/// told so by name: left alone it rounds some products twice, others in each version of a loop.
template <typename V>
inline void AddProducts(const V &a, const V &b, V &sum)
{
#if defined(__clang__) && defined(__FMA__)
   sum = __builtin_elementwise_fma(a, b, sum);
#else
   sum += a * b;
#endif
}

/// The same with one factor for all lanes.
template <typename T, typename V>
inline void AddProduct(T factor, const V &row, V &sum)
{
#if defined(__clang__) && defined(__FMA__)
   AddProducts(factor - V{}, row, sum);
#else
   sum += factor * row;
#endif
}

/// The lower and the upper half of the lanes.
template <typename T, std::size_t N>
struct Halves {
   Pack<T, N / 2> fLower, fUpper;

   explicit Halves(const Pack<T, N> &v) { std::memcpy(this, &v, sizeof v); }
};

/// The greater of two numbers, or of each two lanes; the second one where one of them is NaN.
struct Greater {
   template <typename V>
   V operator()(const V &a, const V &b) const
   {
      return a > b ? a : b;
   }
};

/// The lanes joined by `join`, halves upon halves.
template <typename T, std::size_t N, typename Join>
inline T FoldLanes(const Pack<T, N> &v, Join join)
{
   if constexpr (N == 2) {
      return join(v[0], v[1]);
   } else {
      const Halves<T, N> halves(v);
      return FoldLanes<T, N / 2>(join(halves.fLower, halves.fUpper), join);
   }
}

/// As many registers, or parts of them, as one has lanes: a square of numbers.
template <typename T, std::size_t N = kLanes<T>>
struct Square {
   Pack<T, N> fRows[N];

   /// Exchanges rows and lanes, in blocks of S x S within blocks of 2 S x 2 S, for S = 1, 2, 4, ...
   void Transpose() { Exchange<1>(std::make_integer_sequence<int, N>()); }

private:
   template <int S, int... J>
   void Exchange(std::integer_sequence<int, J...> lanes)
   {
      constexpr int L = N;
      if constexpr (S < L) {
         for (int r = 0; r < L; ++r) {
            if (r & S)
               continue;
            const Pack<T, N> a = fRows[r], b = fRows[r + S];
            fRows[r] = __builtin_shufflevector(a, b, (J & S ? L + J - S : J)...);
            fRows[r + S] = __builtin_shufflevector(a, b, (J & S ? L + J : J + S)...);
         }
         Exchange<2 * S>(lanes);
      }
   }
};

/// `columns` columns of K >= L neighbouring numbers each, `stride` apart, as K rows of P, in squares of L x L: the rows end with zeros up
/// to a multiple of L.
template <std::size_t L, std::size_t P, typename T>
inline void LayOutColumns(std::size_t K, std::size_t columns, std::size_t stride, const T *from, T *to)
{
   for (std::size_t p = 0; p < columns; p += L) {
      const std::size_t there = columns - p < L ? columns - p : L;
      for (std::size_t k = 0; k < K; k += L) {
         const std::size_t first = k + L <= K ? k : K - L; // the last ones overlap some before them
         Square<T, L> square{};
         for (std::size_t r = 0; r < there; ++r)
            std::memcpy(&square.fRows[r], from + (p + r) * stride + first, sizeof square.fRows[r]);
         square.Transpose();
         for (std::size_t r = 0; r < L; ++r)
            std::memcpy(to + (first + r) * P + p, &square.fRows[r], sizeof square.fRows[r]);
      }
   }
}

} // namespace CladTorch::Kernels
