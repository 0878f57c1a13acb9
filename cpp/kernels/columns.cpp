/// \file columns.cpp
/// From the numbers of a file to rows of float32.
#include "columns.hpp"
#include "vector.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace CladTorch::Kernels {
namespace {

template <typename Bits>
Bits Swapped(Bits bits)
{
   if constexpr (sizeof(Bits) == 8)
      return __builtin_bswap64(bits);
   else if constexpr (sizeof(Bits) == 4)
      return __builtin_bswap32(bits);
   else if constexpr (sizeof(Bits) == 2)
      return __builtin_bswap16(bits);
   else
      return bits;
}

/// The float of the number at `bytes`; `Bits` is the unsigned type of its size.
template <typename T, typename Bits>
float Number(const uint8_t *bytes)
{
   Bits bits;
   std::memcpy(&bits, bytes, sizeof bits);
   bits = Swapped(bits);
   if constexpr (std::is_same_v<T, bool>) {
      return bits != 0;
   } else {
      T number;
      std::memcpy(&number, &bits, sizeof number);
      return static_cast<float>(number);
   }
}

/// Numbers that wait in the first-level cache for their way past the others.
constexpr size_t kStage = 4096;

/// One register to an aligned address, past the caches.
inline void Stream(Vector<float> v, float *to)
{
#if defined(__AVX512F__)
   _mm512_stream_ps(to, reinterpret_cast<__m512>(v));
#elif defined(__AVX__)
   _mm256_stream_ps(to, reinterpret_cast<__m256>(v));
#elif defined(__SSE2__)
   _mm_stream_ps(to, reinterpret_cast<__m128>(v));
#else
   Store(v, to);
#endif
}

/// Nobody may see what comes after before what was streamed.
inline void EndOfStream()
{
#if defined(__SSE2__)
   _mm_sfence();
#endif
}

/// Copies n numbers past the caches. A plain store would fetch each line from memory before it overwrites it, and crowd
/// out what is needed sooner.
void CopyPast(const float *from, size_t n, float *to)
{
   size_t i = 0;
   for (; i < n && reinterpret_cast<uintptr_t>(to + i) % kVectorBytes; ++i)
      to[i] = from[i];
   for (; i + kLanes<float> <= n; i += kLanes<float>)
      Stream(Load(from + i), to + i);
   for (; i < n; ++i)
      to[i] = from[i];
}

/// The magnitude of infinity as bits: others have less, unless they are not finite.
constexpr uint32_t kInfinity = 0x7f800000;

inline uint32_t Magnitude(float value)
{
   uint32_t bits;
   std::memcpy(&bits, &value, sizeof bits);
   return bits & 0x7fffffff;
}

/// The largest magnitude of n numbers.
template <typename T, typename Bits>
uint32_t Convert(size_t n, const uint8_t *bytes, float *values)
{
   uint32_t largest = 0;
   for (size_t i = 0; i < n; ++i) {
      values[i] = Number<T, Bits>(bytes + i * sizeof(Bits));
      if constexpr (std::is_floating_point_v<T>)
         largest = std::max(largest, Magnitude(values[i]));
   }
   return largest;
}

template <typename T, typename Bits>
int ConvertAll(size_t n, const uint8_t *bytes, float *values, int past)
{
   if (!past)
      return Convert<T, Bits>(n, bytes, values) < kInfinity;
   alignas(64) float stage[kStage];
   uint32_t largest = 0;
   for (size_t first = 0; first < n; first += kStage) {
      const size_t count = std::min(kStage, n - first);
      largest = std::max(largest, Convert<T, Bits>(count, bytes + first * sizeof(Bits), stage));
      CopyPast(stage, count, values + first);
   }
   EndOfStream();
   return largest < kInfinity;
}

/// The bytes of each number in the other order.
template <typename Bits, size_t C, size_t... I>
inline Pack<Bits, C> Reversed(Pack<Bits, C> bits, std::index_sequence<I...>)
{
   typedef Pack<uint8_t, C * sizeof(Bits)> Bytes;
   return (Pack<Bits, C>)__builtin_shufflevector((Bytes)bits, (Bytes)bits, (I ^ (sizeof(Bits) - 1))...);
}

/// The floats of C numbers at `bytes`.
template <typename T, typename Bits, size_t C>
inline Pack<float, C> Numbers(const uint8_t *bytes)
{
   typedef Pack<float, C> Floats;
   Pack<Bits, C> bits;
   std::memcpy(&bits, bytes, sizeof bits);
   if constexpr (sizeof(Bits) > 1)
      bits = Reversed<Bits, C>(bits, std::make_index_sequence<C * sizeof(Bits)>());
   if constexpr (std::is_same_v<T, bool>)
      return __builtin_convertvector((bits != 0) & 1, Floats);
   else
      return __builtin_convertvector((Pack<T, C>)bits, Floats);
}

/// Rows made of lists, as many numbers at a time as fill a register.
template <typename T, typename Bits>
class Scattered {
   static constexpr size_t kRound = kVectorBytes / std::max(sizeof(Bits), sizeof(float));
   typedef Pack<float, kRound> Floats;
   typedef Pack<int32_t, kRound> Integers;

