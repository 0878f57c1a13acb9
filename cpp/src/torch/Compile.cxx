#include <CladTorch/Torch/Compile.hxx>
#include <CladTorch/Torch/Guard.hxx>

#include "CompiledFunction.hxx"
#include "Devices.hxx"
#include "DynamicBatch.hxx"
#include "OnLibTorch.hxx"
#include "Specialisation.hxx"
#include "Watch.hxx"
#include "Written.hxx"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <list>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace CladTorch {
namespace Internal {

/// The state that Forward() leaves for Backward().
struct LastCall {
   std::shared_ptr<const Specialisation> fSpecialisation;
   SavedCall fSaved;
   TensorList fOutputs; ///< with LibTorch's own graph if LibTorch ran it
   TensorList fInputs;  ///< as LibTorch's own graph has them
};

/// The remedy for a function that does something else for other numbers of rows.
constexpr const char *kWithoutBatch = "compile it without fDynamicBatch: each number of rows is then observed by itself";

/// Says which thread makes a specialisation.
struct Making {
   explicit Making(std::atomic<std::thread::id> &maker) : fMaker(maker) { fMaker = std::this_thread::get_id(); }
   ~Making() { fMaker = std::thread::id(); }
   Making(const Making &) = delete;
   Making &operator=(const Making &) = delete;
   std::atomic<std::thread::id> &fMaker;
};

struct CompiledData {
   /// Shapes remembered: a caller that brings a new one with every call must not fill the memory.
   static constexpr std::size_t kMost = 256;
   /// Once there are that many, one in this many calls with other shapes gets its own. To observe a function takes as
   /// long as about ten calls of LibTorch.
   static constexpr std::size_t kPatience = 32;

   CompiledData(ListFunction function, const TensorList &examples, const CompileOptions &options, const torch::nn::Module *module)
      : fFunction(std::make_shared<const ListFunction>(std::move(function))), fOptions(options), fModules(All(module))
   {
      Core::compiled_check_time_limit(options.fTimeLimit);
      fFirst = Find(examples, AllOf(examples)); // which checks whether there is one already
   }

   /// The module and its parts, at every depth. The function keeps the module, which keeps its parts.
   static std::vector<const torch::nn::Module *> All(const torch::nn::Module *module)
   {
      std::vector<const torch::nn::Module *> all;
      if (module)
         all.push_back(module);
      for (std::size_t i = 0; i < all.size(); ++i)
         for (const auto &part : all[i]->children())
            all.push_back(part.get());
      return all;
   }

   /// Which of the modules are training.
   std::vector<bool> Mode() const
   {
      std::vector<bool> mode;
      for (const auto *module : fModules)
         mode.push_back(module->is_training());
      return mode;
   }

   /// The gradients that Forward() prepares.
   static Wanted AllOf(const TensorList &inputs)
   {
      Wanted wanted{{}, true, false};
      for (const auto &input : inputs)
         wanted.fInputs.push_back(input.is_floating_point());
      return wanted;
   }

   /// The gradients that LibTorch would compute now.
   static Wanted AsRecorded(const TensorList &inputs)
   {
      const bool recorded = torch::GradMode::is_enabled();
      Wanted wanted{{}, recorded, recorded};
      for (const auto &input : inputs)
         wanted.fInputs.push_back(input.defined() && input.requires_grad());
      return wanted;
   }

