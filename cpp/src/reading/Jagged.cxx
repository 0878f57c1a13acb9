#include <CladTorch/Jagged.hxx>
#include <CladTorch/Guard.hxx>

#include "EventLoop.hxx"
#include "Frame.hxx"
#include "Interrupt.hxx"
#include "OpenSource.hxx"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <type_traits>

namespace CladTorch {

using namespace Internal;

namespace {

/// Whether `value` converts to a T without loss (for T = float: at all); then sets `out`.
template <class T, class From>
bool Fits(From value, T &out)
{
   constexpr double kEnd53 = 9007199254740992.; // 2^53: below it a double holds every integer
   constexpr double kEnd63 = 9223372036854775808.; // 2^63: the first that is no int64
   if constexpr (std::is_same<T, double>::value && std::is_integral<From>::value) {
      out = static_cast<double>(value);
      return std::fabs(out) < kEnd53;
   } else if constexpr (std::is_integral<T>::value && std::is_floating_point<From>::value) {
      if (!(value >= -kEnd63 && value < kEnd63 && value == std::trunc(value)))
         return false;
   } else if constexpr (std::is_integral<T>::value && std::is_unsigned<From>::value && sizeof(From) == sizeof(T)) {
      if (value > static_cast<std::make_unsigned_t<T>>(std::numeric_limits<T>::max()))
         return false;
   }
   out = static_cast<T>(value);
   return true;
}

/// Gathers values and offsets.
template <class T>
class ListCollector : public OrderedCollector {
public:
   using OrderedCollector::OrderedCollector;

   void Take(unsigned int slot, const ColumnTarget &target, const Numbers &numbers) override
   {
      auto &lists = static_cast<Lists &>(Present(slot));
      Visit(numbers, [&](auto *first, std::size_t count) {
         for (std::size_t i = 0; i < count; ++i) {
            T value = 0;
            if (!Fits(first[i], value))
               NoteBadValue(slot, target, Text(first[i]));
            lists.fValues.push_back(value);
         }
         lists.fLengths.back() += count;
      });
   }

   Jagged<T> Result()
   {
      return {View<T>(std::move(fValues)), View<std::int64_t>(std::move(fOffsets))};
   }

private:
   struct Lists : Block {
      void BeginRow(const Place_t &) override { fLengths.push_back(0); }
      std::vector<T> fValues;
      std::vector<std::int64_t> fLengths;
   };

   std::unique_ptr<Block> NewBlock() const override { return std::make_unique<Lists>(); }

   void Append(Block &block) override
   {
      auto &lists = static_cast<Lists &>(block);
      fValues.insert(fValues.end(), lists.fValues.begin(), lists.fValues.end());
      for (const auto length : lists.fLengths)
         fOffsets.push_back(fOffsets.back() + length);
      lists.fValues.clear();
      lists.fLengths.clear();
   }

   std::string Remedy() const override
   {
      return std::is_integral<T>::value ? "A std::int64_t cannot hold that: read the column as double"
                                        : "A double cannot hold all its digits: read the column as std::int64_t";
   }

   std::vector<T> fValues;
   std::vector<std::int64_t> fOffsets{0};
};

/// Throws unless `offsets` divide `values` values into lists.
void CheckOffsets(const View<std::int64_t> &offsets, std::size_t values)
{
   const auto count = offsets.Size();
   if (count == 0)
      throw std::runtime_error("no offsets: give N + 1 of them for N events, one 0 for none");
   const auto *first = offsets.begin();
   if (*first != 0)
      throw std::runtime_error("the first offset is " + std::to_string(*first) + ": it has to be 0");
   const auto *fall = std::is_sorted_until(first, offsets.end());
   if (fall != offsets.end())
      throw std::runtime_error("offset " + std::to_string(fall - first) + " (" + std::to_string(*fall) +
                               ") is less than the one before (" + std::to_string(fall[-1]) + "): they may not fall");
   if (static_cast<std::uint64_t>(first[count - 1]) > values)
      throw std::runtime_error("the last offset is " + std::to_string(first[count - 1]) + ", but there are " +
                               std::to_string(values) + " values: an event may not end beyond them");
}

/// Whether the machine has this much memory: if it has less, the system may end the process while the memory is filled.
bool FitMemory(double bytes)
{
   return bytes < static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

} // namespace

template <class T>
Jagged<T>::Jagged(const View<T> &values, const View<std::int64_t> &offsets) : fValues(values), fOffsets(offsets)
{
   Guard("CladTorch::Jagged", [&] { CheckOffsets(fOffsets, fValues.Size()); });
}

template <class T>
View<T> Jagged<T>::Padded(std::size_t length, T pad) const
{
   return LongCall("CladTorch::Jagged::Padded", [&] {
      if (length == 0 || !FitMemory(static_cast<double>(sizeof(T)) * Rows() * length))
         throw std::runtime_error("length " + std::to_string(length) + " for " + std::to_string(Rows()) +
                                  " events: give a length from 1 on for which this machine has the memory");
      auto padded = std::make_shared<std::vector<T>>(Rows() * length, pad);
      for (std::size_t row = 0; row < Rows(); ++row) {
         const auto begin = fValues.Data() + fOffsets(row);
         const auto count = std::min<std::size_t>(length, fOffsets(row + 1) - fOffsets(row));
         std::copy(begin, begin + count, padded->begin() + row * length);
      }
      return View<T>(padded->data(), Rows(), length, padded);
   });
}

template <class T>
Jagged<T> Jagged<T>::Read(const Source &source, const std::string &column, const std::string &cut)
{
   return LongCall("CladTorch::Jagged::Read", [&](const InterruptScope &interrupt) {
      const OpenSource open(source);
      const auto &frame = open.Frame();
      ColumnTarget target;
      target.fName = target.fColumn = column;
      target.fScalar = false;
      const Reading reading{Describe(frame), cut, {target}};
      auto collector = std::make_shared<ListCollector<T>>(frame.GetNSlots(), OriginOf(frame, reading.fSource));
      collector->StopOn(interrupt);
      RunEventLoop(frame, reading, collector);
      return collector->Result();
   }, "the reading");
}

template class Jagged<float>;
template class Jagged<double>;
template class Jagged<std::int64_t>;
template class Jagged<Long64_t>;

} // namespace CladTorch
