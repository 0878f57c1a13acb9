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

/// Thread-safe once constructed.
class Parts {
public:
   /// Throws Unobservable if the function is better run as a whole.
   /// \param gradients Which inputs and captured tensors require a gradient.
   Parts(const Observation &observation, const Marks &gradients, const CompileOptions &options);

   /// The function's results for inputs and captured tensors, with a graph if LibTorch's autograd records.
   TensorList operator()(const TensorList &arguments) const;

   /// Which of the arguments a call changes in place.
   const rust::Vec<std::uint32_t> &Updates() const { return fUpdates; }
   /// The reasons why LibTorch runs operators.
   const std::string &Reason() const { return fReason; }
   /// The parts and their back ends, as text.
   std::string Describe() const;
   /// The code that jit or cuda compiled; empty with another back end.
   std::string Code() const;

private:
   struct Part {
      std::shared_ptr<const Specialisation> fKernels; ///< null if LibTorch runs the part, by:
      std::shared_ptr<const Replay> fReplay;
      std::vector<Layout> fLayouts;  ///< layouts that the kernels take
      std::vector<Layout> fResults;  ///< layouts of their results in LibTorch
      std::vector<std::size_t> fTakes, fGives, fForgets;
      std::string fOperators;        ///< LibTorch's operators, as text
   };
   class Builder;

   static torch::jit::Stack Run(const Part &part, torch::jit::Stack stack);

   std::vector<Part> fParts;
   std::size_t fValues = 0; ///< number of values passed between parts
   std::vector<std::size_t> fOutputs;
   rust::Vec<std::uint32_t> fUpdates;
   std::string fReason;
};

} // namespace Internal
} // namespace CladTorch

#endif