   std::shared_ptr<const Specialisation> Find(const TensorList &inputs, const Wanted &wanted)
   {
      const auto mode = Mode();
      {
         const std::shared_lock<std::shared_mutex> reading(fMutex);
         if (auto known = Known(mode, inputs, wanted))
            return known;
      }
      // One thread at a time makes new ones, which takes seconds with a compiler; existing ones are found meanwhile.
      const std::lock_guard<std::mutex> making(fMaking);
      const Making maker(fMaker);
      {
         const std::shared_lock<std::shared_mutex> reading(fMutex);
         if (auto known = Known(mode, inputs, wanted))
            return known;
      }
      Check(inputs);
      if (TakesTurns() && ++fMisses % kPatience != 0)
         return std::make_shared<const Specialisation>(fFunction, inputs, wanted, "it meets more shapes than are remembered");
      std::shared_ptr<const Specialisation> made;
      try {
         made = Make(mode, inputs, wanted);
      } catch (const Thrown &thrown) {
         if (!fFirst)
            Rethrow(thrown);
         // The call will throw it, after the function's earlier effects.
         return std::make_shared<const Specialisation>(fFunction, inputs, wanted, "the function throws");
      }
      const std::unique_lock<std::shared_mutex> writing(fMutex);
      if (fSpecialisations.size() == kMost)
         fSpecialisations.erase(fSpecialisations.begin());
      fSpecialisations.push_back({mode, made});
      return made;
   }

   std::vector<std::shared_ptr<const Specialisation>> Specialisations() const
   {
      const std::shared_lock<std::shared_mutex> reading(fMutex);
      std::vector<std::shared_ptr<const Specialisation>> all;
      for (const auto &one : fSpecialisations)
         all.push_back(one.second);
      return all;
   }

   void Reset()
   {
      if (fMaker == std::this_thread::get_id())
         throw std::runtime_error("Reset() is called by the function itself while it is observed: call it between calls of the function");
      const std::lock_guard<std::mutex> making(fMaking);
      const std::unique_lock<std::shared_mutex> writing(fMutex);
      fSpecialisations.clear();
      fBatches.clear();
      fInconstant.clear();
   }

   /// The state of the calling thread's last Forward(); it alone uses the reference.
   LastCall &Last()
   {
      // Not the thread's number, which a later thread may get again.
      static thread_local const auto thread = std::make_shared<const char>();
      const std::lock_guard<std::mutex> lock(fLastMutex);
      const auto known = fLast.find(thread);
      if (known != fLast.end())
         return known->second;
      for (auto call = fLast.begin(); call != fLast.end();)
         call = call->first.expired() ? fLast.erase(call) : std::next(call);
      return fLast[thread];
   }

   static TensorList WithConstants(const TensorList &inputs, const Specialisation &specialisation)
   {
      TensorList arguments(inputs);
      arguments.insert(arguments.end(), specialisation.Constants().begin(), specialisation.Constants().end());
      return arguments;
   }

   const std::shared_ptr<const ListFunction> fFunction;
   const CompileOptions fOptions;

private:
   std::shared_ptr<const Specialisation>
   Known(const std::vector<bool> &mode, const TensorList &inputs, const Wanted &wanted) const
   {
      for (const auto &[made, one] : fSpecialisations)
         if (made == mode && one->Fits(inputs, wanted))
            return one;
      return nullptr;
   }

   /// Whether shapes displace one another, so that LibTorch may run those without a place.
   bool TakesTurns() const
   {
      const std::shared_lock<std::shared_mutex> reading(fMutex);
      return fSpecialisations.size() == kMost && MayRunOnLibTorch();
   }

   std::shared_ptr<const Specialisation> Make(const std::vector<bool> &mode, const TensorList &inputs, const Wanted &wanted)
   {
      if (!fInconstant.empty() && MayRunOnLibTorch())
         return std::make_shared<const Specialisation>(fFunction, inputs, wanted, fInconstant);
      if (auto made = FromBatch(mode, inputs, wanted))
         return made;
      const auto observe = [&] {
         try {
            return Observe(*fFunction, inputs, wanted, fOptions.fName);
         } catch (const Inconstant &e) {
            fInconstant = e.what();
            throw;
         }
      };
      return std::make_shared<const Specialisation>(fFunction, inputs, wanted, fOptions, observe);
   }

   bool MayRunOnLibTorch() const { return fOptions.fBackEnd == kAnyBackEnd || fOptions.fBackEnd == kFastestBackEnd; }

