/// \file Interrupt.hxx
/// \brief Ctrl-C as a wish that a long loop can ask for.

#ifndef CLADTORCH_INTERRUPT
#define CLADTORCH_INTERRUPT

#include <string>

namespace CladTorch {
namespace Internal {

/// While it lives, Ctrl-C is noted and nothing else. ROOT's own handler would jump out of the running code, over the
/// frames of the core and of its threads. Any number may live at once, in any threads: Ctrl-C is meant for all of them.
class InterruptScope {
public:
   InterruptScope();
   InterruptScope(const InterruptScope &) = delete;
   ~InterruptScope();

   /// Whether Ctrl-C was pressed, or ROOT asked to stop (`gROOT->SetInterrupt()`).
   bool Requested() const;
   /// Throws where it was, with `what` in the message.
   void Check(const std::string &what) const;
};

} // namespace Internal
} // namespace CladTorch

#endif
