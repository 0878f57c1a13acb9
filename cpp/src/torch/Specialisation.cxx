#include "Specialisation.hxx"

#include "Devices.hxx"
#include "Interrupt.hxx"
#include "Parts.hxx"
#include "Preserve.hxx"

#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>

namespace CladTorch {
namespace Internal {

namespace {

torch::ScalarType TypeOf(Core::DType dtype)
{
   switch (dtype) {
   case Core::DType::Float64: return torch::kFloat64;
   case Core::DType::Int64: return torch::kInt64;
   case Core::DType::Bool: return torch::kBool;
   default: return torch::kFloat32;
   }
}

Core::BackEnd ToCore(EBackEnd backEnd)
{
   static_assert(static_cast<int>(Core::BackEnd::Any) == kAnyBackEnd && static_cast<int>(Core::BackEnd::Aot) == kAotBackEnd &&
                 static_cast<int>(Core::BackEnd::Jit) == kJitBackEnd && static_cast<int>(Core::BackEnd::Autograd) == kAutogradBackEnd &&
                 static_cast<int>(Core::BackEnd::Fastest) == kFastestBackEnd);
   return static_cast<Core::BackEnd>(backEnd);
}

/// Addresses for the core, without an allocation for the usual few.
class Addresses {
public:
   void Add(const torch::Tensor &tensor) { fList.push_back(tensor.defined() ? Address(tensor) : 0); }
   rust::Slice<const std::size_t> Slice() const { return {fList.data(), fList.size()}; }

private:
   static std::size_t Address(const torch::Tensor &tensor)
   {
      return reinterpret_cast<std::size_t>(tensor.unsafeGetTensorImpl()->data());
   }
   c10::SmallVector<std::size_t, 24> fList;
};

c10::IntArrayRef Shape(const rust::Vec<std::int64_t> &shape)
{
   return {shape.data(), shape.size()};
}

/// Bypasses the dispatcher on the CPU, which takes several times as long as the allocation.
torch::Tensor Empty(Core::DType dtype, c10::IntArrayRef shape, torch::Device device)
{
   if (!device.is_cpu())
      return torch::empty(shape, torch::dtype(TypeOf(dtype)).device(device));
   return at::detail::empty_cpu(shape, TypeOf(dtype), std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}

/// The same with the strides of a result.
torch::Tensor Empty(const Core::DenseSpec &result, torch::Device device)
{
   const auto shape = Shape(result.shape), strides = Shape(result.strides);
   if (strides.empty())
      return Empty(result.dtype, shape, device);
   if (!device.is_cpu())
      return torch::empty_strided(shape, strides, torch::dtype(TypeOf(result.dtype)).device(device));
   return at::detail::empty_strided_cpu(shape, strides, TypeOf(result.dtype), std::nullopt, std::nullopt, std::nullopt);
}

/// The values in memory as shown, row by row; the tensor itself if it already is.
torch::Tensor Plain(const torch::Tensor &tensor)
{
   if (!tensor.defined())
      return tensor;
   return tensor.is_neg() ? tensor.resolve_neg().contiguous() : tensor.contiguous();
}

/// The adjoint of an output or, if it has none, as many zeros as `like` has elements.
torch::Tensor Given(const torch::Tensor &adjoint, Core::DType dtype, const torch::Tensor &like)
{
   return adjoint.defined() ? adjoint : Empty(dtype, like.sizes(), like.device()).zero_();
}

/// How often a tensor was changed in place; LibTorch does not count it for tensors of its inference mode.
std::uint32_t Version(const torch::Tensor &tensor)
{
   return tensor.is_inference() ? 0 : tensor._version();
}

/// Checks that a call of the compiled function changes the same memory as a run of the function did.
void CheckChanged(const Observation &observation, std::size_t inputs, const rust::Vec<std::uint32_t> &updates)
{
   for (const auto &changed : observation.fChanged) {
      const auto is = [&](const torch::Tensor &tensor) {
         return tensor.storage().unsafeGetStorageImpl() == changed.unsafeGetStorageImpl();
      };
      const auto updated = [&](std::size_t i) { return i >= inputs && is(observation.fConstants[i - inputs]); };
      const auto counted = [&](const Counter &counter) { return is(counter.fTensor); };
      if (std::none_of(updates.begin(), updates.end(), updated) &&
          std::none_of(observation.fCounters.begin(), observation.fCounters.end(), counted))
         throw Unobservable("it changes a captured tensor by an operator that none of its results uses");
   }
}

} // namespace

void SavedCall::Keep(TensorList arguments)
{
   fArguments = std::move(arguments);
   fVersions.clear(); // its memory stays for the next call
   fVersions.reserve(fArguments.size());
   for (const auto &argument : fArguments)
      fVersions.push_back(Version(argument));
}

void SavedCall::CheckUnchanged(std::size_t inputs) const
{
   for (std::size_t i = 0; i < fArguments.size(); ++i)
      if (Version(fArguments[i]) != fVersions[i])
         throw std::runtime_error((i < inputs ? "input " + std::to_string(i) : "captured tensor " + std::to_string(i - inputs)) +
                                  ", of shape " + c10::str(fArguments[i].sizes()) +
                                  ", was changed in place between the forward and the backward call");
}

Specialisation::Specialisation(std::shared_ptr<const ListFunction> function, const TensorList &inputs, const Wanted &wanted,
                               const CompileOptions &options, const Observer &observe, const std::string &why)
   : fFunction(std::move(function)), fInputs(inputs.begin(), inputs.end()), fDevice(DeviceOf(inputs)), fWanted(wanted)
{
   const auto backEnd = ToCore(options.fBackEnd);
   if (!Core::back_end_tries_kernels(backEnd)) {
      fReason = std::string(Core::back_end_why_libtorch(backEnd, ""));
      return;
   }
   std::optional<Observation> observation;
   try {
      observation = observe();
      Take(*observation);
      MakeWhole(*observation, options, why);
   } catch (const Unobservable &e) {
      fReason = e.what();
   } catch (const rust::Error &e) {
      fReason = e.what();
   }
   if (Compiled())
      return;
   fReason = std::string(Core::back_end_why_libtorch(backEnd, fReason)); // throws if the options require kernels
   if (observation && observation->fRecorded)
      MakeParts(*observation, options);
}

void Specialisation::MakeWhole(const Observation &observation, const CompileOptions &options, const std::string &why)
{
   Core::CompileSpec spec{options.fName, ToCore(options.fBackEnd), why, {}, options.fTimeLimit, GpuNumber(fDevice)};
   for (const bool gradient : fGradients)
      spec.gradients.push_back(gradient);
   auto core = Interruptible("the compilation", [&](const InterruptScope &) {
      return Core::compiled_new(observation.Graph(), spec);
   });
   fSignature = Core::compiled_signature(*core);
   const auto &passed = fSignature->passed_on;
   if (std::any_of(passed.begin(), passed.end(), [](std::int32_t output) { return output >= 0; }))
      fPassedOn.assign(passed.begin(), passed.end());
   CheckChanged(observation, fInputs.size(), fSignature->updates);
   if (fSignature->dropout.size() != observation.fDraws.size())
      throw Unobservable("it draws random numbers that none of its results uses, or with another operator than dropout");
   fCore = std::move(core);
   fReason = std::string((*fCore)->obstacle());
}

void Specialisation::MakeParts(const Observation &observation, const CompileOptions &options)
{
   try {
      auto parts = std::make_shared<const Parts>(observation, fGradients, options);
      CheckChanged(observation, fInputs.size(), parts->Updates());
      fParts = std::move(parts);
      if (const auto reason = fParts->Reason(); !reason.empty()) // otherwise it has the reason for the whole function
         fReason = reason;
   } catch (const Unobservable &e) {
      if (fReason != e.what())
         fReason += std::string("; not in parts: ") + e.what();
   }
}

namespace {

/// The result with a gradient of zeros, as LibTorch has it of a tensor that zero_() has overwritten.
torch::Tensor WithZeroGradient(const torch::Tensor &result, const torch::Tensor &argument)
{
   const auto never = torch::zeros({}, result.options().dtype(torch::kBool).requires_grad(false));
   return result.is_floating_point() ? torch::where(never, argument.sum().to(result.scalar_type()), result) : result;
}

} // namespace

Specialisation::Specialisation(std::shared_ptr<const ListFunction> function, const TensorList &inputs, const Wanted &wanted,
                               std::string reason)
   : fFunction(std::move(function)), fInputs(inputs.begin(), inputs.end()), fWanted(wanted), fReason(std::move(reason))
{
}

void Specialisation::Take(const Observation &observation)
{
   fConstants = Captured(observation.fConstants);
   fCounters = observation.fCounters;
   fReached = observation.fReached;
   if (fInputs.empty())
      fDevice = DeviceOf(observation.fConstants);
   const auto inputs = fInputs.size(), arguments = inputs + fConstants.Size();
   for (auto &reached : fReached)
      reached.resize(arguments);
   for (std::size_t i = 0; i < arguments; ++i) {
      const bool reached = std::any_of(fReached.begin(), fReached.end(), [&](const auto &from) { return from[i]; });
      // Forward() has a gradient for every input, even if only of zeros.
      fGradients.push_back(fWanted.fCaptured ? reached : i < inputs && fWanted.fInputs[i] && fWanted.fRecorded);
      fRecorded = fRecorded || (fWanted.fCaptured && reached);
   }
}

bool Specialisation::Fits(const TensorList &inputs, const Wanted &wanted) const
{
   if (inputs.size() != fInputs.size() || !(wanted == fWanted))
      return false;
   for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!fInputs[i].Fits(inputs[i]))
         return false;
   return fConstants.Fit();
}

std::string Specialisation::BackEnd() const
{
   return fCore ? std::string(Core::compiled_back_end(**fCore)) : fParts ? "split" : "autograd";
}

std::string Specialisation::Describe() const
{
   std::string calls;
   for (const auto &input : fInputs)
      calls += (calls.empty() ? "for " : ", ") + input.Describe();
   if (calls.empty())
      calls = "for no inputs";
   std::string gradients;
   for (std::size_t i = 0; i < fInputs.size(); ++i)
      if (fWanted.fRecorded && fWanted.fInputs[i])
         gradients += (gradients.empty() ? ", with gradients of input " : ", ") + std::to_string(i);
   if (fWanted.fRecorded && fWanted.fCaptured)
      gradients += gradients.empty() ? ", with gradients of captured tensors" : " and of captured tensors";
   calls += (gradients.empty() ? ", without gradients" : gradients) + "\n";
   if (fCore)
      return calls + std::string((*fCore)->describe());
   if (fParts)
      return calls + "split: " + fReason + "\n" + fParts->Describe();
   return calls + "back end autograd (LibTorch): " + fReason + "\n";
}

std::string Specialisation::Code() const
{
   return fCore ? std::string((*fCore)->text()) : fParts ? fParts->Code() : std::string();
}

TensorList Specialisation::OnLibTorch(const TensorList &inputs) const
{
   if (!fParts)
      return (*fFunction)(inputs);
   auto arguments = inputs;
   for (const auto &constant : Constants())
      arguments.push_back(fWanted.fCaptured ? constant : constant.detach());
   if (torch::autograd::isFwGradDefinedTensorList(at::ITensorListRef(arguments)))
      return (*fFunction)(inputs); // kernels have no forward derivatives
   auto outputs = (*fParts)(arguments);
   Count();
   for (std::size_t i = 0; i < outputs.size() && torch::GradMode::is_enabled(); ++i) {
      const bool isConstant = !outputs[i].requires_grad();
      for (std::size_t j = 0; isConstant && j < arguments.size(); ++j)
         if (fReached[i][j] && arguments[j].requires_grad())
            outputs[i] = WithZeroGradient(outputs[i], arguments[j]);
   }
   return outputs;
}

void Specialisation::Count() const
{
   for (const auto &counter : fCounters)
      counter.fTensor.detach().add_(counter.fStep);
}

TensorList Specialisation::Original(const TensorList &arguments) const
{
   std::vector<KeptMemory> before; // the forward call has changed and counted already
   for (const auto update : fSignature->updates)
      before.emplace_back(arguments[update]);
   for (const auto &counter : fCounters)
      before.emplace_back(counter.fTensor);
   auto outputs = (*fFunction)({arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(fInputs.size())});
   std::for_each(before.rbegin(), before.rend(), [](const KeptMemory &kept) { kept.PutBack(); });
   return outputs;
}

TensorList Specialisation::Forward(TensorList arguments, SavedCall *saved) const
{
   for (const auto &factors : fSignature->dropout)
      arguments.push_back(Empty(factors.dtype, Shape(factors.shape), fDevice).bernoulli_(factors.keep).div_(factors.keep));
   Addresses inputs, outputs;
   for (const auto &argument : arguments)
      inputs.Add(argument);
   TensorList results;
   results.reserve(fSignature->outputs.size());
   for (const auto &output : fSignature->outputs) {
      results.push_back(Empty(output, fDevice));
      outputs.Add(results.back());
   }
   const auto stream = CurrentStream(fDevice);
   if (saved)
      saved->fCore = Core::compiled_forward(**fCore, stream, inputs.Slice(), outputs.Slice());
   else
      Core::compiled_infer(**fCore, stream, inputs.Slice(), outputs.Slice());
   const auto own = results.size() - fSignature->updates.size();
   for (std::size_t i = 0; i < fSignature->updates.size(); ++i)
      // Not counted, as with LibTorch's operators, so that the graph of an earlier call can still go backward.
      arguments[fSignature->updates[i]].variable_data().copy_(results[own + i]);
   Count();
   if (saved)
      saved->Keep(std::move(arguments));
   results.resize(own);
   return results;
}

TensorList Specialisation::Backward(const SavedCall &saved, const TensorList &adjoints, bool passOn) const
{
   Addresses inputs, outputs, gradients;
   for (const auto &argument : saved.fArguments)
      inputs.Add(argument);
   c10::SmallVector<torch::Tensor, 8> plain;
   for (const auto &adjoint : adjoints) {
      plain.push_back(Plain(adjoint));
      outputs.Add(plain.back());
   }
   TensorList results(fGradients.size());
   for (std::size_t i = 0; i < fGradients.size(); ++i) {
      const bool isPassedOn = passOn && !fPassedOn.empty() && fPassedOn[i] >= 0;
      if (fGradients[i] && !isPassedOn)
         results[i] = Empty(fSignature->dtype, saved.fArguments[i].sizes(), fDevice);
      gradients.Add(results[i]);
      if (fGradients[i] && isPassedOn) // not written: LibTorch's operators also return the adjoint itself
         results[i] = Given(plain[static_cast<std::size_t>(fPassedOn[i])], fSignature->dtype, saved.fArguments[i]);
   }
   Core::compiled_backward(**fCore, CurrentStream(fDevice), **saved.fCore, inputs.Slice(), outputs.Slice(), gradients.Slice());
   for (std::size_t i = 0; i < fGradients.size(); ++i)
      if (fGradients[i] && results[i].scalar_type() != saved.fArguments[i].scalar_type())
         results[i] = results[i].to(saved.fArguments[i].scalar_type()); // without dimensions its type may differ
   return results;
}

} // namespace Internal
} // namespace CladTorch
