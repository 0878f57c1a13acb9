#include "Watch.hxx"

#include "Devices.hxx"
#include "Written.hxx"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <string_view>

namespace CladTorch {
namespace Internal {

namespace {

/// LibTorch's callbacks are plain functions.
thread_local Watch *gInnermost = nullptr;

/// The flag by which LibTorch forbids reading a storage. It has a method to set it but none to clear it; an explicit
/// instantiation may name a private member.
bool &ReadingThrows(c10::StorageImpl &storage);
template <bool c10::StorageImpl::*kMember>
struct Switch {
   friend bool &ReadingThrows(c10::StorageImpl &storage) { return storage.*kMember; }
};
template struct Switch<&c10::StorageImpl::throw_on_immutable_data_ptr_>;

constexpr const char *kReading = "the function reads or writes the numbers of a tensor by its address (data_ptr(), an accessor, "
                                 "torch::autograd::grad() within it)";

const void *Address(const torch::Tensor &tensor)
{
   return tensor.defined() && tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

void Mix(std::size_t &hash, std::size_t value)
{
   hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
}

bool IsFloating(const torch::Tensor &tensor)
{
   return tensor.defined() && (tensor.is_floating_point() || tensor.is_complex());
}

/// Operators that turn values of tensors into something other than a tensor.
bool ReadsValues(const c10::OperatorHandle &handle)
{
   const auto &name = handle.schema().name();
   return handle.hasTag(at::Tag::data_dependent_output) || name == "aten::item" || name == "aten::_local_scalar_dense" ||
          name == "aten::equal" || name == "aten::is_nonzero" || name == "aten::allclose";
}

/// Whether the shape of the operator's result depends on the values of its arguments.
bool ShapeFollowsValues(const c10::OperatorHandle &handle, c10::ArrayRef<const c10::IValue> inputs)
{
   const auto &name = handle.schema().name();
   if (!handle.hasTag(at::Tag::dynamic_output_shape) || (name == "aten::one_hot" && inputs[1].toInt() > 0))
      return false;
   if (name != "aten::index" && name != "aten::index_put" && name != "aten::index_put_")
      return true;
   if (name != "aten::index" && inputs[2].toTensor().numel() == 1) // writes one number wherever a mask is true
      return false;
   bool masks = false;
   ForEachTensor(inputs[1], [&](const torch::Tensor &index) {
      masks = masks || (index.defined() && (index.scalar_type() == torch::kBool || index.scalar_type() == torch::kByte));
   });
   return masks;
}

/// The argument that the operator writes, if LibTorch makes it from a C++ number without an operator
/// (`y.index_put_({0}, 1.)`); 0: none.
std::size_t WrittenNumber(std::string_view name)
{
   return name == "aten::fill_" || name == "aten::copy_" ? 1 : name == "aten::index_put_" ? 2 : 0;
}

/// Whether it is one number in its own memory, from LibTorch's allocator.
bool IsOwnNumber(const torch::Tensor &tensor)
{
   return tensor.defined() && tensor.dim() == 0 && !tensor.requires_grad() && tensor.has_storage() && tensor.is_cpu() &&
          tensor.storage().use_count() == 1 && tensor.storage().allocator();
}

bool IsEmpty(std::string_view name)
{
   return name.find("::empty") != std::string_view::npos || name.find("::new_empty") != std::string_view::npos;
}

/// Whether it takes only the shape and type of a tensor (rand_like()): torch:: always calls it below autograd.
bool IsLike(std::string_view name)
{
   constexpr std::string_view end = "_like";
   return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

/// Whether the operator's schema says that a result may share the memory of an argument: otherwise LibTorch's graph
/// treats it as new.
bool SaysAlias(const at::RecordFunction &record, std::size_t result)
{
   const auto schema = record.operator_schema();
   return schema && result < schema->returns().size() && schema->returns()[result].alias_info();
}

/// Runs `body` in a callback: LibTorch would ignore an exception there, and a missed event with it.
template <class Body>
void Guarded(Body body)
{
   try {
      body();
   } catch (const std::exception &e) {
      Watch::NoteHere(std::string("it could not be watched: ") + e.what());
   }
}

} // namespace

/// The state of an operator between its beginning and its end.
struct Watch::Call : at::ObserverContext {
   bool fBackward = false; ///< not an operator, but a node of autograd's
   std::uint8_t fSources = kNumbers;
   bool fGradient = false; ///< one of its arguments requires a gradient
   bool fRecorded = true;  ///< autograd sees it
   bool fCounts = false;   ///< it adds a whole number in place
   std::optional<RandomState> fRandom; ///< before an operator that may draw
   c10::SmallVector<c10::Storage, 6> fGiven, fWritten;
   torch::Tensor fContiguous; ///< argument of contiguous(); its inputs are gone when it ends
};

Watch::Watch(const TensorList &inputs, EGradients gradients)
   : fGradients(gradients), fDevice(DeviceOf(inputs)), fOuter(gInnermost)
{
   for (const auto &input : inputs) {
      if (!input.has_storage())
         continue;
      Know(input);
      fMemory.emplace(Address(input), Memory{input.storage().getWeakStorageImpl(), kInput, true});
      Forbid(input.storage(), true);
   }
   gInnermost = this;
   if (!fOuter)
      fHandle = at::addThreadLocalCallback(at::RecordFunctionCallback(&BeforeOperator, &AfterOperator)
                                              .needsInputs(true)
                                              .needsOutputs(true)
                                              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

Watch::~Watch()
{
   Stop();
}

void Watch::Stop()
{
   if (fEnded)
      return;
   fEnded = true;
   if (!fOuter)
      at::removeCallback(fHandle);
   gInnermost = fOuter;
   for (const auto &[address, memory] : fMemory)
      if (const auto storage = memory.fStorage.lock())
         ReadingThrows(*storage) = false;
}

void Watch::End(const TensorList &results)
{
   Stop();
   EndComparisons();
   if (!fObstacle.empty())
      throw Unobservable(fObstacle);
   CheckAliases(results);
   Step step{"the end of the function", 0};
   for (const auto &result : results)
      Mix(step.fArguments, Hash(result));
   fSteps.push_back(std::move(step));
}

void Watch::CheckKept() const
{
   for (const auto &[address, memory] : fMemory)
      if (!memory.fInput && (memory.fSources & kInput) && !memory.fStorage.expired())
         throw Inconstant("it keeps a tensor that it computes of its inputs, in a member, a list or a captured variable, which a call of "
                          "kernels would not renew: return that tensor, too");
}

bool Watch::NoteHere(std::string_view obstacle)
{
   if (gInnermost)
      gInnermost->Note(std::string(obstacle));
   return gInnermost;
}

void Watch::RefuseHere(std::string_view obstacle)
{
   if (NoteHere(obstacle))
      throw Unobservable(std::string(obstacle));
}

void Watch::CheckAliases(const TensorList &results) const
{
   for (std::size_t i = 0; i < results.size(); ++i) {
      if (!Address(results[i]))
         throw Unobservable("result " + std::to_string(i) + (results[i].defined() ? " is sparse" : " is an undefined tensor"));
      const auto *memory = Find(results[i]);
      std::string what = !memory ? "a captured tensor" : memory->fInput ? "an input" : "";
      for (std::size_t j = 0; j < i && what.empty(); ++j)
         if (ShareMemory(results[i], results[j]))
            what = "result " + std::to_string(j);
      if (!what.empty())
         throw Unobservable("result " + std::to_string(i) + " shares its memory with " + what + ": return a clone()");
   }
}

/// A hash of an argument without the elements of tensors.
std::size_t Watch::Hash(const c10::IValue &argument) const
{
   std::size_t hash = 0;
   if (argument.isTensor()) {
      hash = Hash(argument.toTensor());
   } else if (argument.isList()) {
      for (const c10::IValue &element : argument.toListRef())
         Mix(hash, Hash(element));
   } else if (argument.isInt()) {
      Mix(hash, std::hash<std::int64_t>()(argument.toInt()));
   } else if (argument.isDouble()) {
      Mix(hash, std::hash<double>()(argument.toDouble()));
   } else if (argument.isBool()) {
      Mix(hash, argument.toBool() ? 3 : 2);
   } else if (argument.isString()) {
      Mix(hash, std::hash<std::string>()(argument.toStringRef()));
   }
   return hash;
}

/// A hash of the tensor's identity: its number in this run, or its address if it is captured.
std::size_t Watch::Hash(const torch::Tensor &tensor) const
{
   std::size_t hash = 0;
   if (!tensor.defined())
      return hash;
   Mix(hash, static_cast<std::size_t>(tensor.scalar_type()) + 1);
   for (const auto size : tensor.sizes())
      Mix(hash, static_cast<std::size_t>(size));
   const auto known = fTensors.find(tensor.unsafeGetTensorImpl());
   if (known != fTensors.end()) {
      Mix(hash, known->second.fNumber);
   } else {
      Mix(hash, reinterpret_cast<std::size_t>(tensor.unsafeGetTensorImpl()));
      fAddresses.emplace_back(tensor.getIntrusivePtr());
   }
   return hash;
}

bool Watch::Made(const torch::Tensor &tensor, std::size_t holders) const
{
   const auto is = [&](const WeakTensor &written) { return torch::Tensor(written.lock()).is_same(tensor); };
   if (std::any_of(fWritten.begin(), fWritten.end(), is))
      return tensor.use_count() == holders;
   const auto *memory = Find(tensor);
   if (!memory || memory->fInput)
      return false;
   if (memory->fSources != kNumbers)
      throw Unobservable("a tensor was computed where LibTorch's trace does not see it");
   return true;
}

std::unique_ptr<at::ObserverContext> Watch::BeforeOperator(const at::RecordFunction &record)
{
   if (!gInnermost)
      return nullptr;
   auto call = std::make_unique<Call>();
   call->fBackward = record.scope() == at::RecordScope::BACKWARD_FUNCTION;
   if (call->fBackward)
      gInnermost->Note("it calls autograd::grad() or backward()");
   else if (gInnermost->fDepth == 0)
      Guarded([&] { gInnermost->Before(record, *call); });
   ++gInnermost->fDepth;
   return call;
}

void Watch::AfterOperator(const at::RecordFunction &record, at::ObserverContext *context)
{
   if (!gInnermost || !context)
      return;
   --gInnermost->fDepth;
   const auto &call = static_cast<const Call &>(*context);
   if (gInnermost->fDepth == 0 && !call.fBackward)
      Guarded([&] { gInnermost->After(record, call); });
}

void Watch::Before(const at::RecordFunction &record, Call &call)
{
   const auto name = record.operator_name();
   const auto handle = name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
   if (!handle)
      return;
   call.fRecorded =
      torch::GradMode::is_enabled() && !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality);
   if (fGradients == kNoGradients && torch::GradMode::is_enabled())
      Note("it switches gradients on (AutoGradMode) before " + Place());
   Step step{name->name + '.' + name->overload_name, NoteNumber(name->name, InputsOf(record))};
   for (const auto &input : InputsOf(record)) {
      ForEachTensor(input, [&](const torch::Tensor &tensor) { BeforeArgument(tensor, call); });
      Mix(step.fArguments, Hash(input));
      if (input.isGenerator())
         Note(name->name + " draws random numbers from a generator of the function's own");
   }
   NoteValues(record, *handle, call);
   if (handle->hasTag(at::Tag::nondeterministic_seeded)) {
      call.fSources |= kRandom;
      call.fRandom = RandomStateNow(fDevice);
   }
   const auto arguments = InputsOf(record);
   if (name->name == "aten::contiguous")
      call.fContiguous = arguments[0].toTensor();
   call.fCounts = name->name == "aten::add_" && arguments.size() > 1 && arguments[1].isInt();
   ForEachWritten(arguments, handle->schema(), [&](const torch::Tensor &tensor) {
      NoteWrite(name->name, tensor, call);
      if (const auto *memory = Find(tensor))
         Mix(step.fArguments, memory->fContiguous);
   });
   fSteps.push_back(std::move(step));
}

void Watch::BeforeArgument(const torch::Tensor &tensor, Call &call)
{
   if (!Address(tensor))
      return;
   call.fGiven.push_back(tensor.storage());
   call.fGradient = call.fGradient || tensor.requires_grad();
   const auto *memory = Find(tensor);
   call.fSources |= memory ? memory->fSources : static_cast<std::uint8_t>(kCapture);
   Forbid(tensor.storage(), false);
   if (IsSuccessor(tensor, memory))
      Know(tensor);
   if (HasOtherMemory(tensor)) {
      Note(Place() + " takes a tensor that got other memory outside of LibTorch's operators (set_data())");
   } else if (Knows(tensor)) {
      if (fGradients == kGradients && tensor.requires_grad() && tensor.is_leaf() && !(memory && memory->fInput))
         Note("it makes a tensor that requires a gradient, for " + Place());
   } else if (memory) {
      Note(Place() + " takes a tensor that shares its memory with another one outside of LibTorch's operators: data(), set_data(), or a "
                      "torch::tensor(std::vector) that has no name of its own");
   } else if (tensor.requires_grad() && std::none_of(fCaptured.begin(), fCaptured.end(),
                                                     [&](const torch::Tensor &known) { return known.is_same(tensor); })) {
      fCaptured.push_back(tensor);
   }
}

/// A tensor of one number that the operator writes is identified by the number, whose hash this returns: it is not
/// captured if no handle on it survives the run.
std::size_t Watch::NoteNumber(const std::string &name, c10::ArrayRef<const c10::IValue> inputs)
{
   const auto place = WrittenNumber(name);
   if (place == 0 || place >= inputs.size() || !inputs[place].isTensor())
      return 0;
   const auto &tensor = inputs[place].toTensor();
   if (!IsOwnNumber(tensor) || Find(tensor) || Knows(tensor))
      return 0;
   Know(tensor);
   fWritten.emplace_back(tensor.getIntrusivePtr());
   const auto *bytes = static_cast<const char *>(tensor.unsafeGetTensorImpl()->data());
   return std::hash<std::string_view>()({bytes, tensor.itemsize()});
}

/// Whether the tensor took over the memory of one that the function made of numbers and that is gone: torch::tensor()
/// returns such a tensor.
bool Watch::IsSuccessor(const torch::Tensor &tensor, const Memory *memory)
{
   if (!memory || memory->fInput || memory->fSources != kNumbers || Knows(tensor))
      return false;
   return !IsShownByOther(tensor);
}

bool Watch::IsShownByOther(const torch::Tensor &tensor)
{
   // Most tensors of a loop are gone after their round.
   const auto isGone = [](const WeakTensor &known) { return known.expired(); };
   fAlive.erase(std::remove_if(fAlive.begin(), fAlive.end(), isGone), fAlive.end());
   return std::any_of(fAlive.begin(), fAlive.end(), [&](const WeakTensor &known) {
      const torch::Tensor other(known.lock());
      return other.defined() && !other.is_same(tensor) && ShareMemory(other, tensor);
   });
}

void Watch::NoteValues(const at::RecordFunction &record, const c10::OperatorHandle &handle, const Call &call)
{
   const auto &name = handle.schema().name();
   const auto inputs = InputsOf(record);
   if (call.fSources != kNumbers && ComparesWithItself(name, inputs))
      return;
   EndComparisons();
   if (ReadsValues(handle)) {
      if (call.fSources != kNumbers)
         Note(name + " before " + Place() + " turns the values of a tensor into a number, which differs at the next call: use "
              "the tensor itself, or torch::where");
      return;
   }
   ++fOperators;
   if (call.fSources != kNumbers && ShapeFollowsValues(handle, inputs))
      Note("the shape of what " + name + " returns depends on the values of a tensor");
}

/// Counts calls of torch::equal() on a tensor and itself, which is true unless it contains a NaN.
bool Watch::ComparesWithItself(const std::string &name, c10::ArrayRef<const c10::IValue> inputs)
{
   if (name != "aten::equal" || !inputs[0].toTensor().is_same(inputs[1].toTensor()))
      return false;
   const auto &tensor = inputs[0].toTensor();
   if (!IsFloating(tensor))
      return true;
   if (tensor.unsafeGetTensorImpl() != fCompared)
      EndComparisons();
   fCompared = tensor.unsafeGetTensorImpl();
   ++fComparisons;
   return true;
}

/// A single comparison tests for NaN. Several in a row are those of multi_head_attention_forward(), which tests whether
/// query, key and value are one tensor, and computes the same values with either answer.
void Watch::EndComparisons()
{
   if (fComparisons == 1)
      Note("aten::equal of a tensor with itself before " + Place() + " depends on its values: it is false if one "
           "of them is NaN");
   fComparisons = 0;
   fCompared = nullptr;
}

void Watch::NoteWrite(const std::string &name, const torch::Tensor &tensor, Call &call)
{
   if (!Address(tensor))
      return;
   call.fWritten.push_back(tensor.storage());
   const auto *memory = Find(tensor);
   // Changes of whole numbers, and counts that increase by one, can be repeated: see Writes.
   if ((!memory || memory->fInput) && IsFloating(tensor) && !(call.fCounts && !memory))
      Note(name + " changes an input or a captured tensor in place");
   if (memory && memory->fHidden)
      Note(name + " changes memory that two tensors share without LibTorch's graph showing it (einsum(), dropout())");
}

void Watch::After(const at::RecordFunction &record, const Call &call)
{
   if (call.fRandom && *call.fRandom != RandomStateNow(fDevice))
      fDraws.emplace_back(record.name());
   bool floating = false;
   const auto outputs = OutputsOf(record);
   for (std::size_t i = 0; i < outputs.size(); ++i)
      ForEachTensor(outputs[i], [&](const torch::Tensor &tensor) {
         floating = floating || IsFloating(tensor);
         if (Address(tensor))
            AfterResult(tensor, record, i, call);
      });
   for (const auto &storage : call.fWritten)
      if (const auto known = fMemory.find(storage.unsafeGetStorageImpl()); known != fMemory.end())
         known->second.fSources |= call.fSources;
   for (const auto &storage : call.fGiven)
      Forbid(storage, true);
   if (fGradients == kGradients && call.fGradient && floating && !call.fRecorded && !IsLike(record.name()))
      Note("it switches gradients off (NoGradGuard, or a torch::autograd::Function of its own) before operator " + std::to_string(fOperators));
}

void Watch::AfterResult(const torch::Tensor &tensor, const at::RecordFunction &record, std::size_t result, const Call &call)
{
   if (!call.fContiguous.defined())
      Know(tensor);
   const auto *storage = tensor.storage().unsafeGetStorageImpl();
   const auto known = fMemory.find(storage);
   const auto isGiven = [&](const auto &given) { return given.unsafeGetStorageImpl() == storage; };
   if (std::any_of(call.fGiven.begin(), call.fGiven.end(), isGiven)) {
      if (known != fMemory.end() && !SaysAlias(record, result) && IsShownByOther(tensor))
         known->second.fHidden = true;
      if (call.fContiguous.defined())
         KnowContiguous(tensor, call.fContiguous);
      return;
   }
   fMemory.emplace(storage, Memory{tensor.storage().getWeakStorageImpl(), call.fSources, false});
   if (call.fContiguous.defined())
      KnowContiguous(tensor, call.fContiguous);
   if (!IsEmpty(record.name())) // who fills it without an operator, as torch::tensor does, fills it now
      Forbid(tensor.storage(), true);
}

void Watch::Note(const std::string &obstacle)
{
   if (fObstacle.empty())
      fObstacle = obstacle;
}

std::string Watch::Place() const
{
   return "operator " + std::to_string(fOperators + 1);
}

void Watch::Know(const torch::Tensor &tensor)
{
   const auto [known, isNew] = fTensors.emplace(tensor.unsafeGetTensorImpl(), Known{WeakTensor(tensor.getIntrusivePtr()), fNumbers, nullptr});
   known->second.fStorage = Address(tensor);
   if (!isNew)
      return;
   ++fNumbers;
   fAlive.emplace_back(tensor.getIntrusivePtr());
}

/// contiguous() returns its argument or a copy. Which of them depends on the algorithm that computed the argument, and
/// that may be another one if gradients are required, as in attention. Both count as one tensor, unless one of them is
/// written.
void Watch::KnowContiguous(const torch::Tensor &tensor, const torch::Tensor &given)
{
   const auto state = ShareMemory(tensor, given) ? kAsItIs : kCopied;
   for (const auto *one : {&tensor, &given})
      if (const auto memory = fMemory.find(Address(*one)); memory != fMemory.end())
         memory->second.fContiguous = state;
   if (tensor.is_same(given)) // also if it is captured, as which it stays known
      return;
   const auto known = fTensors.find(given.unsafeGetTensorImpl());
   if (known == fTensors.end())
      return Know(tensor); // the copy of a captured one
   const auto number = known->second.fNumber;
   if (fTensors.emplace(tensor.unsafeGetTensorImpl(), Known{WeakTensor(tensor.getIntrusivePtr()), number, Address(tensor)}).second)
      fAlive.emplace_back(tensor.getIntrusivePtr());
}

bool Watch::Knows(const torch::Tensor &tensor) const
{
   return fTensors.count(tensor.unsafeGetTensorImpl()) > 0;
}

/// Whether it is not in the memory in which an operator left it.
bool Watch::HasOtherMemory(const torch::Tensor &tensor) const
{
   const auto known = fTensors.find(tensor.unsafeGetTensorImpl());
   return known != fTensors.end() && known->second.fStorage != Address(tensor);
}

const Watch::Memory *Watch::Find(const torch::Tensor &tensor) const
{
   const auto known = fMemory.find(Address(tensor));
   return known == fMemory.end() ? nullptr : &known->second;
}

void Watch::Forbid(const c10::Storage &storage, bool forbidden) const
{
   // Captured tensors are not the function's own: other threads may use them now.
   if (fGradients == kGradients || !fMemory.count(storage.unsafeGetStorageImpl()))
      return;
   auto &implementation = *storage.unsafeGetStorageImpl();
   if (forbidden)
      implementation.release_data_and_set_meta_custom_data_ptr_error_msg_(kReading);
   else
      ReadingThrows(implementation) = false;
}

} // namespace Internal
} // namespace CladTorch
