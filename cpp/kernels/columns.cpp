/// \file columns.cpp
/// From the numbers of a file to rows of float32.
#include "columns.hpp"
#include "vector.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

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

/// The magnitude of infinity as bits: finite numbers have less.
constexpr uint32_t kInfinity = 0x7f800000;

inline uint32_t Magnitude(float value)
{
   uint32_t bits;
   std::memcpy(&bits, &value, sizeof bits);
   return bits & 0x7fffffff;
}

template <typename T, typename Bits>
int Convert(size_t n, const uint8_t *bytes, float *values)
{
   uint32_t largest = 0;
   for (size_t i = 0; i < n; ++i) {
      values[i] = Number<T, Bits>(bytes + i * sizeof(Bits));
      if constexpr (std::is_floating_point_v<T>)
         largest = std::max(largest, Magnitude(values[i]));
   }
   return largest < kInfinity;
}

/// The bytes of each number in reverse order.
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

/// Rows made of lists, a register of numbers at a time.
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

   /// Reads beyond the list for the time being, and also writes the excess.
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
   Scattered(const ct_lists &lists, size_t wanted, float pad)
      : fLists(lists), fWanted(wanted), fRounded((wanted + kRound - 1) / kRound * kRound), fPad(pad)
   {
      for (size_t i = 0; i < kRound; ++i)
         fLane[i] = static_cast<int32_t>(i);
   }

   /// Makes n rows. A round may write beyond its own row, into the next one.
   void Rows(size_t n, float *values)
   {
      for (size_t r = 0; r < n; ++r) {
         const size_t begin = fLists.ends[r] + fLists.before, end = fLists.ends[r + 1] - fLists.after;
         const size_t count = std::min((end - begin) / sizeof(Bits), fWanted);
         fPadded |= count < fWanted;
         if (begin + fRounded * sizeof(Bits) <= fLists.length && r * fWanted + fRounded <= n * fWanted)
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
int Scatter(size_t n, const ct_lists &lists, size_t wanted, float pad, float *values)
{
   Scattered<T, Bits> scattered(lists, wanted, pad);
   scattered.Rows(n, values);
   return scattered.AllFinite();
}

constexpr size_t kOctet = 8;
typedef Pack<float, kOctet> Octet;
typedef Pack<int32_t, kOctet> OctetBits;

/// Number `row` of a column, as bits.
inline uint32_t NumberBits(const ct_column &column, size_t row)
{
   uint32_t bits;
   std::memcpy(&bits, column.numbers + row * sizeof bits, sizeof bits);
   return column.big_endian ? Swapped(bits) : bits;
}

/// The byte order of eight columns.
enum class Order { kMixed, kBigEndian };

/// Eight numbers of a column from `row` on. The magnitudes of big-endian ones go into `largest`.
template <Order kOrder>
inline Octet EightNumbers(const ct_column &column, size_t row, OctetBits &largest)
{
   OctetBits bits;
   std::memcpy(&bits, column.numbers + row * sizeof(float), sizeof bits);
   const OctetBits turned = OctetBits{} - (kOrder == Order::kBigEndian ? 1 : column.big_endian); // all bits, or none
   const OctetBits reversed = Reversed<int32_t, kOctet>(bits, std::make_index_sequence<sizeof bits>());
   bits = (reversed & turned) | (bits & ~turned);
   const OctetBits magnitudes = bits & turned & 0x7fffffff;
   largest = magnitudes > largest ? magnitudes : largest;
   return (Octet)bits;
}

/// Eight rows of eight columns from `row` on; three rounds of exchanges.
template <Order kOrder>
inline void Transpose(const ct_column *columns, size_t row, size_t width, float *rows, OctetBits &largest)
{
   Octet pairs[8], quads[8];
   for (int i = 0; i < 8; i += 2) {
      const Octet a = EightNumbers<kOrder>(columns[i], row, largest);
      const Octet b = EightNumbers<kOrder>(columns[i + 1], row, largest);
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

/// Rows [first, R) of C columns, number by number; returns the largest magnitude of big-endian ones.
uint32_t OneByOne(size_t first, size_t R, const ct_column *columns, size_t C, size_t width, float *rows)
{
   uint32_t largest = 0;
   for (size_t row = first; row < R; ++row)
      for (size_t c = 0; c < C; ++c) {
         const uint32_t bits = NumberBits(columns[c], row);
         std::memcpy(rows + row * width + c, &bits, sizeof bits);
         largest = std::max(largest, columns[c].big_endian ? bits & 0x7fffffff : 0);
      }
   return largest;
}

/// All rows of eight columns; the same.
template <Order kOrder>
uint32_t EightColumns(size_t R, const ct_column *columns, size_t width, float *rows)
{
   OctetBits lanes = {};
   size_t row = 0;
   for (; row + kOctet <= R; row += kOctet)
      Transpose<kOrder>(columns, row, width, rows + row * width, lanes);
   uint32_t largest = OneByOne(row, R, columns, kOctet, width, rows);
   for (size_t i = 0; i < kOctet; ++i)
      largest = std::max(largest, static_cast<uint32_t>(lanes[i]));
   return largest;
}

/// The same of C columns, fewer than eight.
template <size_t C>
uint32_t FewColumns(size_t R, const ct_column *columns, size_t width, float *rows)
{
   const uint8_t *from[C];
   for (size_t c = 0; c < C; ++c) {
      if (columns[c].big_endian)
         return OneByOne(0, R, columns, C, width, rows);
      from[c] = columns[c].numbers;
   }
   for (size_t row = 0; row < R; ++row)
      for (size_t c = 0; c < C; ++c)
         std::memcpy(rows + row * width + c, from[c] + row * sizeof(float), sizeof(float));
   return 0;
}

/// The same of any number.
uint32_t Columns(size_t R, const ct_column *columns, size_t C, size_t width, float *rows)
{
   switch (C) {
   case 0: return 0;
   case 1: return FewColumns<1>(R, columns, width, rows);
   case 2: return FewColumns<2>(R, columns, width, rows);
   case 3: return FewColumns<3>(R, columns, width, rows);
   case 4: return FewColumns<4>(R, columns, width, rows);
   case 5: return FewColumns<5>(R, columns, width, rows);
   case 6: return FewColumns<6>(R, columns, width, rows);
   case 7: return FewColumns<7>(R, columns, width, rows);
   }
   uint32_t largest = 0;
   // The last eight overlap columns that have been written already.
   for (size_t c = 0; c < C; c += kOctet) {
      const size_t from = std::min(c, C - kOctet);
      const ct_column *eight = columns + from;
      const bool all = std::all_of(eight, eight + kOctet, [](const ct_column &column) { return column.big_endian; });
      const auto layOut = all ? EightColumns<Order::kBigEndian> : EightColumns<Order::kMixed>;
      largest = std::max(largest, layOut(R, eight, width, rows + from));
   }
   return largest;
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

int ConvertColumn(int element, size_t n, const uint8_t *bytes, float *values)
{
#define CT_CONVERT(T, Bits) Convert<T, Bits>(n, bytes, values)
   CT_WITH_ELEMENT(element, CT_CONVERT)
#undef CT_CONVERT
}

int ScatterLists(int element, size_t n, const ct_lists *lists, size_t wanted, float pad, float *values)
{
#define CT_SCATTER(T, Bits) Scatter<T, Bits>(n, *lists, wanted, pad, values)
   CT_WITH_ELEMENT(element, CT_SCATTER)
#undef CT_SCATTER
}

void GatherRows(size_t R, const float *const *from, size_t width, float *rows)
{
   constexpr size_t kAhead = 16; // rows being prefetched from memory
   constexpr size_t kLine = 64 / sizeof(float), kLines = 8; // beyond them the processor's own prefetcher continues
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

int Interleave(size_t R, const ct_column *columns, size_t C, size_t width, float *rows)
{
   return Columns(R, columns, C, width, rows) < kInfinity;
}

} // namespace CladTorch::Kernels
