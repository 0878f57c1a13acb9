/// \file map.cpp
/// The scalar functions of operators.hpp over strided views, and their pullbacks with the derivatives that Clad made.
#include "generated/derivatives.hpp"
#include "kernels.hpp"
#include "operators.hpp"
#include "stream.hpp"

namespace CladTorch::Kernels {
namespace {

enum Function {
#define CT_NAME(F) k##F,
   CT_UNARY(CT_NAME) CT_BINARY(CT_NAME) CT_FLAT(CT_NAME) CT_TERNARY(CT_NAME)
#undef CT_NAME
};

/// Calls body(length, a, b, c) for each block of the A operands x, from element `begin` on; of b and c there are as
/// many as there are operands.
template <size_t A, typename T, typename Body>
inline void Blocks(size_t begin, size_t n, const T *const *x, const ct_stream *views, Body body)
{
   constexpr size_t second = A > 1 ? 1 : 0, third = A > 2 ? 2 : 0;
   Reader<T> a(x[0], views[0], begin), b(x[second], views[second], begin), c(x[third], views[third], begin);
   for (size_t length; n; n -= length) {
      length = n < kBlock ? n : kBlock;
      const T *first = a.Next(length);
      if constexpr (A == 1)
         body(length, first);
      else if constexpr (A == 2)
         body(length, first, b.Next(length));
      else
         body(length, first, b.Next(length), c.Next(length));
   }
}

/// Puts the n elements of a view of x block by block into a view of y.
template <typename T, void (Writer<T>::*Put)(size_t, const T *)>
void Transfer(size_t n, const T *x, const ct_stream &view, T *y, const ct_stream &target)
{
   Reader<T> reader(x, view, 0);
   Writer<T> writer(y, target, 0);
   for (size_t length; n; n -= length) {
      length = n < kBlock ? n : kBlock;
      (writer.*Put)(length, reader.Next(length));
   }
}

} // namespace

template <typename T>
void Map(int function, size_t begin, size_t n, const T *const *x, const ct_stream *views, T *y)
{
   switch (function) {
#define CT_MAP(F, A, PARAMETERS, ...)                                                                                  \
   case k##F:                                                                                                          \
      return Blocks<A>(begin, n, x, views, [&](size_t length, CT_BRACED PARAMETERS) {                                  \
         CT_ELEMENTWISE                                                                                                \
         for (size_t i = 0; i < length; ++i)                                                                           \
            y[i] = F(__VA_ARGS__);                                                                                     \
         y += length;                                                                                                  \
      });
#define CT_BRACED(...) __VA_ARGS__
#define CT_MAP_1(F) CT_MAP(F, 1, (const T *a), a[i])
#define CT_MAP_2(F) CT_MAP(F, 2, (const T *a, const T *b), a[i], b[i])
#define CT_MAP_3(F) CT_MAP(F, 3, (const T *a, const T *b, const T *c), a[i], b[i], c[i])
      CT_UNARY(CT_MAP_1)
      CT_BINARY(CT_MAP_2)
      CT_FLAT(CT_MAP_2)
      CT_TERNARY(CT_MAP_3)
   }
}

template <typename T>
void MapPullback(int function, size_t which, size_t n, const T *const *x, const ct_stream *views, const T *dy, T *dx,
                 const ct_stream *target)
{
   T adjoint[kBlock];
   Writer<T> writer(dx, *target, 0);
   const auto add = [&](size_t length) {
      writer.Add(length, adjoint);
      dy += length;
   };
   // The pullbacks add to the adjoints of all operands; those that are not kept cost nothing.
   switch (function) {
#define CT_PULL(F, A, PARAMETERS, ...)                                                                                 \
   return Blocks<A>(0, n, x, views, [&](size_t length, CT_BRACED PARAMETERS) {                                         \
      CT_ELEMENTWISE                                                                                                   \
      for (size_t i = 0; i < length; ++i) {                                                                            \
         T kept = 0, d1 = 0, d2 = 0;                                                                                   \
         (void)d1, (void)d2;                                                                                           \
         F##_pullback(__VA_ARGS__);                                                                                    \
         adjoint[i] = kept;                                                                                            \
      }                                                                                                                \
      add(length);                                                                                                     \
   })
#define CT_PULL_1(F)                                                                                                   \
   case k##F:                                                                                                          \
      return Blocks<1>(0, n, x, views, [&](size_t length, const T *a) {                                                \
         CT_ELEMENTWISE                                                                                                \
         for (size_t i = 0; i < length; ++i)                                                                           \
            adjoint[i] = F##_pushforward(a[i], dy[i]).pushforward;                                                     \
         add(length);                                                                                                  \
      });
#define CT_PULL_2(F)                                                                                                   \
   case k##F:                                                                                                          \
      if (which == 0)                                                                                                  \
         CT_PULL(F, 2, (const T *a, const T *b), a[i], b[i], dy[i], &kept, &d1);                                       \
      CT_PULL(F, 2, (const T *a, const T *b), a[i], b[i], dy[i], &d1, &kept);
#define CT_PULL_3(F)                                                                                                   \
   case k##F:                                                                                                          \
      if (which == 0)                                                                                                  \
         CT_PULL(F, 3, (const T *a, const T *b, const T *c), a[i], b[i], c[i], dy[i], &kept, &d1, &d2);                \
      if (which == 1)                                                                                                  \
         CT_PULL(F, 3, (const T *a, const T *b, const T *c), a[i], b[i], c[i], dy[i], &d1, &kept, &d2);                \
      CT_PULL(F, 3, (const T *a, const T *b, const T *c), a[i], b[i], c[i], dy[i], &d1, &d2, &kept);
      CT_UNARY(CT_PULL_1)
      CT_BINARY(CT_PULL_2)
      CT_TERNARY(CT_PULL_3)
   }
}

template <typename T>
void Accumulate(size_t n, const T *x, const ct_stream *view, T *y, const ct_stream *target)
{
   Transfer<T, &Writer<T>::Add>(n, x, *view, y, *target);
}

template <typename T>
void Copy(size_t n, const T *x, const ct_stream *view, T *y, const ct_stream *target)
{
   Transfer<T, &Writer<T>::Store>(n, x, *view, y, *target);
}

#define CT_INSTANTIATE(T)                                                                                              \
   template void Map(int, size_t, size_t, const T *const *, const ct_stream *, T *);                                   \
   template void MapPullback(int, size_t, size_t, const T *const *, const ct_stream *, const T *, T *,                 \
                             const ct_stream *);                                                                       \
   template void Accumulate(size_t, const T *, const ct_stream *, T *, const ct_stream *);                             \
   template void Copy(size_t, const T *, const ct_stream *, T *, const ct_stream *);
CT_INSTANTIATE(float)
CT_INSTANTIATE(double)

} // namespace CladTorch::Kernels
