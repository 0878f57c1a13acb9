#include "Interrupt.hxx"

#include "cladtorch/src/bridge.rs.h"

#include <TApplication.h>
#include <TException.h>
#include <TROOT.h>
#include <TSystem.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>

namespace CladTorch {
namespace Internal {

namespace {
volatile std::sig_atomic_t gPressed = 0;

// The handler is one of the whole process: the first scope takes it over, the last one gives it back.
std::mutex gMutex;
int gScopes = 0;
struct sigaction gBefore;

std::terminate_handler gTerminateBefore = nullptr;

/// What shells expect of a program that Ctrl-C has ended: 128 and the number of the signal.
constexpr int kExitCode = 128 + SIGINT;

extern "C" void NotePressed(int)
{
   gPressed = 1;
   Core::interrupt_request(true);
}

/// Where ROOT goes on after Ctrl-C of its own: at the prompt, unless the session ends with its macros.
[[noreturn]] void EndMacro()
{
   if (gApplication && !gApplication->QuitOpt() && gException)
      Throw(SIGINT);
   gSystem->Exit(kExitCode);
   std::abort(); // not reached
}

[[noreturn]] void OnTerminate()
{
   try {
      if (std::current_exception())
         throw;
   } catch (const Interrupted &) {
      EndMacro();
   } catch (...) {
   }
   if (gTerminateBefore)
      gTerminateBefore();
   std::abort();
}
} // namespace

InterruptScope::InterruptScope()
{
   const std::lock_guard<std::mutex> lock(gMutex);
   if (gScopes++ > 0)
      return;
   gPressed = 0;
   Core::interrupt_request(false);
   gROOT->SetInterrupt(kFALSE); // an earlier one stays set until somebody clears it
   sigaction(SIGINT, nullptr, &gBefore);
   if (gBefore.sa_handler == SIG_IGN)
      return;
   struct sigaction mine = {};
   mine.sa_handler = NotePressed;
   sigemptyset(&mine.sa_mask);
   mine.sa_flags = SA_RESTART;
   sigaction(SIGINT, &mine, nullptr);
}

InterruptScope::~InterruptScope()
{
   const std::lock_guard<std::mutex> lock(gMutex);
   if (--gScopes > 0)
      return;
   sigaction(SIGINT, &gBefore, nullptr);
   Core::interrupt_request(false);
}

bool InterruptScope::Requested() const
{
   return gPressed || gROOT->IsInterrupted();
}

void InterruptScope::Check(const std::string &what) const
{
   if (Requested())
      throw Stopped(what + " was interrupted");
}

void EndMacroWhereUncaught()
{
   static const bool once = [] {
      gTerminateBefore = std::set_terminate(OnTerminate);
      return true;
   }();
   static_cast<void>(once);
}

} // namespace Internal
} // namespace CladTorch
