/// \file LibTorchThreads.hxx
/// \brief LibTorch's threads, lent to the core. Seen by cargo, too, where there is no ROOT and no LibTorch.

#ifndef CLADTORCH_LIBTORCHTHREADS
#define CLADTORCH_LIBTORCHTHREADS

#include "rust/cxx.h"

#include <cstddef>

namespace CladTorch {
namespace Core {
struct Work;
} // namespace Core

namespace Internal {

class LibTorchThreads {
public:
   virtual ~LibTorchThreads() = default;
   /// Calls share(work, member) for each member in a parallel region of LibTorch; sequentially inside another region.
   virtual void
   Run(std::size_t members, const Core::Work &work, rust::Fn<void(const Core::Work &, std::size_t)> share) const noexcept = 0;
};

} // namespace Internal
} // namespace CladTorch

#endif
