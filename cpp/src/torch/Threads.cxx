/// \file Threads.cxx
/// LibTorch's threads for the kernels of compiled functions.

#include "LibTorchThreads.hxx"

#include "cladtorch/src/bridge/threads.rs.h"

#include <ATen/EmptyTensor.h>
#include <ATen/TensorIterator.h>

#include <memory>

namespace CladTorch {
namespace Internal {
namespace {

/// A loop over one byte for each member, as LibTorch's element-wise operators make it: at::parallel_for itself is a template
/// that works on several threads only where the program that uses it was compiled for LibTorch's OpenMP.
class Threads : public LibTorchThreads {
   void
   Run(std::size_t members, const Core::Work &work, rust::Fn<void(const Core::Work &, std::size_t)> share) const noexcept override
   {
      const auto bytes = at::detail::empty_cpu({static_cast<std::int64_t>(members)}, at::TensorOptions(at::kByte));
      const auto *first = static_cast<const char *>(bytes.const_data_ptr());
      auto iterator = at::TensorIterator::borrowing_nullary_op(bytes);
      const auto each = [&](char **data, const std::int64_t *strides, std::int64_t size, std::int64_t rows) {
         for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < size; ++i)
               share(work, static_cast<std::size_t>(data[0] + row * strides[1] + i * strides[0] - first));
      };
      iterator.for_each(each, 1);
   }
};

const struct Offer {
   Offer() { Core::offer_threads(std::make_shared<Threads>()); }
} kOffer;

} // namespace
} // namespace Internal
} // namespace CladTorch
