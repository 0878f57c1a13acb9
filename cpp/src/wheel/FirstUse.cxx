/// \file FirstUse.cxx
/// \brief Loaded by a wheel's first_use.h while the interpreter reads the first `#include <CladTorch/Torch.hxx>` of a session.

#include "LibraryFolder.hxx"

namespace {

[[gnu::constructor]] void MakeModules()
{
   CladTorch::Internal::MakeTorchModules();
}

} // namespace
