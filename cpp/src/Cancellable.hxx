/// \file Cancellable.hxx
/// \brief Ctrl-C while the core waits for a compiler.

#ifndef CLADTORCH_CANCELLABLE
#define CLADTORCH_CANCELLABLE

#include "CoreBox.hxx"
#include "Interrupt.hxx"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace CladTorch {
namespace Internal {

/// Ends the compilers of the core when Ctrl-C is pressed: all of them, for the core knows one wish. The last watch to end
/// takes it back.
class CompilerWatch {
public:
   CompilerWatch()
   {
      {
         const std::lock_guard<std::mutex> lock(gMutex);
         ++gWatches;
      }
      fThread = std::thread([this] { Watch(); });
   }
   CompilerWatch(const CompilerWatch &) = delete;
   ~CompilerWatch()
   {
      {
         const std::lock_guard<std::mutex> lock(fMutex);
         fDone = true;
      }
      fEnd.notify_one();
      fThread.join();
      const std::lock_guard<std::mutex> lock(gMutex);
      if (--gWatches == 0)
         Core::compilers_cancel(false);
   }

private:
   void Watch()
   {
      std::unique_lock<std::mutex> lock(fMutex);
      while (!fEnd.wait_for(lock, std::chrono::milliseconds(20), [this] { return fDone; }))
         if (fInterrupt.Requested())
            Core::compilers_cancel(true);
   }

   inline static std::mutex gMutex;
   inline static int gWatches = 0;
   const InterruptScope fInterrupt;
   std::mutex fMutex;
   std::condition_variable fEnd;
   bool fDone = false;
   std::thread fThread;
};

/// Calls `f`, which may run compilers.
template <class F>
auto Cancellable(F &&f)
{
   const CompilerWatch watch;
   return f();
}

} // namespace Internal
} // namespace CladTorch

#endif
