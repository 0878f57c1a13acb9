/// \file CladTorch/Expression.hxx
/// \brief Functions that the interpreter calls for columns that are expressions or hold lists of lists.
///
/// For internal use.

#ifndef CLADTORCH_EXPRESSION
#define CLADTORCH_EXPRESSION

#include <ROOT/RVec.hxx>
#include <RtypesCore.h>
#include <TROOT.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace CladTorch {
namespace Internal {

/// The value of an expression; one without a value does not compile.
template <class T>
std::decay_t<T> Value(T &&value)
{
   return std::forward<T>(value);
}

/// Element `index` of `list`; throws where the event has fewer.
/// \param entry The value of `rdfentry_`; it is not shown on several threads, where it does not number the entries.
template <class List>
decltype(auto) At(const List &list, Long64_t index, const char *name, ULong64_t entry)
{
   const auto size = static_cast<Long64_t>(std::size(list));
   if (index < 0 || index >= size)
      throw std::runtime_error("'" + std::string(name) + "[" + std::to_string(index) + "]' is asked for in " +
                               (ROOT::IsImplicitMTEnabled() ? "an event" : "entry " + std::to_string(entry)) +
                               ", where '" + name + "' has " + std::to_string(size) + " numbers: cut such events away (Length$(" + name + ") > " + std::to_string(index) +
                               ") or pad them with Dataset::Column(\"" + name + "\", length, pad)");
   return list[index];
}

/// A plain number counts as a list of one.
template <class List>
std::size_t Length(const List &list)
{
   if constexpr (std::is_arithmetic<List>::value)
      return 1;
   else
      return std::size(list);
}

template <class List>
double Sum(const List &list)
{
   if constexpr (std::is_arithmetic<List>::value) {
      return list;
   } else {
      double sum = 0;
      for (const auto value : list)
         sum += value;
      return sum;
   }
}

/// The first element that no other is `better` than.
template <class List, class Better>
double Best(const char *function, const List &list, Better better)
{
   if constexpr (std::is_arithmetic<List>::value) {
      return list;
   } else {
      if (std::empty(list))
         throw std::runtime_error(std::string(function) + " of an event without numbers: cut such events away");
      double best = *std::begin(list);
      for (const auto value : list)
         best = better(value, best) ? static_cast<double>(value) : best;
      return best;
   }
}

template <class List>
double Min(const List &list)
{
   return Best("Min$", list, [](double a, double b) { return a < b; });
}

template <class List>
double Max(const List &list)
{
   return Best("Max$", list, [](double a, double b) { return a > b; });
}

/// Any range of numbers as an RVec.
template <class List>
auto Flat(const List &list)
{
   using Number = std::decay_t<decltype(*std::begin(list))>;
   return ROOT::RVec<Number>(std::begin(list), std::end(list));
}

/// The lists of `lists` one after the other, each cut or padded to `inner` numbers.
template <class Lists>
ROOT::RVecF Padded(const Lists &lists, std::size_t inner, float pad)
{
   ROOT::RVecF flat(std::size(lists) * inner, pad);
   auto *out = flat.data();
   for (const auto &list : lists) {
      std::size_t taken = 0;
      for (auto value = std::begin(list); value != std::end(list) && taken < inner; ++value)
         out[taken++] = static_cast<float>(*value);
      out += inner;
   }
   return flat;
}

/// 1 where Padded() has a number of the lists, 0 where it has the pad.
template <class Lists>
ROOT::RVecF Filled(const Lists &lists, std::size_t inner)
{
   ROOT::RVecF mask(std::size(lists) * inner, 0);
   auto *out = mask.data();
   for (const auto &list : lists) {
      std::fill_n(out, std::min<std::size_t>(std::size(list), inner), 1.f);
      out += inner;
   }
   return mask;
}

} // namespace Internal
} // namespace CladTorch

#endif
