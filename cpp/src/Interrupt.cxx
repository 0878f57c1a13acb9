#include "Interrupt.hxx"

#include <TROOT.h>

#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {
volatile std::sig_atomic_t gPressed = 0;

extern "C" void NotePressed(int)
{
   gPressed = 1;
}
} // namespace

InterruptScope::InterruptScope()
{
   gPressed = 0;
   gROOT->SetInterrupt(kFALSE); // an earlier one stays set until somebody clears it
   struct sigaction mine = {};
   mine.sa_handler = NotePressed;
   sigemptyset(&mine.sa_mask);
   mine.sa_flags = SA_RESTART;
   sigaction(SIGINT, &mine, &fBefore);
}

InterruptScope::~InterruptScope()
{
   sigaction(SIGINT, &fBefore, nullptr);
}

bool InterruptScope::Requested() const
{
   return gPressed || gROOT->IsInterrupted();
}

void InterruptScope::Check(const std::string &what) const
{
   if (Requested())
      throw std::runtime_error(what + " was interrupted");
}

} // namespace Internal
} // namespace CladTorch
