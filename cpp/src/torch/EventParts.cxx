#include "EventParts.hxx"

#include "Network.hxx"

#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

namespace CladTorch {
namespace Internal {

std::size_t Width(const std::vector<std::size_t> &shape)
{
   CheckShape(shape);
   return std::accumulate(shape.begin(), shape.end(), std::size_t(1), std::multiplies<>());
}

ListFunction OfParts(ListFunction function, std::vector<std::vector<std::size_t>> shapes)
{
   return [function = std::move(function), shapes = std::move(shapes)](const TensorList &inputs) {
      TensorList parts;
      std::int64_t start = 0;
      for (const auto &shape : shapes) {
         std::vector<std::int64_t> sizes{-1};
         sizes.insert(sizes.end(), shape.begin(), shape.end());
         const auto width = static_cast<std::int64_t>(Width(shape));
         parts.push_back(inputs.at(0).narrow(1, start, width).view(sizes));
         start += width;
      }
      return function(parts);
   };
}

} // namespace Internal
} // namespace CladTorch
