#include <CladTorch/Torch/Compile.hxx>
#include <CladTorch/Torch/Guard.hxx>

#include "CompiledFunction.hxx"
#include "DynamicBatch.hxx"
#include "Specialisation.hxx"

#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <iostream>
#include <list>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace CladTorch {
namespace Internal {

/// What a thread's last Forward() left for its Backward().
struct LastCall {
   std::shared_ptr<const Specialisation> fSpecialisation;
   SavedCall fSaved;
   TensorList fOutputs; ///< with LibTorch's own graph where that ran
   TensorList fInputs;  ///< as LibTorch's own graph has them
};

struct CompiledData {
   /// Shapes remembered: who brings a new one with every call must not fill the memory.
   static constexpr std::size_t kMost = 256;

   CompiledData(ListFunction function, const TensorList &examples, const CompileOptions &options)
      : fFunction(std::make_shared<const ListFunction>(std::move(function))), fOptions(options), fFirst(Find(examples, Floating(examples), false))
   {
   }

   /// The inputs that have a gradient.
   static std::vector<bool> Floating(const TensorList &inputs)
   {
      std::vector<bool> floating;
      for (const auto &input : inputs)
         floating.push_back(input.is_floating_point());
      return floating;
   }

   std::shared_ptr<const Specialisation> Find(const TensorList &inputs, const std::vector<bool> &wanted, bool captured)
   {
      {
         const std::shared_lock<std::shared_mutex> reading(fMutex);
         if (auto known = Known(inputs, wanted, captured))
            return known;
      }
      const std::unique_lock<std::shared_mutex> writing(fMutex);
      if (auto known = Known(inputs, wanted, captured))
         return known;
      Check(inputs);
      auto made = FromBatch(inputs, wanted, captured);
      if (!made)
         made = std::make_shared<const Specialisation>(fFunction, inputs, wanted, captured, fOptions,
                                                       [&] { return Observe(*fFunction, inputs, fOptions.fName); });
      if (fSpecialisations.size() == kMost)
         fSpecialisations.erase(fSpecialisations.begin());
      fSpecialisations.push_back(made);
      return made;
   }

   std::vector<std::shared_ptr<const Specialisation>> Specialisations() const
   {
      const std::shared_lock<std::shared_mutex> reading(fMutex);
      return fSpecialisations;
   }

   /// What the calling thread's last Forward() left; the reference is its own.
   LastCall &Last()
   {
      const std::lock_guard<std::mutex> lock(fLastMutex);
      return fLast[std::this_thread::get_id()];
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
   Known(const TensorList &inputs, const std::vector<bool> &wanted, bool captured) const
   {
      for (const auto &one : fSpecialisations)
         if (one->Fits(inputs, wanted, captured))
            return one;
      return nullptr;
   }

   /// From an observation for every number of rows; null where there is none, or none that holds for these inputs.
   std::shared_ptr<const Specialisation> FromBatch(const TensorList &inputs, const std::vector<bool> &wanted, bool captured)
   {
      const auto *batch = Batch(inputs);
      if (!batch)
         return nullptr;
      const auto rows = inputs[0].size(0);
      const auto observe = [&] { return batch->At(rows); };
      if (rows == batch->Rows())
         return std::make_shared<const Specialisation>(fFunction, inputs, wanted, captured, fOptions, observe);
      auto options = fOptions;
      options.fBackEnd = kAnyBackEnd;
      const auto first = std::to_string(batch->Rows()) + " rows";
      const bool byCompiler = fOptions.fBackEnd == kJitBackEnd || fOptions.fBackEnd == kFastestBackEnd;
      const auto why = byCompiler ? "what jit compiled is for " + first : "derived from the observation with " + first;
      auto made = std::make_shared<const Specialisation>(fFunction, inputs, wanted, captured, options, observe, why);
      return made->Compiled() ? made : nullptr;
   }

   /// What these inputs are another number of rows of, observed now where it was not.
   const DynamicBatch *Batch(const TensorList &inputs)
   {
      if (!fOptions.fDynamicBatch || fOptions.fBackEnd == kAutogradBackEnd || !DynamicBatch::CanBegin(inputs))
         return nullptr;
      for (const auto &batch : fBatches)
         if (batch.Fits(inputs))
            return &batch;
      try {
         if (fBatches.size() == kMost)
            fBatches.pop_front();
         return &fBatches.emplace_back(*fFunction, inputs, fOptions.fName);
      } catch (const Unobservable &) {
         return nullptr; // LibTorch runs it, whatever the rows
      }
   }

   static void Check(const TensorList &inputs)
   {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
         const auto name = "input " + std::to_string(i);
         if (!inputs[i].defined())
            throw std::invalid_argument(name + " is an undefined tensor");
         if (!inputs[i].is_cpu() || inputs[i].layout() != torch::kStrided)
            throw std::invalid_argument(name + " is on " + inputs[i].device().str() + " or sparse; a compiled function "
                                        "takes dense tensors on the CPU: move it with .cpu()");
      }
   }

