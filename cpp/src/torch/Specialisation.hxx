/// \file Specialisation.hxx
/// \brief A function compiled for one set of dtypes, shapes, strides and one device.

#ifndef CLADTORCH_SPECIALISATION
#define CLADTORCH_SPECIALISATION

#include "CoreBox.hxx"
#include "Captured.hxx"
#include "Observe.hxx"

#include "cladtorch/src/bridge/compiled.rs.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// What a forward call leaves for its backward calls.
struct SavedCall {
   /// Keeps inputs, captured tensors and random factors alive, and remembers them as they are now.
   void Keep(TensorList arguments);
   /// Throws where one of them was changed in place since.
   /// Throws where an argument has been changed; the first `inputs` of them are the function's inputs.
   void CheckUnchanged(std::size_t inputs) const;

   TensorList fArguments;
   std::vector<std::uint32_t> fVersions;
   std::optional<rust::Box<Core::SavedForward>> fCore;
};

class Parts;

/// Thread-safe once made.
class Specialisation {
public:
   /// How `function` was observed, or would be; may throw Unobservable.
   using Observer = std::function<Observation()>;

   /// Compiles `function` as `observe` sees it, for calls like `wanted`.
   /// Where the core cannot, it does what it can in parts, or nothing, and Reason() says why, unless `options` demand a back end.
   /// \param why The back end was chosen for the user, and why; else empty.
   Specialisation(std::shared_ptr<const ListFunction> function, const TensorList &inputs, const Wanted &wanted,
                  const CompileOptions &options, const Observer &observe, const std::string &why = "");

   /// What LibTorch runs, for `reason`.
   Specialisation(std::shared_ptr<const ListFunction> function, const TensorList &inputs, const Wanted &wanted, std::string reason);

   /// Whether these inputs have the dtypes, shapes, strides and devices, and want the gradients, that this one was made for.
   bool Fits(const TensorList &inputs, const Wanted &wanted) const;

   /// Whether kernels run all of it.
   bool Compiled() const { return fCore.has_value(); }
   const std::string &Reason() const { return fReason; }
   std::string BackEnd() const;
   std::string Describe() const;
   /// What jit or cuda compiled; empty with another back end.
   std::string Code() const;
   const TensorList &Constants() const { return fConstants.Tensors(); }
   /// Whether LibTorch's autograd would record a call: an output depends on something that requires a gradient.
   bool Recorded() const { return fRecorded; }
   /// For each output, which inputs and captured tensors its gradient reaches.
   const Reached &Reaches() const { return fReached; }
   std::size_t Inputs() const { return fInputs.size(); }
   /// Whether a call draws random factors, so that no second one repeats it.
   bool Random() const { return fSignature && !fSignature->dropout.empty(); }

   /// Which arguments (inputs, then captured tensors) a call changes in place.
   const rust::Vec<std::uint32_t> &Updates() const { return fSignature->updates; }

   /// Where kernels do not run all of it: the function, or its parts, as LibTorch's autograd sees them.
   TensorList OnLibTorch(const TensorList &inputs) const;
   /// The function itself, on LibTorch, for what Forward() was called with before: what a call changes and counts is left
   /// alone. `arguments` begin with the inputs.
   TensorList Original(const TensorList &arguments) const;
   /// Outputs for `arguments` (inputs and captured tensors); what Backward() needs is kept in `saved` if given.
   TensorList Forward(TensorList arguments, SavedCall *saved) const;
   /// Gradients of inputs and captured tensors, which are as they were in the forward call; undefined where none was
   /// wanted. With `passOn` they may be the adjoints that are given, else their memory is their own.
   TensorList Backward(const SavedCall &saved, const TensorList &adjoints, bool passOn) const;

private:
   void Take(const Observation &observation);
   void MakeWhole(const Observation &observation, const CompileOptions &options, const std::string &why);
   void MakeParts(const Observation &observation, const CompileOptions &options);
   void Count() const;

   std::shared_ptr<const ListFunction> fFunction;
   std::vector<Layout> fInputs;
   torch::Device fDevice = torch::kCPU; ///< of all tensors, where kernels run them
   Wanted fWanted;
   bool fRecorded = false;
   Reached fReached;
   Captured fConstants;
   std::vector<Counter> fCounters;
   std::string fReason;
   std::optional<rust::Box<Core::CompiledGraph>> fCore;
   std::optional<Core::CompiledSignature> fSignature;
   std::shared_ptr<const Parts> fParts; ///< where kernels run some of it; else null
   Marks fGradients; ///< of inputs and captured tensors
   c10::SmallVector<std::int32_t, 8> fPassedOn; ///< for each of them the output whose adjoint is its gradient, or -1; empty if there is none
};

} // namespace Internal
} // namespace CladTorch

#endif
