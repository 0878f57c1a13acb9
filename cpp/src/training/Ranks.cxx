#include "Ranks.hxx"

#include <CladTorch/Guard.hxx>

#include "cladtorch/src/bridge/ranks.rs.h"
#include "cladtorch/src/bridge/training.rs.h" // rust::String

namespace CladTorch {
namespace Internal {

bool IsShared(const FitOptions &options)
{
   return options.fParallel == kMpi && Core::ranks_size() > 1;
}

FitOptions OfRank(const FitOptions &options)
{
   auto own = options;
   const bool isFirst = Core::ranks_rank() == 0;
   if (!isFirst) {
      own.fVerbose = 0;
      own.fLive = false;
   }
   // Also without a callback: another rank may have one.
   own.fCallback = [isFirst, callback = options.fCallback](const Epoch &epoch) {
      return Core::ranks_any(isFirst && callback && callback(epoch));
   };
   return own;
}

bool AnyRank(const FitOptions &options, bool says)
{
   return IsShared(options) ? Core::ranks_any(says) : says;
}

void EndJob(const char *why)
{
   Core::ranks_fail(rust::String::lossy(why)); // it may hold a path in any encoding
}

} // namespace Internal

int Rank()
{
   return Internal::Guard("CladTorch::Rank", [] { return static_cast<int>(Core::ranks_rank()); });
}

int Ranks()
{
   return Internal::Guard("CladTorch::Ranks", [] { return static_cast<int>(Core::ranks_size()); });
}

} // namespace CladTorch
