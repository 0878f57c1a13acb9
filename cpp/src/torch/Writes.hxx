/// \file Writes.hxx
/// \brief What a function changes beside its result, and what it reads beside the trace.

#ifndef CLADTORCH_WRITES
#define CLADTORCH_WRITES

#include "Observe.hxx"

#include <ATen/record_function.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// While it lives, notes what traced functions of this thread change in place, but for tensors that they made themselves and
/// for running statistics, which have operators of their own; and the numbers that they read out of tensors. LibTorch's
/// trace leaves both out.
class Writes {
public:
   /// \param inputs How many inputs of the trace are the function's; the others are captured parameters.
   explicit Writes(std::size_t inputs);
   ~Writes();
   Writes(const Writes &) = delete;
   Writes &operator=(const Writes &) = delete;

   /// Throws Unobservable where anything but captured whole numbers that are counted up was changed, where one of these
   /// is among the captured tensors that the function reads, and where a number was read that no observation varies.
   std::vector<Counter> Counters(const TensorList &read) const;

private:
   static std::unique_ptr<at::ObserverContext> BeforeOperator(const at::RecordFunction &call);
   /// That the operator of that name and inputs changes a tensor which is not the function's own.
   void Note(const std::string &name, c10::ArrayRef<const c10::IValue> inputs, const torch::Tensor &changed);

   /// Whether the tensor is one that was counted up already.
   bool Counts(const torch::Tensor &tensor) const;
   /// That the operator makes a number of what its inputs hold.
   void NoteNumber(const std::string &name, c10::ArrayRef<const c10::IValue> inputs);

   std::size_t fInputs;
   Writes *fOuter;
   at::CallbackHandle fHandle;
   std::vector<Counter> fCounters;
   std::string fObstacle; ///< the first thing that cannot be repeated; else empty
};

} // namespace Internal
} // namespace CladTorch

#endif
