/// \file Numbers.hxx
/// \brief The numbers that a column gives one event, whatever their type.

#ifndef CLADTORCH_NUMBERS
#define CLADTORCH_NUMBERS

#include <ROOT/RVec.hxx>

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace CladTorch {
namespace Internal {

/// `fCount` values of any arithmetic type, starting at `fFirst`.
struct Numbers {
   std::variant<const bool *, const char *, const signed char *, const unsigned char *, const short *,
                const unsigned short *, const int *, const unsigned int *, const long *, const unsigned long *,
                const long long *, const unsigned long long *, const float *, const double *>
      fFirst;
   std::size_t fCount;
};

/// Calls `f(first, count)` with the pointer's own type.
template <class F>
auto Visit(const Numbers &numbers, F &&f)
{
   return std::visit([&](auto *first) { return f(first, numbers.fCount); }, numbers.fFirst);
}

/// Calls `take` with the elements of `value`: a number, or a range of them.
template <class T, class F>
void WithNumbers(const T &value, F &&take)
{
   if constexpr (std::is_arithmetic<T>::value) {
      take(Numbers{&value, 1});
   } else if constexpr (std::is_same<T, std::vector<bool>>::value) {
      const ROOT::RVec<bool> bits(value.begin(), value.end()); // their elements have no addresses
      take(Numbers{bits.data(), bits.size()});
   } else {
      take(Numbers{value.data(), value.size()});
   }
}

/// For messages, with enough digits to distinguish it from its neighbours; characters as numbers.
template <class T>
std::string Text(T value)
{
   std::ostringstream text;
   text << std::setprecision(std::numeric_limits<T>::max_digits10) << +value;
   return text.str();
}

} // namespace Internal
} // namespace CladTorch

#endif
