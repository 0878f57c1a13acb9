#include "Interrupt.hxx"

#include "Python.hxx"

#include "cladtorch/src/bridge/process.rs.h"

#include <TApplication.h>
#include <TException.h>
#include <TROOT.h>
#include <TSystem.h>

#include <time.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>

namespace CladTorch {
namespace Internal {

namespace {
volatile std::sig_atomic_t gPressed = 0;

// The process has one handler: the first scope installs ours, the last one restores the previous handler.
std::mutex gMutex;
int gScopes = 0;
struct sigaction gActionBefore;
thread_local int gScopesOfThread = 0;

std::terminate_handler gTerminateBefore = nullptr;

/// The exit status that shells expect of a program ended by Ctrl-C: 128 plus the number of the signal.
constexpr int kExitCode = 128 + SIGINT;

extern "C" void NotePressed(int)
{
   gPressed = 1;
   Core::interrupt_request(true);
}

/// Until this time, by the monotonic clock, a Ctrl-C still counts as the one that has ended a call.
volatile std::sig_atomic_t gSameUntil = 0;

std::sig_atomic_t Seconds()
{
   timespec now = {};
   clock_gettime(CLOCK_MONOTONIC, &now);
   return static_cast<std::sig_atomic_t>(now.tv_sec);
}

/// Between the end of an interrupted call and the end of its macro, ROOT's handler would jump out of C++'s exception
/// handling, and later out of an exit handler, which may hold a lock.
extern "C" void IgnoreSame(int)
{
   if (Seconds() < gSameUntil)
      return;
   sigaction(SIGINT, &gActionBefore, nullptr);
   raise(SIGINT);
}

void SetHandler(void (*handler)(int))
{
   struct sigaction mine = {};
   mine.sa_handler = handler;
   sigemptyset(&mine.sa_mask);
   mine.sa_flags = SA_RESTART;
   sigaction(SIGINT, &mine, nullptr);
}

/// Python notes Ctrl-C and acts on it between two of its own instructions. A Ctrl-C after the last of them but before
/// the handler was installed would be lost, so this takes it from Python. The caller must not hold a lock that a thread
/// with Python's lock may wait for.
bool TakePressedFromPython()
{
   static const auto thisThread = PythonFunction<void *(*)()>("PyGILState_GetThisThreadState");
   static const auto ensure = PythonFunction<int (*)()>("PyGILState_Ensure");
   static const auto release = PythonFunction<void (*)(int)>("PyGILState_Release");
   static const auto occurred = PythonFunction<int (*)()>("PyOS_InterruptOccurred");
   if (!thisThread || !ensure || !release || !occurred || !thisThread())
      return false;
   const int state = ensure();
   const bool pressed = occurred();
   release(state);
   return pressed;
}

/// Where ROOT continues after its own Ctrl-C: at the prompt, unless the session ends with its macros.
[[noreturn]] void EndMacro()
{
   if (gApplication && !gApplication->QuitOpt() && gException)
      Throw(SIGINT);
   std::signal(SIGINT, SIG_IGN);
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

/// Whether this scope is the one that installed the handler.
bool TakeHandler()
{
   const std::lock_guard<std::mutex> lock(gMutex);
   if (gScopes++ > 0)
      return false;
   gPressed = 0;
   Core::interrupt_request(false);
   gROOT->SetInterrupt(kFALSE); // an earlier one stays set until it is cleared
   struct sigaction now;
   sigaction(SIGINT, nullptr, &now);
   if (now.sa_handler != IgnoreSame)
      gActionBefore = now;
   if (now.sa_handler == SIG_IGN)
      return false;
   SetHandler(NotePressed);
   return true;
}
} // namespace

InterruptScope::InterruptScope() : fIsOuter(gScopesOfThread++ == 0)
{
   if (TakeHandler() && TakePressedFromPython())
      NotePressed(SIGINT);
}

InterruptScope::~InterruptScope()
{
   --gScopesOfThread;
   const std::lock_guard<std::mutex> lock(gMutex);
   if (--gScopes > 0)
      return;
   if (gPressed && gApplication && gApplication->QuitOpt()) {
      constexpr int kSeconds = 2;
      gSameUntil = Seconds() + kSeconds;
      SetHandler(IgnoreSame);
   } else {
      sigaction(SIGINT, &gActionBefore, nullptr);
   }
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
      // Runs before LibTorch's exit handlers; ROOT's handler would jump out of them with a lock held.
      std::atexit([] { std::signal(SIGINT, SIG_IGN); });
      return true;
   }();
   static_cast<void>(once);
}

} // namespace Internal
} // namespace CladTorch
