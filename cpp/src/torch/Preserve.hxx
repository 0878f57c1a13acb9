/// \file Preserve.hxx
/// \brief Running a function without leaving a trace.

#ifndef CLADTORCH_PRESERVE
#define CLADTORCH_PRESERVE

#include <CladTorch/Torch/Compile.hxx>

#include <unordered_map>
#include <utility>

namespace CladTorch {
namespace Internal {

/// Puts back, at its end, what functions of this thread have changed in place (running statistics, for one) and the
/// state of LibTorch's random numbers.
class Preserve {
public:
   Preserve();
   ~Preserve();
   Preserve(const Preserve &) = delete;
   Preserve &operator=(const Preserve &) = delete;

private:
   static std::unique_ptr<at::ObserverContext> BeforeOperator(const at::RecordFunction &call);
   void Keep(const c10::IValue &argument);

   Preserve *fOuter;
   at::CallbackHandle fHandle;
   torch::Tensor fRandomState;
   std::unordered_map<c10::TensorImpl *, std::pair<torch::Tensor, torch::Tensor>> fKept; ///< tensor and copy
};

} // namespace Internal
} // namespace CladTorch

#endif