   /// A specialisation from an observation for every number of rows; null if there is none, or none that fits these
   /// inputs.
   std::shared_ptr<const Specialisation>
   FromBatch(const std::vector<bool> &mode, const TensorList &inputs, const Wanted &wanted)
   {
      const auto *batch = Batch(mode, inputs, wanted);
      if (!batch)
         return nullptr;
      const auto rows = inputs[0].size(0);
      if (rows == batch->Rows()) {
         auto first = std::make_shared<const Specialisation>(fFunction, inputs, wanted, fOptions, [&] { return batch->At(rows); });
         return first->Compiled() ? first : nullptr; // its own observation can be split
      }
      const auto observe = [&] {
         auto derived = batch->At(rows);
         CheckFollows(*fFunction, inputs, wanted, derived, fOptions.fName);
         return derived;
      };
      auto options = fOptions;
      options.fBackEnd = kAnyBackEnd;
      const auto first = std::to_string(batch->Rows()) + " rows";
      const bool byCompiler = DeviceOf(inputs).is_cpu() && (fOptions.fBackEnd == kJitBackEnd || fOptions.fBackEnd == kFastestBackEnd);
      const auto why = byCompiler ? "what jit compiled is for " + first : "derived from the observation with " + first;
      auto made = std::make_shared<const Specialisation>(fFunction, inputs, wanted, options, observe, why);
      return made->Compiled() ? made : nullptr;
   }

   /// The observation that these inputs match except for their number of rows; made now if there is none.
   const DynamicBatch *Batch(const std::vector<bool> &mode, const TensorList &inputs, const Wanted &wanted)
   {
      if (!fOptions.fDynamicBatch || fOptions.fBackEnd == kAutogradBackEnd || !DynamicBatch::CanBegin(inputs))
         return nullptr;
      for (const auto &[made, batch] : fBatches)
         if (made == mode && batch.ForWanted() == wanted && batch.Fits(inputs))
            return &batch;
      try {
         if (fBatches.size() == kMost)
            fBatches.pop_front();
         return &fBatches.emplace_back(mode, DynamicBatch(*fFunction, inputs, wanted, fOptions.fName, kWithoutBatch)).second;
      } catch (const Unobservable &) {
         return nullptr; // LibTorch runs it for any number of rows
      } catch (const std::exception &) {
         if (!fFirst) // the user is told once
            throw;
         return nullptr;
      }
   }

   [[noreturn]] static void Rethrow(const Thrown &thrown)
   {
      try {
         std::rethrow_exception(thrown.fWhat);
      } catch (const std::bad_function_call &) {
         throw std::invalid_argument("the function is, or calls, an empty std::function");
      }
   }

   static void Check(const TensorList &inputs)
   {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
         const auto &input = inputs[i];
         const auto name = "input " + std::to_string(i);
         if (!input.defined())
            throw std::invalid_argument(name + " is an undefined tensor");
         if (input.is_meta())
            throw std::invalid_argument(name + " is on the device meta, which holds no numbers: give a tensor on the CPU");
         if (input.layout() != torch::kStrided)
            throw std::invalid_argument(name + " is sparse; a compiled function takes dense tensors: give its to_dense()");
         if (!input.is_cpu() && !input.is_cuda())
            throw std::invalid_argument(name + " is on " + input.device().str() + "; a compiled function takes tensors on the "
                                        "CPU or on a GPU of NVIDIA (cuda): give its cpu()");
      }
   }

   mutable std::shared_mutex fMutex; ///< of the list; held only briefly
   const std::vector<const torch::nn::Module *> fModules;
   std::vector<std::pair<std::vector<bool>, std::shared_ptr<const Specialisation>>> fSpecialisations; ///< by Mode()
   std::mutex fMaking; ///< for making new ones
   std::atomic<std::thread::id> fMaker{}; ///< the thread that holds it
   std::size_t fMisses = 0; ///< calls when all places were taken; guarded by fMaking
   std::string fInconstant; ///< why the function is not observed again; guarded by fMaking
   std::list<std::pair<std::vector<bool>, DynamicBatch>> fBatches; ///< by Mode()
   std::mutex fLastMutex;
   std::map<std::weak_ptr<const char>, LastCall, std::owner_less<>> fLast; ///< by thread; ended threads stay in it

public:
   std::shared_ptr<const Specialisation> fFirst; ///< of the examples; null until it exists
};