   const ct_lists fLists;
   const size_t fWanted, fRounded; ///< rounded: to whole rounds
   const float fPad;
   Integers fLane, fLargest = {}; ///< of magnitudes
   bool fPadded = false;          ///< any row

   /// Takes whatever lies behind the list for the time being, and writes what is too much, too.
   void FillRounds(const uint8_t *bytes, size_t count, float *row)
   {
      for (size_t first = 0; first < fWanted; first += kRound) {
         const Floats all = Numbers<T, Bits, kRound>(bytes + first * sizeof(Bits));
         const Integers there = fLane + static_cast<int32_t>(first) < static_cast<int32_t>(count);
         const Floats numbers = there ? all : Floats{} + fPad;
         if constexpr (std::is_floating_point_v<T>) {
            const Integers magnitudes = (Integers)all & 0x7fffffff & there;
            fLargest = magnitudes > fLargest ? magnitudes : fLargest;
         }
         std::memcpy(row + first, &numbers, sizeof numbers);
      }
   }

   void Fill(const uint8_t *bytes, size_t count, float *row)
   {
      for (size_t i = 0; i < fWanted; ++i) {
         row[i] = i < count ? Number<T, Bits>(bytes + i * sizeof(Bits)) : fPad;
         if (i < count)
            fLargest[0] = std::max(fLargest[0], static_cast<int32_t>(Magnitude(row[i])));
      }
   }

public:
   /// For the slack behind rows: a round may write so many numbers too many, less one.
   static constexpr size_t kSlack = kRound;

   Scattered(const ct_lists &lists, size_t wanted, float pad)
      : fLists(lists), fWanted(wanted), fRounded((wanted + kRound - 1) / kRound * kRound), fPad(pad)
   {
      for (size_t i = 0; i < kRound; ++i)
         fLane[i] = static_cast<int32_t>(i);
   }

   /// Makes n rows of the lists from `first` on. There is `room` for so many numbers, of which those behind the rows are
   /// left with any value.
   void Rows(size_t first, size_t n, float *values, size_t room)
   {
      for (size_t r = 0; r < n; ++r) {
         const size_t begin = fLists.ends[first + r] + fLists.before, end = fLists.ends[first + r + 1] - fLists.after;
         const size_t count = std::min((end - begin) / sizeof(Bits), fWanted);
         fPadded |= count < fWanted;
         if (begin + fRounded * sizeof(Bits) <= fLists.length && r * fWanted + fRounded <= room)
            FillRounds(fLists.entries + begin, count, values + r * fWanted);
         else
            Fill(fLists.entries + begin, count, values + r * fWanted);
      }
   }

