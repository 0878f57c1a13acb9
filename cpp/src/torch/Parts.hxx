/// \file Parts.hxx
/// \brief A function of which kernels run what they support, and LibTorch the rest.

#ifndef CLADTORCH_PARTS
#define CLADTORCH_PARTS

#include "Captured.hxx"
#include "Replay.hxx"
#include "Seams.hxx"
#include "Specialisation.hxx"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Thread-safe once made.
class Parts {
public:
   /// Throws Unobservable where the function is better run as a whole.
   /// \param gradients Which inputs and captured tensors require a gradient.
   Parts(const Observation &observation, const Marks &gradients, const CompileOptions &options);

   /// The function's results for inputs and captured tensors, as LibTorch's autograd sees them where it records.
   TensorList operator()(const TensorList &arguments) const;

   /// Which of the arguments a call changes in place.
   const rust::Vec<std::uint32_t> &Updates() const { return fUpdates; }
   /// Why LibTorch runs operators.
   const std::string &Reason() const { return fReason; }
   /// The parts and what runs them, for people.
   std::string Describe() const;
   /// What jit or cuda compiled; empty with another back end.
   std::string Code() const;

private:
   struct Part {
      std::shared_ptr<const Specialisation> fKernels; ///< or, where it is null:
      std::shared_ptr<const Replay> fReplay;
      std::vector<Layout> fLayouts;  ///< of what kernels take
      std::vector<Layout> fResults;  ///< of what they give, as LibTorch lays it out
      std::vector<std::size_t> fTakes, fGives, fForgets;
      std::string fOperators;        ///< of LibTorch's, for people
   };
   class Builder;

   static torch::jit::Stack Run(const Part &part, torch::jit::Stack stack);

   std::vector<Part> fParts;
   std::size_t fValues = 0; ///< those that the parts give each other
   std::vector<std::size_t> fOutputs;
   rust::Vec<std::uint32_t> fUpdates;
   std::string fReason;
};

} // namespace Internal
} // namespace CladTorch

#endif
