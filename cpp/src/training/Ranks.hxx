/// \file Ranks.hxx
/// \brief A fit of which each process of an MPI job does its share.

#ifndef CLADTORCH_RANKS
#define CLADTORCH_RANKS

#include <CladTorch/Error.hxx>
#include <CladTorch/FitOptions.hxx>

#include <exception>

namespace CladTorch {
namespace Internal {

/// Whether other processes take part.
bool IsShared(const FitOptions &options);
/// Options of this process's share: only rank 0 prints, draws and calls the callback, and sends the callback's answer
/// to the others.
FitOptions OfRank(const FitOptions &options);
/// Whether any of the processes that take part says so.
bool AnyRank(const FitOptions &options, bool says);

/// Ends the job with this reason; does nothing outside of one.
void EndJob(const char *why);

/// Calls `fit(options)`. An exception ends the job, whose other processes would wait for this one; except Ctrl-C
/// between two parts of an epoch, which ends the fit on all of them.
template <class F>
auto OnRanks(const FitOptions &options, F fit) -> decltype(fit(options))
{
   if (!IsShared(options))
      return fit(options);
   try {
      const auto own = OfRank(options);
      return fit(own);
   } catch (const Stopped &) {
      throw;
   } catch (const std::exception &e) {
      EndJob(e.what());
      throw;
   }
}

} // namespace Internal
} // namespace CladTorch

#endif