   bool AllFinite() const
   {
      uint32_t largest = fPadded ? Magnitude(fPad) : 0;
      for (size_t i = 0; i < kRound; ++i)
         largest = std::max(largest, static_cast<uint32_t>(fLargest[i]));
      return largest < kInfinity;
   }
};

template <typename T, typename Bits>
int ScatterAll(size_t n, const ct_lists &lists, size_t wanted, float pad, float *values, int past)
{
   Scattered<T, Bits> scattered(lists, wanted, pad);
   if (!past || wanted > kStage) {
      scattered.Rows(0, n, values, n * wanted);
      return scattered.AllFinite();
   }
   constexpr size_t kRoom = kStage + Scattered<T, Bits>::kSlack;
   alignas(64) float stage[kRoom];
   const size_t block = kStage / wanted;
   for (size_t first = 0; first < n; first += block) {
      const size_t count = std::min(block, n - first);
      scattered.Rows(first, count, stage, kRoom);
      CopyPast(stage, count * wanted, values + first * wanted);
   }
   EndOfStream();
   return scattered.AllFinite();
}

typedef float Octet __attribute__((vector_size(32)));
constexpr size_t kOctet = 8;

/// Eight rows of eight columns from `row` on; three rounds of exchanges.
inline void Transpose(const float *const *columns, size_t row, size_t width, float *rows)
{
   Octet pairs[8], quads[8];
   for (int i = 0; i < 8; i += 2) {
      Octet a, b;
      std::memcpy(&a, columns[i] + row, sizeof a);
      std::memcpy(&b, columns[i + 1] + row, sizeof b);
      pairs[i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
      pairs[i + 1] = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
   }
   for (int i = 0; i < 8; i += 4)
      for (int j = 0; j < 2; ++j) {
         const Octet a = pairs[i + j], b = pairs[i + j + 2];
         quads[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
         quads[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
      }
   for (int i = 0; i < 4; ++i) {
      const Octet a = quads[i], b = quads[i + 4];
      const Octet low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
      const Octet high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
      std::memcpy(rows + i * width, &low, sizeof low);
      std::memcpy(rows + (i + 4) * width, &high, sizeof high);
   }
}

/// Rows [first, first + R) of eight columns.
void EightColumns(size_t first, size_t R, const float *const *columns, size_t width, float *rows)
{
   size_t row = 0;
   for (; row + kOctet <= R; row += kOctet)
      Transpose(columns, first + row, width, rows + row * width);
   for (; row < R; ++row)
      for (size_t c = 0; c < kOctet; ++c)
         rows[row * width + c] = columns[c][first + row];
}

/// The same of C columns, fewer than eight.
template <size_t C>
void FewColumns(size_t first, size_t R, const float *const *columns, size_t width, float *rows)
{
   const float *from[C];
   for (size_t c = 0; c < C; ++c)
      from[c] = columns[c] + first;
   for (size_t row = 0; row < R; ++row)
      for (size_t c = 0; c < C; ++c)
         rows[row * width + c] = from[c][row];
}

/// The same of any number.
void Columns(size_t first, size_t R, const float *const *columns, size_t C, size_t width, float *rows)
{
   switch (C) {
   case 0: return;
   case 1: return FewColumns<1>(first, R, columns, width, rows);
   case 2: return FewColumns<2>(first, R, columns, width, rows);
   case 3: return FewColumns<3>(first, R, columns, width, rows);
   case 4: return FewColumns<4>(first, R, columns, width, rows);
   case 5: return FewColumns<5>(first, R, columns, width, rows);
   case 6: return FewColumns<6>(first, R, columns, width, rows);
   case 7: return FewColumns<7>(first, R, columns, width, rows);
   }
   // The last eight are taken with some that have been written already.
   for (size_t c = 0; c < C; c += kOctet) {
      const size_t from = std::min(c, C - kOctet);
      EightColumns(first, R, columns + from, width, rows + from);
   }
}

} // namespace

/// `call` for the type of the file's numbers, and its bits.
#define CT_WITH_ELEMENT(element, call)                                                                                 \
   switch (element) {                                                                                                  \
   case CT_BOOL: return call(bool, uint8_t);                                                                           \
   case CT_I8: return call(int8_t, uint8_t);                                                                           \
   case CT_U8: return call(uint8_t, uint8_t);                                                                          \
   case CT_I16: return call(int16_t, uint16_t);                                                                        \
   case CT_U16: return call(uint16_t, uint16_t);                                                                       \
   case CT_I32: return call(int32_t, uint32_t);                                                                        \
   case CT_U32: return call(uint32_t, uint32_t);                                                                       \
   case CT_I64: return call(int64_t, uint64_t);                                                                        \
   case CT_U64: return call(uint64_t, uint64_t);                                                                       \
   case CT_F32: return call(float, uint32_t);                                                                          \
   default: return call(double, uint64_t);                                                                             \
   }

int ConvertColumn(int element, size_t n, const uint8_t *bytes, float *values, int past)
{
#define CT_CONVERT(T, Bits) ConvertAll<T, Bits>(n, bytes, values, past)
   CT_WITH_ELEMENT(element, CT_CONVERT)
#undef CT_CONVERT
}

int ScatterLists(int element, size_t n, const ct_lists *lists, size_t wanted, float pad, float *values, int past)
{
#define CT_SCATTER(T, Bits) ScatterAll<T, Bits>(n, *lists, wanted, pad, values, past)
   CT_WITH_ELEMENT(element, CT_SCATTER)
#undef CT_SCATTER
}

void GatherRows(size_t R, const float *const *from, size_t width, float *rows)
{
   constexpr size_t kAhead = 16; // rows that are on their way from memory
   constexpr size_t kLine = 64 / sizeof(float), kLines = 8; // then the processor sees by itself where they go on
   for (size_t r = 0; r < R; ++r) {
      if (r + kAhead < R && width > 0) {
         const size_t begin = std::min(width, kLines * kLine);
         for (size_t c = 0; c < begin; c += kLine)
            __builtin_prefetch(from[r + kAhead] + c);
         __builtin_prefetch(from[r + kAhead] + begin - 1); // a row seldom begins with a line
      }
      std::memcpy(rows + r * width, from[r], width * sizeof(float));
   }
}

void Interleave(size_t R, const float *const *columns, size_t C, size_t width, float *rows, int past)
{
   const size_t block = kStage / std::max<size_t>(C, 1) / kOctet * kOctet; // rows
   if (!past || C != width || block == 0)
      return Columns(0, R, columns, C, width, rows);
   constexpr size_t kLine = 64 / sizeof(float);
   alignas(64) float stage[kStage];
   for (size_t first = 0; first < R; first += block) {
      const size_t count = std::min(block, R - first);
      // The stretches are too short for the processor to see by itself where they go on.
      for (size_t c = 0; c < C; ++c)
         for (size_t next = first + block; next < std::min(R, first + 2 * block); next += kLine)
            __builtin_prefetch(columns[c] + next);
      Columns(first, count, columns, C, C, stage);
      CopyPast(stage, count * C, rows + first * C);
   }
   EndOfStream();
}

} // namespace CladTorch::Kernels
