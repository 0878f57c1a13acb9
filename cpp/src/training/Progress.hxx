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

/// On a terminal and in a notebook a line that is written over: epoch, losses, events per second and the time that is left.
/// Elsewhere lines that stay: for every tenth of the epochs, and where those take long, one every few seconds.
class Progress {
public:
   /// Of a fit of so many epochs, of which some were done before.
   Progress(std::size_t epochs, std::size_t before, bool silent);
   /// The present epoch has trained on `rows` events of about `expected`.
   void Part(std::uint64_t rows, std::uint64_t expected);
   /// The present epoch has ended.
   /// \param seconds Its wall time.
   void Epoch(const std::string &figures, double seconds);
   /// Ends the line, also of a training that stopped early; it then has the last epoch.
   void Finish();

private:
   using Clock_t = std::chrono::steady_clock;

   /// Whether the line is written over.
   bool Renews() const;
   /// Between lines that no epoch asks for.
   Clock_t::duration Interval() const;
   bool Due(Clock_t::duration interval) const;
   void Write(const std::string &line);
   /// "  40 s left  1.2e+06 events/s", as of now.
   std::string Pace() const;
   std::string Bar() const;

   std::size_t fEpochs;
   std::size_t fBefore;
   bool fSilent;
   bool fNotebook;
   bool fTerminal;
   bool fOpen = false; ///< a line waits for its end
   std::size_t fDone; ///< epochs
   std::size_t fShown; ///< the last one with a line, where lines are written over
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
