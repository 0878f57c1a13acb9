/// \file DLPack.hxx
/// \brief The part of DLPack 1.0 (https://dmlc.github.io/dlpack) that hands out a tensor in host memory.

#ifndef CLADTORCH_DLPACK
#define CLADTORCH_DLPACK

#include <CladTorch/View.hxx>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace CladTorch {
namespace Internal {

struct DLDevice {
   std::int32_t device_type; ///< 1: host memory
   std::int32_t device_id;
};

struct DLDataType {
   std::uint8_t code; ///< 0: signed integer, 2: IEEE float
   std::uint8_t bits;
   std::uint16_t lanes;
};

struct DLTensor {
   void *data;
   DLDevice device;
   std::int32_t ndim;
   DLDataType dtype;
   std::int64_t *shape;
   std::int64_t *strides; ///< in elements
   std::uint64_t byte_offset;
};

/// In a capsule named "dltensor_versioned". The taker calls the deleter when done.
struct DLManagedTensorVersioned {
   struct {
      std::uint32_t major, minor;
   } version;
   void *manager_ctx;
   void (*deleter)(DLManagedTensorVersioned *);
   std::uint64_t flags; ///< 1: read only, 2: a copy, which the taker may change
   DLTensor dl_tensor;
};

/// As before version 1.0, in a capsule named "dltensor"; cannot be marked as read only.
struct DLManagedTensor {
   DLTensor dl_tensor;
   void *manager_ctx;
   void (*deleter)(DLManagedTensor *);
};

/// A managed tensor with the data that it points to.
template <class Managed, class T>
struct Exported {
   Exported(const View<T> &numbers, bool copied)
      : fView(numbers),
        fCopy(copied ? std::vector<T>(numbers.begin(), numbers.end()) : std::vector<T>()),
        fShape{static_cast<std::int64_t>(numbers.Rows()), static_cast<std::int64_t>(numbers.Columns())},
        fStrides{fShape[1], 1}
   {
      auto &tensor = fManaged.dl_tensor;
      tensor.data = copied ? fCopy.data() : const_cast<T *>(numbers.Data());
      tensor.device = {1, 0};
      tensor.ndim = numbers.Rank();
      tensor.dtype = {static_cast<std::uint8_t>(std::is_integral<T>::value ? 0 : 2), 8 * sizeof(T), 1};
      tensor.shape = fShape;
      tensor.strides = fStrides;
      fManaged.manager_ctx = this;
      fManaged.deleter = [](Managed *managed) { delete static_cast<Exported *>(managed->manager_ctx); };
   }

   View<T> fView; ///< keeps the memory
   std::vector<T> fCopy;
   std::int64_t fShape[2];
   std::int64_t fStrides[2];
   Managed fManaged = {};
};

/// The values of `view` for DLPack 1.0: shared and marked as read only, or a copy.
template <class T>
DLManagedTensorVersioned *ExportVersioned(const View<T> &view, bool copied)
{
   auto *exported = new Exported<DLManagedTensorVersioned, T>(view, copied);
   exported->fManaged.version = {1, 0};
   exported->fManaged.flags = copied ? 2 : 1;
   return &exported->fManaged;
}

/// A copy of the values for takers of older versions.
template <class T>
DLManagedTensor *ExportCopy(const View<T> &view)
{
   return &(new Exported<DLManagedTensor, T>(view, true))->fManaged;
}

} // namespace Internal
} // namespace CladTorch

#endif
