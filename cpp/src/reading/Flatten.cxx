#include "Flatten.hxx"

#include <algorithm>
#include <cmath>

namespace CladTorch {
namespace Internal {

namespace {
template <class T>
bool Convert(const T *values, std::size_t count, float *out, std::string &bad)
{
   bool finite = true;
   for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<float>(values[i]);
      if (finite && !std::isfinite(out[i])) {
         finite = false;
         bad = Text(values[i]);
      }
   }
   return finite;
}
} // namespace

bool Flatten(const Numbers &numbers, const ColumnTarget &target, float *out, std::string &bad)
{
   if (target.fOfObjects)
      return Visit(numbers, [&](auto *values, std::size_t count) { return Convert(values, count, out, bad); });
   const std::size_t count = std::min(numbers.fCount, target.fLength);
   std::fill(out + count, out + target.fLength, target.fPad);
   if (target.fMask) {
      std::fill(out, out + count, 1.f);
      return true;
   }
   return Visit(numbers, [&](auto *values, std::size_t) { return Convert(values, count, out, bad); });
}

} // namespace Internal
} // namespace CladTorch
