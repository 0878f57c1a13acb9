#include <CladTorch/Testing.hxx>
#include <CladTorch/Guard.hxx>

#include "cladtorch/src/bridge/process.rs.h"

namespace CladTorch {
namespace Testing {

void ProvokePanic()
{
   Internal::Guard("CladTorch::Testing::ProvokePanic", [] { Core::provoke_panic(); });
}

} // namespace Testing
} // namespace CladTorch
