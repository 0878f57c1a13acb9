/// \file Watch.hxx
/// \brief What LibTorch's dispatcher does while a function is observed, and a trace leaves out.

#ifndef CLADTORCH_WATCH
#define CLADTORCH_WATCH

#include "Observe.hxx"

#include <ATen/record_function.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Watches the operators that one run of a function calls on this thread, and notes the first obstacle that makes the
/// function more than its trace: values that are read, results whose shape depends on values, gradients that are
/// switched off or on, tensors that share memory without the operators showing it. While the function is watched
/// without gradients, its own memory can only be read by operators: data_ptr() and accessors throw.
class Watch {
public:
   enum EGradients { kGradients, kNoGradients };
   /// Keeps the tensor's address reserved, but not the tensor alive.
   using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

   /// One operator as the function called it, or its results.
   struct Step {
      std::string fOperator;
      std::size_t fArguments; ///< a hash of numbers, shapes, types, and the identities of tensors
      bool operator==(const Step &other) const { return fOperator == other.fOperator && fArguments == other.fArguments; }
   };

   /// \param inputs Inputs of the function.
   Watch(const TensorList &inputs, EGradients gradients);
   ~Watch();
   Watch(const Watch &) = delete;
   Watch &operator=(const Watch &) = delete;
   /// Stops watching; the observations stay. Throws Unobservable with the first obstacle. `results` are the function's.
   void End(const TensorList &results);
   /// Throws Inconstant if a tensor that the run computed of its inputs still exists: call it after End(), without
   /// results.
   void CheckKept() const;
   /// Notes an effect of a function of this thread that its operators do not show; false if none is watched.
   static bool NoteHere(std::string_view obstacle);
   /// The same, and throws Unobservable.
   static void RefuseHere(std::string_view obstacle);

   const std::vector<Step> &Steps() const { return fSteps; }
   /// Captured tensors that require a gradient, in the order of their first use.
   const TensorList &Captured() const { return fCaptured; }
   /// Captured tensors, which Steps() identify by their addresses: as long as these live, no other tensor gets one of
   /// them.
   const std::vector<WeakTensor> &Addresses() const { return fAddresses; }
   /// The operators that drew random numbers, in order.
   const std::vector<std::string> &Draws() const { return fDraws; }
   /// Whether this run made the tensor: by operators, or of a number that it writes. Throws Unobservable if it was made
   /// of anything but numbers.
   /// \param holders Number of handles on the tensor that the caller knows.
   bool Made(const torch::Tensor &tensor, std::size_t holders) const;
   /// The first obstacle; empty if there is none.
   const std::string &Obstacle() const { return fObstacle; }

private:
   struct Call;
   enum ESource : std::uint8_t { kNumbers = 0, kInput = 1, kCapture = 2, kRandom = 4 };
   enum EContiguous : std::uint8_t { kNever = 0, kAsItIs = 1, kCopied = 2 };
   struct Memory {
      c10::weak_intrusive_ptr<c10::StorageImpl> fStorage; ///< keeps the address reserved
      std::uint8_t fSources;
      bool fInput;
      bool fHidden = false; ///< tensors share it although LibTorch's graph does not show it
      std::uint8_t fContiguous = kNever; ///< whether contiguous() copied from it or into it
   };
   struct Known {
      WeakTensor fTensor;
      std::size_t fNumber;
      const void *fStorage; ///< where an operator left it
   };

   static std::unique_ptr<at::ObserverContext> BeforeOperator(const at::RecordFunction &call);
   static void AfterOperator(const at::RecordFunction &call, at::ObserverContext *context);

   void Stop();
   void CheckAliases(const TensorList &results) const;
   std::size_t Hash(const c10::IValue &argument) const;
   std::size_t Hash(const torch::Tensor &tensor) const;
   void Before(const at::RecordFunction &record, Call &call);
   void BeforeArgument(const torch::Tensor &tensor, Call &call);
   std::size_t NoteNumber(const std::string &name, c10::ArrayRef<const c10::IValue> inputs);
   bool IsShownByOther(const torch::Tensor &tensor);
   bool IsSuccessor(const torch::Tensor &tensor, const Memory *memory);
   bool HasOtherMemory(const torch::Tensor &tensor) const;
   void After(const at::RecordFunction &record, const Call &call);
   void AfterResult(const torch::Tensor &tensor, const at::RecordFunction &record, std::size_t result, const Call &call);
   void NoteWrite(const std::string &name, const torch::Tensor &tensor, Call &call);
   void NoteValues(const at::RecordFunction &record, const c10::OperatorHandle &handle, const Call &call);
   bool ComparesWithItself(const std::string &name, c10::ArrayRef<const c10::IValue> inputs);
   void EndComparisons();
   void Note(const std::string &obstacle);
   std::string Place() const;
   void Know(const torch::Tensor &tensor);
   void KnowContiguous(const torch::Tensor &tensor, const torch::Tensor &given);
   bool Knows(const torch::Tensor &tensor) const;
   const Memory *Find(const torch::Tensor &tensor) const;
   void Forbid(const c10::Storage &storage, bool forbidden) const;

   EGradients fGradients;
   torch::Device fDevice;
   Watch *fOuter;
   at::CallbackHandle fHandle = 0;
   bool fEnded = false;
   int fDepth = 0; ///< operators around the present one
   std::size_t fOperators = 0;
   std::size_t fNumbers = 0; ///< of tensors, without those that contiguous() makes
   const void *fCompared = nullptr; ///< the tensor that the last operators compared with itself by torch::equal()
   int fComparisons = 0;            ///< number of these comparisons
   std::vector<Step> fSteps;
   std::unordered_map<const void *, Memory> fMemory;
   std::unordered_map<const void *, Known> fTensors;
   std::vector<WeakTensor> fWritten; ///< numbers, and perhaps captured tensors of one number; see NoteNumber()
   std::vector<WeakTensor> fAlive; ///< those of fTensors that existed when they were last checked
   mutable std::vector<WeakTensor> fAddresses;
   std::vector<std::string> fDraws;
   TensorList fCaptured;
   std::string fObstacle;
};

} // namespace Internal
} // namespace CladTorch

#endif
