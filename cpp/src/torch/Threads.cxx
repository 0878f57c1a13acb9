/// \file Threads.cxx
/// LibTorch's threads for the kernels of compiled functions.

#include "LibTorchThreads.hxx"

#include "cladtorch/src/bridge/threads.rs.h"

#include <ATen/EmptyTensor.h>
#include <ATen/TensorIterator.h>

#include <exception>
#include <memory>
#include <optional>

namespace CladTorch {
namespace Internal {
namespace {

/// A byte for each member, for LibTorch to loop over with its element-wise operators: at::parallel_for itself is a
/// template that uses several threads only if the program that uses it was compiled for LibTorch's OpenMP.
struct MemberBytes {
   explicit MemberBytes(std::size_t members)
      : fTensor(at::detail::empty_cpu({static_cast<std::int64_t>(members)}, at::TensorOptions(at::kByte))),
        fIterator(at::TensorIterator::borrowing_nullary_op(fTensor))
   {
   }

   const at::TensorBase fTensor; ///< which the iterator borrows
   at::TensorIterator fIterator;
};

class Threads : public LibTorchThreads {
   void
   Run(std::size_t members, const Core::Work &work, rust::Fn<void(const Core::Work &, std::size_t)> share) const noexcept override
   {
      std::optional<MemberBytes> bytes;
      try {
         bytes.emplace(members);
      } catch (const std::exception &) { // out of memory: nothing has been shared yet
         for (std::size_t member = 0; member < members; ++member)
            share(work, member);
         return;
      }
      const auto *first = static_cast<const char *>(bytes->fTensor.const_data_ptr());
      const auto each = [&](char **data, const std::int64_t *strides, std::int64_t size, std::int64_t rows) {
         for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < size; ++i)
               share(work, static_cast<std::size_t>(data[0] + row * strides[1] + i * strides[0] - first));
      };
      bytes->fIterator.for_each(each, 1); // only OpenMP allocates here
   }
};

const struct Offer {
   Offer() { Core::offer_threads(std::make_shared<Threads>()); }
} kOffer;

} // namespace
} // namespace Internal
} // namespace CladTorch