namespace {

void CheckAdjoints(const TensorList &outputs, const TensorList &adjoints)
{
   if (outputs.size() != adjoints.size())
      throw std::invalid_argument(std::to_string(adjoints.size()) + " adjoints were given for " +
                                  std::to_string(outputs.size()) + (outputs.size() == 1 ? " output" : " outputs"));
   for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto &output = outputs[i], &adjoint = adjoints[i];
      if (!adjoint.defined())
         throw std::invalid_argument("adjoint " + std::to_string(i) + " is an undefined tensor: pass torch::zeros_like(output) for an "
                                     "output whose adjoint is 0");
      if (adjoint.sizes() != output.sizes() || adjoint.scalar_type() != output.scalar_type() || adjoint.device() != output.device())
         throw std::invalid_argument("adjoint " + std::to_string(i) + " has to be a tensor on " + output.device().str() + " of type " +
                                     c10::toString(output.scalar_type()) + " and shape " + c10::str(output.sizes()) +
                                     " as the output has");
   }
}

/// The results of a function without their graphs.
TensorList Detached(const TensorList &results)
{
   TensorList detached;
   for (const auto &result : results) {
      if (!result.defined())
         throw std::runtime_error("the function returns an undefined tensor as result " + std::to_string(detached.size()));
      detached.push_back(result.detach());
   }
   return detached;
}

/// The only output; if there are several, `instead` names the method to use.
torch::Tensor Single(const TensorList &outputs, const char *instead)
{
   if (outputs.empty())
      throw std::runtime_error("the function returns no tensor");
   if (outputs.size() != 1)
      throw std::runtime_error("the function returns " + std::to_string(outputs.size()) + " tensors: " + instead);
   return outputs.front();
}

/// Whether its values are not in memory as shown: for some views, such as imag(conj(z)), LibTorch defers the change of sign, and
/// there are tensors of zeros without memory.
bool IsDeferred(const torch::Tensor &tensor)
{
   return tensor.defined() && (tensor.is_neg() || tensor._is_zerotensor());
}

bool AnyDeferred(const TensorList &tensors)
{
   return std::any_of(tensors.begin(), tensors.end(), IsDeferred);
}

/// The same tensors with their values in memory.
TensorList Resolved(const TensorList &tensors)
{
   TensorList resolved;
   for (const auto &tensor : tensors)
      resolved.push_back(!IsDeferred(tensor) ? tensor : tensor.is_neg() ? tensor.resolve_neg() : tensor.clone());
   return resolved;
}

/// LibTorch's normal mode inside its inference mode, so that the tensors made and kept here can go backward. LibTorch's
/// own graph needs more: see where it is made.
class UsualMode {
   std::optional<c10::InferenceMode> fOff; // switching costs as much as a small tensor

public:
   UsualMode()
   {
      if (c10::InferenceMode::is_enabled())
         fOff.emplace(false);
   }
};

/// Whether operators are dispatched by default, or as in LibTorch's inference mode: not below autograd, and neither
/// recorded, nor transformed (vmap), nor cast (autocast).
bool DispatchesPlainly()
{
   const auto keys = c10::impl::tls_local_dispatch_key_set();
   if (c10::InferenceMode::is_enabled())
      return (keys.included_ | c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView)) == c10::default_included_set &&
             keys.excluded_ == (c10::default_excluded_set | c10::autograd_dispatch_keyset);
   return keys.included_ == c10::default_included_set && keys.excluded_ == c10::default_excluded_set;
}

constexpr const char *kInside = "it calls a compiled function, which chooses its back end at each call: call what that was "
                                "compiled from";

