#include <CladTorch/Testing.hxx>

#include "CoreBox.hxx"
#include "Guard.hxx"

namespace CladTorch {
namespace Testing {

void ProvokePanic()
{
   Internal::Guard("CladTorch::Testing::ProvokePanic", [] { Core::provoke_panic(); });
}

} // namespace Testing
} // namespace CladTorch
