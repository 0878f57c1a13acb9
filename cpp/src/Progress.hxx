/// \file Progress.hxx
/// \brief What a training says while it runs.

#ifndef CLADTORCH_PROGRESS
#define CLADTORCH_PROGRESS

#include <cstddef>

namespace CladTorch {
namespace Internal {

/// A line that is written over on a terminal; a line for every tenth of the epochs elsewhere.
class Progress {
public:
   Progress(std::size_t epochs, bool silent);
   /// \param seconds Wall time of the epoch.
   void Show(std::size_t epoch, double trainLoss, double validationLoss, double seconds);
   /// Ends the line, also of a training that stopped early.
   void Finish();

private:
   std::size_t fEpochs;
   bool fSilent;
   bool fTerminal;
   bool fOpen = false; ///< a line waits for its end
};

} // namespace Internal
} // namespace CladTorch

#endif
