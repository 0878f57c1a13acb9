/// \file Preserve.hxx
/// \brief Running a function without leaving a trace.

#ifndef CLADTORCH_PRESERVE
#define CLADTORCH_PRESERVE

#include <CladTorch/Torch/Compile.hxx>

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Internal {

/// A copy of all the memory that a tensor is a view of. PutBack() is not a change that LibTorch counts.
class KeptMemory {
public:
   explicit KeptMemory(const torch::Tensor &tensor);
   void PutBack() const;
   bool Changed() const;
   const c10::Storage &Storage() const { return fStorage; }

private:
   c10::Storage fStorage;
   torch::Tensor fBytes; ///< a copy
};

/// Restores, at its end, what functions of this thread have changed in place (running statistics, for example) and the
/// state of LibTorch's random numbers. Memory that operators make meanwhile is left alone: a function may keep it.
class Preserve {
public:
   /// \param own Tensors that belong to the observation: their contents need not be restored.
   explicit Preserve(const TensorList &own);
   ~Preserve();
   Preserve(const Preserve &) = delete;
   Preserve &operator=(const Preserve &) = delete;

   /// The function's memory whose contents have changed; not memory that an operator makes and fills by other ones
   /// (sum()).
   std::vector<c10::Storage> Changed() const;

private:
   /// By their addresses, which no other storage gets meanwhile: they may be freed, like those of TorchScript's
   /// numbers.
   using Storages = std::unordered_map<const void *, c10::weak_intrusive_ptr<c10::StorageImpl>>;

   /// The part of its memory that a tensor shows.
   struct Geometry {
      c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> fTensor;
      c10::Storage fStorage;
      std::int64_t fOffset;
      std::vector<std::int64_t> fSizes, fStrides;

      explicit Geometry(const torch::Tensor &tensor);
      void PutBack() const;
   };

   static std::unique_ptr<at::ObserverContext> BeforeOperator(const at::RecordFunction &call);
   static void AfterOperator(const at::RecordFunction &call, at::ObserverContext *context);
   void Keep(const torch::Tensor &tensor);
   void KeepRandom(torch::Generator generator);
   /// Memory that an operator made and filled by another one (sum() by sum.out) must not be restored.
   void Forget(const void *storage);
   void PutBack() const;

   Preserve *fOuter;
   at::CallbackHandle fHandle = 0;
   /// The states of LibTorch's own generators and of those passed to operators.
   std::vector<std::pair<torch::Generator, torch::Tensor>> fRandom;
   std::unordered_set<const void *> fKnown; ///< tensors and storages
   Storages fMade;         ///< by operators
   Storages fGiven;        ///< arguments of operators that no operator made
   std::size_t fDepth = 0; ///< nesting of operators that call others
   std::vector<KeptMemory> fMemory;         ///< in the order of the first changes: two may hold the same memory
   std::vector<Geometry> fGeometries;
};

} // namespace Internal
} // namespace CladTorch

#endif
