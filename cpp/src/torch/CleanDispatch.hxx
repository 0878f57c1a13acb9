/// \file CleanDispatch.hxx
/// \brief LibTorch as it is outside any operator.

#ifndef CLADTORCH_CLEANDISPATCH
#define CLADTORCH_CLEANDISPATCH

#include <CladTorch/Torch/LibTorch.hxx>

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <functional>

namespace CladTorch {
namespace Internal {

/// While it lives, this thread dispatches operators as if it were not inside one: autograd works, and a recording of
/// the caller does not see the operators called here.
class CleanDispatch {
public:
   CleanDispatch() : fKeys(c10::default_included_set, c10::default_excluded_set), fResume(torch::jit::tracer::pauseTracing()) {}
   CleanDispatch(const CleanDispatch &) = delete;
   CleanDispatch &operator=(const CleanDispatch &) = delete;

private:
   /// Resumes recording at the end. LibTorch requires clean keys for that as well.
   struct Resume {
      explicit Resume(std::function<void()> resume) : fResume(std::move(resume)) {}
      ~Resume() { fResume(); }
      std::function<void()> fResume;
   };
   c10::impl::ForceDispatchKeyGuard fKeys;
   Resume fResume;
};

} // namespace Internal
} // namespace CladTorch

#endif
