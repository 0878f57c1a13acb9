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

/// The state that a forward call leaves for its backward calls.
struct SavedCall {
   /// Keeps inputs, captured tensors and random factors alive, and remembers their versions.
   void Keep(TensorList arguments);
   /// Throws if an argument has been changed in place since; the first `inputs` of them are the function's inputs.
   void CheckUnchanged(std::size_t inputs) const;

   TensorList fArguments;
   std::vector<std::uint32_t> fVersions;
   std::optional<rust::Box<Core::SavedForward>> fCore;
};

class Parts;

/// Thread-safe once constructed.
class Specialisation {
public:
   /// How `function` was observed, or would be; may throw Unobservable.
   using Observer = std::function<Observation()>;

   /// Compiles `function` as `observe` returns it, for calls like `wanted`.
   /// If the core cannot compile it all, it compiles parts of it or nothing, and Reason() says why, unless `options`
   /// require a back end.
   /// \param why Why the back end was chosen for the user; empty if it was not.
   Specialisation(std::shared_ptr<const ListFunction> function, const TensorList &inputs, const Wanted &wanted,
                  const CompileOptions &options, const Observer &observe, const std::string &why = "");

   /// Runs the function on LibTorch, for `reason`.
   Specialisation(std::shared_ptr<const ListFunction> function, const TensorList &inputs, const Wanted &wanted, std::string reason);

   /// Whether these inputs have the dtypes, shapes, strides and devices, and request the gradients, that this one was
   /// made for.
   bool Fits(const TensorList &inputs, const Wanted &wanted) const;

   /// Whether kernels run all of it.
   bool Compiled() const { return fCore.has_value(); }
   const std::string &Reason() const { return fReason; }
   std::string BackEnd() const;
   std::string Describe() const;
   /// The code that jit or cuda compiled; empty with another back end.
   std::string Code() const;
   const TensorList &Constants() const { return fConstants.Tensors(); }
   /// Whether LibTorch's autograd would record a call: an output depends on something that requires a gradient.
   bool Recorded() const { return fRecorded; }
   /// For each output, the inputs and captured tensors that its gradient reaches.
   const Reached &Reaches() const { return fReached; }
   std::size_t Inputs() const { return fInputs.size(); }
   /// Whether a call draws random factors, so that a second one does not repeat it.
   bool Random() const { return fSignature && !fSignature->dropout.empty(); }

   /// The arguments (inputs, then captured tensors) that a call changes in place.
   const rust::Vec<std::uint32_t> &Updates() const { return fSignature->updates; }

   /// If kernels do not run all of it: the function, or its parts, as LibTorch's autograd sees them.
   TensorList OnLibTorch(const TensorList &inputs) const;
   /// The function itself on LibTorch, for the arguments of an earlier Forward(): a call's in-place changes and counts
   /// are undone. `arguments` begin with the inputs.
   TensorList Original(const TensorList &arguments) const;
   /// Outputs for `arguments` (inputs and captured tensors); what Backward() needs is kept in `saved` if given.
   TensorList Forward(TensorList arguments, SavedCall *saved) const;
   /// Gradients of inputs and captured tensors, which must not have changed since the forward call; undefined if not
   /// requested. With `passOn` they may be the given adjoints, otherwise they have their own memory.
   TensorList Backward(const SavedCall &saved, const TensorList &adjoints, bool passOn) const;

private:
   void Take(const Observation &observation);
   void MakeWhole(const Observation &observation, const CompileOptions &options, const std::string &why);
   void MakeParts(const Observation &observation, const CompileOptions &options);
   void Count() const;

   std::shared_ptr<const ListFunction> fFunction;
   std::vector<Layout> fInputs;
   torch::Device fDevice = torch::kCPU; ///< of all tensors, if kernels run them
   Wanted fWanted;
   bool fRecorded = false;
   Reached fReached;
   Captured fConstants;
   std::vector<Counter> fCounters;
   std::string fReason;
   std::optional<rust::Box<Core::CompiledGraph>> fCore;
   std::optional<Core::CompiledSignature> fSignature;
   std::shared_ptr<const Parts> fParts; ///< set if kernels run some of it; otherwise null
   Marks fGradients; ///< of inputs and captured tensors
   c10::SmallVector<std::int32_t, 8> fPassedOn; ///< for each of them the output whose adjoint is its gradient, or -1; empty if there is none
};

} // namespace Internal
} // namespace CladTorch

#endif
