#include "Preserve.hxx"

#include "CleanDispatch.hxx"
#include "Devices.hxx"
#include "Written.hxx"

#include <ATen/Context.h>

#include <TError.h>

#include <algorithm>
#include <string_view>

namespace CladTorch {
namespace Internal {

namespace {

/// LibTorch's callbacks are plain functions.
thread_local Preserve *gInnermostPreserve = nullptr;

/// Operators that update running statistics although their schema does not say so.
bool WritesSilently(std::string_view name)
{
   return name.find("batch_norm") != std::string_view::npos || name.find("instance_norm") != std::string_view::npos;
}

/// Whether it is one of LibTorch's own operators, which return only their arguments or new tensors, and keep none of
/// them.
bool IsLibTorchs(std::string_view name)
{
   return name.substr(0, 6) == "aten::";
}

/// The first bytes of a storage, which is enlarged if it has become too small for them.
torch::Tensor Bytes(const c10::Storage &storage, std::int64_t count)
{
   return torch::empty({0}, torch::dtype(torch::kByte).device(storage.device())).set_(storage, 0, {count}, {1});
}

/// The memory of an operator's arguments: results in that memory are not new.
struct Given : at::ObserverContext {
   c10::SmallVector<const void *, 8> fStorages;
};

} // namespace

KeptMemory::KeptMemory(const torch::Tensor &tensor)
   : fStorage(tensor.storage()), fBytes(Bytes(fStorage, static_cast<std::int64_t>(fStorage.nbytes())).clone())
{
}

void KeptMemory::PutBack() const
{
   Bytes(fStorage, fBytes.numel()).copy_(fBytes);
}

bool KeptMemory::Changed() const
{
   return !torch::equal(Bytes(fStorage, fBytes.numel()), fBytes);
}

Preserve::Geometry::Geometry(const torch::Tensor &tensor)
   : fTensor(tensor.getIntrusivePtr()), fStorage(tensor.storage()), fOffset(tensor.storage_offset()),
     fSizes(tensor.sizes().vec()), fStrides(tensor.strides().vec())
{
}

void Preserve::Geometry::PutBack() const
{
   const torch::Tensor tensor(fTensor.lock());
   if (!tensor.defined()) // every handle on it is gone
      return;
   if (!tensor.storage().is_alias_of(fStorage) || tensor.storage_offset() != fOffset || tensor.sizes() != fSizes ||
       tensor.strides() != fStrides)
      tensor.set_(fStorage, fOffset, fSizes, fStrides);
}

Preserve::Preserve(const TensorList &own) : fOuter(gInnermostPreserve)
{
   for (const auto &tensor : own)
      if (tensor.has_storage())
         fMade.emplace(tensor.storage().unsafeGetStorageImpl(), tensor.storage().getWeakStorageImpl());
   KeepRandom(at::globalContext().defaultGenerator(torch::kCPU));
   if (const auto device = DeviceOf(own); !device.is_cpu())
      KeepRandom(at::globalContext().defaultGenerator(device));
   gInnermostPreserve = this;
   if (!fOuter) // one callback serves all scopes
      fHandle = at::addThreadLocalCallback(at::RecordFunctionCallback(&BeforeOperator, &AfterOperator)
                                              .needsInputs(true)
                                              .needsOutputs(true)
                                              .scopes({at::RecordScope::FUNCTION}));
}

Preserve::~Preserve()
{
   if (!fOuter)
      at::removeCallback(fHandle);
   gInnermostPreserve = fOuter;
   try {
      PutBack();
   } catch (const std::exception &e) { // an exception that left here would end the session
      ::Warning("CladTorch::Compile", "a captured tensor is not as it was before the function was observed: %s", e.what());
   }
   for (auto &[generator, state] : fRandom) {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(state);
   }
}

void Preserve::KeepRandom(torch::Generator generator)
{
   const auto is = [&](const auto &kept) { return kept.first == generator; };
   if (!generator.defined() || std::any_of(fRandom.begin(), fRandom.end(), is))
      return;
   const at::RecordFunctionGuard unobserved(false);
   const std::lock_guard<std::mutex> lock(generator.mutex());
   fRandom.emplace_back(generator, generator.get_state());
}

std::vector<c10::Storage> Preserve::Changed() const
{
   const at::RecordFunctionGuard unobserved(false);
   std::vector<c10::Storage> changed;
   for (const auto &kept : fMemory)
      if (fGiven.count(kept.Storage().unsafeGetStorageImpl()) && kept.Changed())
         changed.push_back(kept.Storage());
   return changed;
}

void Preserve::PutBack() const
{
   const torch::NoGradGuard withoutGradients;
   std::for_each(fGeometries.rbegin(), fGeometries.rend(), [](const Geometry &kept) { kept.PutBack(); });
   std::for_each(fMemory.rbegin(), fMemory.rend(), [](const KeptMemory &kept) { kept.PutBack(); });
}

std::unique_ptr<at::ObserverContext> Preserve::BeforeOperator(const at::RecordFunction &call)
{
   const auto schema = call.operator_schema();
   if (!schema || !gInnermostPreserve)
      return nullptr;
   const bool outermost = gInnermostPreserve->fDepth++ == 0;
   const auto keep = [](const torch::Tensor &tensor) { gInnermostPreserve->Keep(tensor); };
   if (WritesSilently(schema->name()))
      for (const auto &input : InputsOf(call))
         ForEachTensor(input, keep);
   ForEachWritten(InputsOf(call), *schema, keep);
   for (const auto &input : InputsOf(call))
      if (input.isGenerator()) // a generator that the function captures
         gInnermostPreserve->KeepRandom(input.toGenerator());
   auto given = std::make_unique<Given>();
   for (const auto &input : InputsOf(call))
      ForEachTensor(input, [&](const torch::Tensor &tensor) {
         if (!tensor.defined() || !tensor.has_storage())
            return;
         const void *storage = tensor.storage().unsafeGetStorageImpl();
         given->fStorages.push_back(storage);
         if (outermost && !gInnermostPreserve->fMade.count(storage))
            gInnermostPreserve->fGiven.emplace(storage, tensor.storage().getWeakStorageImpl());
      });
   return given;
}

void Preserve::AfterOperator(const at::RecordFunction &call, at::ObserverContext *context)
{
   if (!gInnermostPreserve || !context)
      return;
   --gInnermostPreserve->fDepth;
   const auto &given = static_cast<const Given &>(*context).fStorages;
   for (const auto &output : OutputsOf(call))
      ForEachTensor(output, [&](const torch::Tensor &tensor) {
         if (!tensor.defined() || !tensor.has_storage())
            return;
         const void *storage = tensor.storage().unsafeGetStorageImpl();
         const bool wasGiven = std::find(given.begin(), given.end(), storage) != given.end() || gInnermostPreserve->fGiven.count(storage);
         if (wasGiven || (gInnermostPreserve->fKnown.count(storage) && !IsLibTorchs(call.name())))
            return;
         gInnermostPreserve->Forget(storage);
         gInnermostPreserve->fMade.emplace(storage, tensor.storage().getWeakStorageImpl());
      });
}

void Preserve::Forget(const void *storage)
{
   if (!fKnown.erase(storage))
      return;
   const auto is = [&](const c10::Storage &other) { return other.unsafeGetStorageImpl() == storage; };
   const auto memory = [&](const KeptMemory &kept) { return is(kept.Storage()); };
   const auto geometry = [&](const Geometry &kept) { return is(kept.fStorage); };
   fMemory.erase(std::remove_if(fMemory.begin(), fMemory.end(), memory), fMemory.end());
   fGeometries.erase(std::remove_if(fGeometries.begin(), fGeometries.end(), geometry), fGeometries.end());
}

void Preserve::Keep(const torch::Tensor &tensor)
{
   if (!tensor.defined() || !tensor.has_storage() || fMade.count(tensor.storage().unsafeGetStorageImpl()))
      return;
   const at::RecordFunctionGuard unobserved(false);
   const CleanDispatch outside;
   const torch::NoGradGuard withoutGradients;
   if (fKnown.insert(tensor.unsafeGetTensorImpl()).second)
      fGeometries.emplace_back(tensor);
   if (fKnown.insert(tensor.storage().unsafeGetStorageImpl()).second)
      fMemory.emplace_back(tensor);
}

} // namespace Internal
} // namespace CladTorch