   mutable std::shared_mutex fMutex;
   std::vector<std::shared_ptr<const Specialisation>> fSpecialisations;
   std::list<DynamicBatch> fBatches;
   std::mutex fLastMutex;
   std::map<std::thread::id, LastCall> fLast;

public:
   const std::shared_ptr<const Specialisation> fFirst; ///< of the examples
};

namespace {

/// The function on LibTorch, with a graph from fresh leaves.
void ForwardOnLibTorch(const ListFunction &function, const TensorList &inputs, LastCall &last)
{
   const torch::AutoGradMode gradients(true);
   last.fInputs.clear();
   for (const auto &input : inputs)
      last.fInputs.push_back(input.detach().requires_grad_(input.is_floating_point()));
   last.fOutputs = function(last.fInputs);
   last.fSaved.Keep(last.fInputs);
}

TensorList BackwardOnLibTorch(const LastCall &last, const TensorList &adjoints)
{
   TensorList leaves, outputs, given;
   for (const auto &input : last.fInputs)
      if (input.requires_grad())
         leaves.push_back(input);
   for (std::size_t i = 0; i < adjoints.size(); ++i)
      if (last.fOutputs[i].requires_grad()) {
         outputs.push_back(last.fOutputs[i]);
         given.push_back(adjoints[i]);
      }
   TensorList found(leaves.size());
   if (!outputs.empty())
      found = torch::autograd::grad(outputs, leaves, given, true, false, true);
   TensorList gradients;
   auto next = found.begin();
   for (const auto &input : last.fInputs) {
      gradients.emplace_back();
      if (input.requires_grad()) {
         gradients.back() = next->defined() ? next->contiguous() : torch::zeros_like(input, at::MemoryFormat::Contiguous);
         ++next;
      }
   }
   return gradients;
}

void CheckAdjoints(const TensorList &outputs, const TensorList &adjoints)
{
   if (outputs.size() != adjoints.size())
      throw std::invalid_argument(std::to_string(adjoints.size()) + " adjoints were given for " +
                                  std::to_string(outputs.size()) + " outputs");
   for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto &output = outputs[i], &adjoint = adjoints[i];
      if (!adjoint.defined() || adjoint.sizes() != output.sizes() || adjoint.scalar_type() != output.scalar_type() ||
          !adjoint.is_cpu())
         throw std::invalid_argument("adjoint " + std::to_string(i) + " has to be a CPU tensor of type " +
                                     c10::toString(output.scalar_type()) + " and shape " + c10::str(output.sizes()) +
                                     " as the output has");
   }
}

TensorList Detached(const TensorList &tensors)
{
   TensorList detached;
   for (const auto &tensor : tensors)
      detached.push_back(tensor.detach());
   return detached;
}

torch::Tensor Single(const TensorList &outputs)
{
   if (outputs.size() != 1)
      throw std::runtime_error("the function returns " + std::to_string(outputs.size()) + " tensors: use the method for "
                               "all of them");
   return outputs.front();
}

TensorList Forward(CompiledData &data, const TensorList &inputs)
{
   auto &last = data.Last();
   last.fSpecialisation = nullptr; // nothing to go back through where this call fails
   const auto specialisation = data.Find(inputs, CompiledData::Floating(inputs), false);
   TensorList outputs;
   if (specialisation->Compiled()) {
      outputs = specialisation->Forward(CompiledData::WithConstants(inputs, *specialisation), &last.fSaved);
      last.fOutputs = outputs;
   } else {
      ForwardOnLibTorch(*data.fFunction, inputs, last);
      outputs = Detached(last.fOutputs);
   }
   last.fSpecialisation = specialisation;
   return outputs;
}

TensorList Backward(CompiledData &data, const TensorList &adjoints)
{
   const auto &last = data.Last();
   if (!last.fSpecialisation)
      throw std::runtime_error("Backward() before Forward() on this thread");
   CheckAdjoints(last.fOutputs, adjoints);
   last.fSaved.CheckUnchanged();
   if (!last.fSpecialisation->Compiled())
      return BackwardOnLibTorch(last, adjoints);
   auto gradients = last.fSpecialisation->Backward(last.fSaved, adjoints);
   gradients.resize(gradients.size() - last.fSpecialisation->Constants().size());
   return gradients;
}

TensorList Jacobian(CompiledData &data, const TensorList &inputs)
{
   const auto output = Single(Forward(data, inputs));
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
      const auto gradients = Backward(data, {adjoint});
      for (std::size_t i = 0; i < inputs.size(); ++i)
         if (jacobian[i].defined())
            jacobian[i].view({outputs, inputs[i].numel()})[row].copy_(gradients[i].view(-1));
   }
   return jacobian;
}

