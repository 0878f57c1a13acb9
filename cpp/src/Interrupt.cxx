#include "Interrupt.hxx"

#include <TROOT.h>

#include <csignal>
#include <mutex>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {
volatile std::sig_atomic_t gPressed = 0;

// The handler is one of the whole process: the first scope takes it over, the last one gives it back.
std::mutex gMutex;
int gScopes = 0;
struct sigaction gBefore;

extern "C" void NotePressed(int)
{
   gPressed = 1;
}
} // namespace

InterruptScope::InterruptScope()
{
   const std::lock_guard<std::mutex> lock(gMutex);
   if (gScopes++ > 0)
      return;
   gPressed = 0;
   gROOT->SetInterrupt(kFALSE); // an earlier one stays set until somebody clears it
   struct sigaction mine = {};
   mine.sa_handler = NotePressed;
   sigemptyset(&mine.sa_mask);
   mine.sa_flags = SA_RESTART;
   sigaction(SIGINT, &mine, &gBefore);
}

InterruptScope::~InterruptScope()
{
   const std::lock_guard<std::mutex> lock(gMutex);
   if (--gScopes == 0)
      sigaction(SIGINT, &gBefore, nullptr);
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
