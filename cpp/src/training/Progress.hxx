/// \file Progress.hxx
/// \brief What a training says while it runs.

#ifndef CLADTORCH_PROGRESS
#define CLADTORCH_PROGRESS

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace CladTorch {
namespace Internal {

/// On a terminal and in a notebook a line that is overwritten: epoch, losses, events per second and the remaining time.
/// Elsewhere permanent lines: for every tenth of the epochs or, if those take long, one every few seconds.
class Progress {
public:
   /// Progress of a fit of `epochs` epochs, some of which were done before.
   Progress(std::size_t epochs, std::size_t before, bool silent);
   /// The present epoch has trained on `rows` events of about `expected`.
   void Part(std::uint64_t rows, std::uint64_t expected);
   /// The present epoch has ended.
   /// \param seconds Its wall time.
   void Epoch(const std::string &figures, double seconds);
   /// Ends the line, also after early stopping; it then shows the last epoch.
   void Finish();

private:
   using Clock_t = std::chrono::steady_clock;

   /// Whether the line is overwritten.
   bool Renews() const;
   /// Interval of lines between those due for epochs.
   Clock_t::duration Interval() const;
   bool Due(Clock_t::duration interval) const;
   void Write(const std::string &line);
   /// "  40 s left  1.2e+06 events/s", at present.
   std::string Pace() const;
   std::string Bar() const;

   std::size_t fEpochs;
   std::size_t fBefore;
   bool fSilent;
   bool fNotebook;
   bool fTerminal;
   bool fOpen = false; ///< a line is unfinished
   std::size_t fDone; ///< epochs
   std::size_t fShown; ///< the last epoch with a line, if lines are not overwritten
   double fShare = 0; ///< of the present epoch
   std::uint64_t fRows = 0; ///< of all epochs
   std::uint64_t fEpochRows = 0; ///< of the present one
   std::string fFigures; ///< of the last epoch
   Clock_t::time_point fStart = Clock_t::now();
   Clock_t::time_point fLast = fStart; ///< when the last line was written
};

} // namespace Internal
} // namespace CladTorch

#endif
