/// \file Writes.hxx
/// \brief What a function changes beside its result.

#ifndef CLADTORCH_WRITES
#define CLADTORCH_WRITES

#include "Observe.hxx"

#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// While it lives, notes the in-place changes of traced functions of this thread, except to tensors that they made
/// themselves and to running statistics, which have their own operators. LibTorch's trace leaves these changes out.
class Writes {
public:
   Writes();
   ~Writes();
   Writes(const Writes &) = delete;
   Writes &operator=(const Writes &) = delete;

   /// Throws Unobservable if anything but captured whole numbers that are counted up was changed, or if one of these is
   /// among the captured tensors that the function reads.
   std::vector<Counter> Counters(const TensorList &read) const;

private:
   static std::unique_ptr<at::ObserverContext> BeforeOperator(const at::RecordFunction &call);
   /// Notes that the operator `name` with these inputs changes a tensor which is not the function's own.
   void Note(const std::string &name, c10::ArrayRef<const c10::IValue> inputs, const torch::Tensor &changed);

   /// Whether the tensor is one that was counted up before.
   bool Counts(const torch::Tensor &tensor) const;

   Writes *fOuter;
   at::CallbackHandle fHandle = 0;
   std::vector<Counter> fCounters;
   std::string fObstacle; ///< the first change that cannot be repeated; otherwise empty
};

} // namespace Internal
} // namespace CladTorch

#endif
