/// \file order.hpp
/// The first elements of a row in an order.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace CladTorch::Kernels {

/// Brings the first `count` of the row's elements, each with its place, to its front, in an order of ct_order. A NaN is greater
/// than all numbers. Which of equals are among the first is unspecified in LibTorch's topk, and follows from the algorithms of
/// the standard library that it calls: the same ones are called here, with the same answers to the same comparisons.
template <bool Descending, typename T>
inline void FirstInOrder(int order, std::size_t columns, std::size_t count, std::pair<T, std::uint32_t> *row)
{
   constexpr int kStable = 0, kTop = 1;
   constexpr std::size_t kFew = 64; // LibTorch's bound for a partial sort
   using Placed = std::pair<T, std::uint32_t>;
   const auto precedes = [](const Placed &a, const Placed &b) {
      if constexpr (Descending)
         return a.first > b.first || (a.first != a.first && b.first == b.first);
      else
         return a.first < b.first || (a.first == a.first && b.first != b.first);
   };
   const auto precedesOrStands = [precedes](const Placed &a, const Placed &b) {
      return precedes(a, b) || (!precedes(b, a) && a.second < b.second);
   };
   if (count == 0)
      return;
   Placed *const end = row + columns, *const last = row + count - 1;
   if (order == kStable && count == 1)
      std::iter_swap(row, std::min_element(row, end, precedes)); // the first one of equals
   else if (order == kStable && count == columns)
      std::sort(row, end, precedesOrStands);
   else if (order == kStable)
      std::partial_sort(row, last + 1, end, precedesOrStands);
   else if (count * kFew <= columns)
      std::partial_sort(row, last + 1, end, precedes);
   else {
      std::nth_element(row, last, end, precedes);
      if (order == kTop)
         std::sort(row, last, precedes);
   }
}

} // namespace CladTorch::Kernels