TensorList HessianVector(const CompiledData &data, const TensorList &inputs, const TensorList &directions)
{
   if (inputs.size() != directions.size())
      throw std::invalid_argument(std::to_string(directions.size()) + " directions were given for " +
                                  std::to_string(inputs.size()) + " inputs");
   const torch::AutoGradMode recording(true);
   TensorList leaves, wanted, along;
   for (std::size_t i = 0; i < inputs.size(); ++i) {
      leaves.push_back(inputs[i].detach());
      if (!inputs[i].is_floating_point())
         continue;
      if (!directions[i].defined() || directions[i].sizes() != inputs[i].sizes())
         throw std::invalid_argument("direction " + std::to_string(i) + " has to have the shape of its input, " +
                                     c10::str(inputs[i].sizes()));
      wanted.push_back(leaves.back().set_requires_grad(true));
      along.push_back(directions[i]);
   }
   const auto value = Single((*data.fFunction)(leaves));
   if (value.numel() != 1)
      throw std::invalid_argument("second derivatives are those of a function that returns one number, this one returns " +
                                  std::to_string(value.numel()));
   const auto gradients = torch::autograd::grad({value.sum()}, wanted, {}, true, true, true);
   torch::Tensor slope; // of the value along the directions
   for (std::size_t i = 0; i < wanted.size(); ++i)
      if (gradients[i].defined())
         slope = slope.defined() ? slope + (gradients[i] * along[i]).sum() : (gradients[i] * along[i]).sum();
   TensorList products(wanted.size());
   if (slope.defined() && slope.requires_grad())
      products = torch::autograd::grad({slope}, wanted, {}, std::nullopt, false, true);
   TensorList all;
   auto next = wanted.begin();
   auto product = products.begin();
   for (const auto &input : inputs) {
      all.emplace_back();
      if (input.is_floating_point()) {
         all.back() = product->defined() ? *product : torch::zeros_like(*next).detach();
         ++next, ++product;
      }
   }
   return all;
}

/// Whether LibTorch would want a gradient of any of `tensors` now.
bool AnyRequiresGrad(const TensorList &tensors)
{
   return std::any_of(tensors.begin(), tensors.end(), [](const auto &tensor) { return tensor.requires_grad(); });
}

TensorList Call(CompiledData &data, const TensorList &inputs)
{
   const bool recording = torch::GradMode::is_enabled();
   std::vector<bool> wanted;
   for (const auto &input : inputs)
      wanted.push_back(recording && input.defined() && input.requires_grad());
   const auto specialisation = data.Find(inputs, wanted, recording);
   if (!specialisation->Compiled())
      return (*data.fFunction)(inputs);
   auto arguments = CompiledData::WithConstants(inputs, *specialisation);
   if (torch::autograd::isFwGradDefinedTensorList(at::ITensorListRef(arguments)))
      throw std::runtime_error("a compiled function has gradients but no forward derivatives: call the function itself");
   if (recording && AnyRequiresGrad(arguments))
      return CompiledFunction::Run(std::move(arguments), specialisation);
   return specialisation->Forward(std::move(arguments), nullptr);
}

} // namespace
} // namespace Internal

using namespace Internal;

Compiled::Compiled(ListFunction function, const TensorList &examples, const CompileOptions &options)
   : fData(TorchGuard("CladTorch::Compile", [&] {
        return std::make_shared<CompiledData>(std::move(function), examples, options);
     }))
{
}

torch::Tensor Compiled::Forward(const TensorList &inputs) const
{
   return TorchGuard("CladTorch::Compiled::Forward", [&] { return Single(Internal::Forward(*fData, inputs)); });
}

TensorList Compiled::ForwardAll(const TensorList &inputs) const
{
   return TorchGuard("CladTorch::Compiled::ForwardAll", [&] { return Internal::Forward(*fData, inputs); });
}

TensorList Compiled::Backward(const TensorList &adjoints) const
{
   return TorchGuard("CladTorch::Compiled::Backward", [&] { return Internal::Backward(*fData, adjoints); });
}

TensorList Compiled::Jacobian(const TensorList &inputs) const
{
   return TorchGuard("CladTorch::Compiled::Jacobian", [&] { return Internal::Jacobian(*fData, inputs); });
}

TensorList Compiled::HessianVector(const TensorList &inputs, const TensorList &directions) const
{
   return TorchGuard("CladTorch::Compiled::HessianVector",
                     [&] { return Internal::HessianVector(*fData, inputs, directions); });
}

torch::Tensor Compiled::Call(const TensorList &inputs) const
{
   return TorchGuard("CladTorch::Compiled::Call", [&] { return Single(Internal::Call(*fData, inputs)); });
}

TensorList Compiled::CallAll(const TensorList &inputs) const
{
   return TorchGuard("CladTorch::Compiled::CallAll", [&] { return Internal::Call(*fData, inputs); });
}

void Compiled::Print() const
{
   TorchGuard("CladTorch::Compiled::Print", [&] {
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

std::size_t Compiled::Specialisations() const
{
   return fData->Specialisations().size();
}

} // namespace CladTorch