TensorList Forward(CompiledData &data, const TensorList &inputs, LastCall &last)
{
   if (Watch::NoteHere(kInside))
      return Detached((*data.fFunction)(inputs)); // kernels could not read the memory
   if (AnyDeferred(inputs))
      return Forward(data, Resolved(inputs), last);
   last.fSpecialisation = nullptr; // nothing to go back through if this call fails
   const UsualMode usual;
   const auto specialisation = data.Find(inputs, CompiledData::AllOf(inputs));
   TensorList outputs;
   if (specialisation->Compiled()) {
      outputs = specialisation->Forward(CompiledData::WithConstants(inputs, *specialisation), &last.fSaved);
      last.fOutputs = outputs;
   } else {
      // Also if the caller has disabled autograd, as operators' kernels do.
      const c10::InferenceMode recording(false);
      last.fInputs = Leaves(inputs);
      last.fOutputs = specialisation->OnLibTorch(last.fInputs);
      last.fSaved.Keep(last.fInputs);
      outputs = Detached(last.fOutputs);
   }
   last.fSpecialisation = specialisation;
   return outputs;
}

/// Copies the gradients that share memory with one another or with adjoints, and detaches all: a change that the caller
/// makes to one of them changes no other.
void SetApart(TensorList &gradients, const TensorList &adjoints)
{
   for (auto gradient = gradients.begin(); gradient != gradients.end(); ++gradient) {
      const auto shares = [&](const torch::Tensor &other) { return other.defined() && ShareMemory(other, *gradient); };
      if (!gradient->defined())
         continue;
      const bool isShared = std::any_of(gradients.begin(), gradient, shares) || std::any_of(adjoints.begin(), adjoints.end(), shares);
      if (isShared)
         *gradient = gradient->detach().clone(at::MemoryFormat::Contiguous);
      else if (gradient->requires_grad())
         *gradient = gradient->detach();
   }
}

TensorList Backward(const LastCall &last, const TensorList &adjoints)
{
   const UsualMode usual;
   if (!last.fSpecialisation)
      throw std::runtime_error("Backward() follows a Forward() of this thread: there was none, or the last one failed");
   CheckAdjoints(last.fOutputs, adjoints);
   last.fSaved.CheckUnchanged(last.fSpecialisation->Inputs());
   if (!last.fSpecialisation->Compiled()) {
      const c10::InferenceMode recording(false);
      auto gradients = GradientsOnLibTorch(last.fInputs, last.fOutputs, adjoints);
      SetApart(gradients, adjoints);
      return gradients;
   }
   auto gradients = last.fSpecialisation->Backward(last.fSaved, adjoints, false);
   gradients.resize(gradients.size() - last.fSpecialisation->Constants().size());
   return gradients;
}

TensorList Jacobian(CompiledData &data, const TensorList &inputs)
{
   LastCall call; // its own: the thread's last Forward() waits for its Backward()
   const auto output = Single(Forward(data, inputs, call), "Jacobian() is that of one: compile one that returns a single tensor");
   const auto outputs = output.numel();
   TensorList jacobian;
   for (const auto &input : inputs) {
      auto shape = output.sizes().vec();
      shape.insert(shape.end(), input.sizes().begin(), input.sizes().end());
      jacobian.push_back(input.is_floating_point() ? torch::empty(shape, input.options().requires_grad(false)) : torch::Tensor());
   }
   auto adjoint = torch::zeros_like(output, at::MemoryFormat::Contiguous);
   const auto flat = adjoint.view(-1);
   for (std::int64_t row = 0; row < outputs; ++row) {
      flat.zero_();
      flat[row] = 1;
      const auto gradients = Backward(call, {adjoint});
      for (std::size_t i = 0; i < inputs.size(); ++i)
         if (jacobian[i].defined())
            jacobian[i].view({outputs, inputs[i].numel()})[row].copy_(gradients[i].view(-1));
   }
   return jacobian;
}

TensorList Call(CompiledData &data, const TensorList &inputs)
{
   if (Watch::NoteHere(kInside) || !DispatchesPlainly())
      return (*data.fFunction)(inputs);
   if (AnyDeferred(inputs))
      return Call(data, Resolved(inputs));
   const auto specialisation = data.Find(inputs, CompiledData::AsRecorded(inputs));
   if (!specialisation->Compiled())
      return specialisation->OnLibTorch(inputs);
   auto arguments = CompiledData::WithConstants(inputs, *specialisation);
   if (torch::autograd::isFwGradDefinedTensorList(at::ITensorListRef(arguments)))
      throw std::runtime_error("a compiled function has gradients but no forward derivatives: call the function itself");
   if (specialisation->Recorded())
      return CompiledFunction::Run(std::move(arguments), specialisation);
   return specialisation->Forward(std::move(arguments), nullptr);
}

} // namespace

void RefuseNull(const std::string &what)
{
   TorchGuard("CladTorch", [&] { throw std::invalid_argument("the " + what + " is a null pointer"); });
}

} // namespace Internal

using namespace Internal;

namespace {

/// Adds the method and the function to errors.
template <typename F>
auto Named(const CompiledData &data, const char *method, F &&f) -> decltype(f())
{
   try {
      return f();
   } catch (...) {
      // Made only now: a call may take less time than making a string.
      const auto where = "CladTorch::Compiled::" + std::string(method) + " of " + data.fOptions.fName;
      return TorchGuard(where.c_str(), []() -> decltype(f()) { throw; });
   }
}

} // namespace

Compiled::Compiled(ListFunction function, const TensorList &examples, const CompileOptions &options,
                   const torch::nn::Module *module)
   : fData(TorchGuard("CladTorch::Compile", [&] {
        Watch::NoteHere("it compiles a function (CladTorch::Compile) while it runs: call what that is compiled from");
        // Not make_shared, which writes to fData before it makes the object: if that throws, cling takes memory that
        // was written to for a value and destroys it.
        return std::make_unique<CompiledData>(std::move(function), examples, options, module);
     }))
{
}

torch::Tensor Compiled::Forward(const TensorList &inputs) const
{
   return Named(*fData, "Forward", [&] { return Single(Internal::Forward(*fData, inputs, fData->Last()), "use ForwardAll()"); });
}

TensorList Compiled::ForwardAll(const TensorList &inputs) const
{
   return Named(*fData, "ForwardAll", [&] { return Internal::Forward(*fData, inputs, fData->Last()); });
}

TensorList Compiled::Backward(const TensorList &adjoints) const
{
   Watch::RefuseHere(kInside);
   return Named(*fData, "Backward", [&] { return Internal::Backward(fData->Last(), adjoints); });
}

TensorList Compiled::Jacobian(const TensorList &inputs) const
{
   Watch::RefuseHere(kInside);
   return Named(*fData, "Jacobian", [&] { return Internal::Jacobian(*fData, inputs); });
}

TensorList Compiled::HessianVector(const TensorList &inputs, const TensorList &directions) const
{
   Watch::RefuseHere(kInside);
   return Named(*fData, "HessianVector", [&] { return Internal::HessianVector(*fData->fFunction, inputs, directions); });
}

torch::Tensor Compiled::Call(const TensorList &inputs) const
{
   return Named(*fData, "Call", [&] { return Single(Internal::Call(*fData, inputs), "use CallAll()"); });
}

TensorList Compiled::CallAll(const TensorList &inputs) const
{
   return Named(*fData, "CallAll", [&] { return Internal::Call(*fData, inputs); });
}

void Compiled::Print() const
{
   Named(*fData, "Print", [&] {
      std::cout << fData->fOptions.fName << '\n';
      for (const auto &one : fData->Specialisations())
         std::cout << one->Describe();
      std::cout << std::flush;
   });
}

std::string Compiled::BackEnd() const
{
   return fData->fFirst->BackEnd();
}

std::string Compiled::Reason() const
{
   return fData->fFirst->Reason();
}

std::string Compiled::Code() const
{
   return fData->fFirst->Code();
}

void Compiled::Reset() const
{
   fData->Reset();
}

std::size_t Compiled::Specialisations() const
{
   return fData->Specialisations().size();
}

} // namespace CladTorch
