// CUDA's keywords and functions for a C++ compiler: blocks and their threads run one after the other, in this order or
// the reverse one. Threads that wait for one another are contexts of one thread of the host.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <ucontext.h>

#define __global__
#define __shared__ static
#define __launch_bounds__(...)

namespace {

struct Place {
   unsigned x;
};
Place blockIdx, threadIdx, blockDim, gridDim;

/// The state of a thread until it continues.
enum class Waits {
   kNot,
   kBlock, ///< for the other threads of its block
   kSpins, ///< polls for a value that another block writes
   kDone,
};

/// How often a thread has done what others poll for.
size_t gArrivals;

/// Threads of some blocks, each run up to its next wait. A block runs as long as it can before the next one begins.
class Threads {
   struct Thread {
      ucontext_t fContext;
      std::unique_ptr<char[]> fStack;
      Waits fWaits;
   };
   static constexpr size_t kStack = 1 << 16;
   std::vector<Thread> fThreads;
   ucontext_t fCaller;
   void (*fCall)(void *);
   void *fBody;
   unsigned fFirst;

   Thread &Now() { return fThreads[(blockIdx.x - fFirst) * blockDim.x + threadIdx.x]; }

   void Go()
   {
      fCall(fBody);
      Wait(Waits::kDone);
   }
   static void Enter() { fNow->Go(); }

   unsigned Count(Waits waits)
   {
      unsigned count = 0;
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
         count += Now().fWaits == waits;
      return count;
   }

   /// Runs this block until all its threads wait, spin or are done; returns whether one did anything but spin.
   bool Progress(bool reverse)
   {
      bool any = false;
      for (bool goesOn = true; goesOn;) {
         goesOn = false;
         for (unsigned i = 0; i < blockDim.x; ++i) {
            threadIdx.x = reverse ? blockDim.x - 1 - i : i;
            const Waits before = Now().fWaits;
            if (before != Waits::kNot && before != Waits::kSpins)
               continue;
            const size_t arrivals = gArrivals;
            swapcontext(&fCaller, &Now().fContext);
            goesOn |= Now().fWaits != Waits::kSpins || gArrivals != arrivals;
         }
         if (Count(Waits::kBlock) == blockDim.x) {
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
               Now().fWaits = Waits::kNot;
            goesOn = true;
         }
         any |= goesOn;
      }
      return any;
   }

public:
   static Threads *fNow;

   void Wait(Waits waits)
   {
      auto &now = Now();
      now.fWaits = waits;
      swapcontext(&now.fContext, &fCaller);
   }

   /// Runs `blocks` blocks from `first` on; false if some threads wait for others that never arrive.
   template <typename Body>
   bool Run(unsigned first, unsigned blocks, bool reverse, Body body)
   {
      const unsigned n = blockDim.x * blocks;
      fNow = this;
      fFirst = first;
      fCall = [](void *of) { (*static_cast<Body *>(of))(); };
      fBody = &body;
      if (fThreads.size() < n)
         fThreads.resize(n);
      for (unsigned t = 0; t < n; ++t) {
         auto &thread = fThreads[t];
         thread.fWaits = Waits::kNot;
         if (!thread.fStack)
            thread.fStack.reset(new char[kStack]);
         getcontext(&thread.fContext);
         thread.fContext.uc_stack.ss_sp = thread.fStack.get();
         thread.fContext.uc_stack.ss_size = kStack;
         thread.fContext.uc_link = nullptr;
         makecontext(&thread.fContext, Enter, 0);
      }
      for (;;) {
         bool any = false;
         unsigned done = 0;
         for (unsigned b = 0; b < blocks; ++b) {
            blockIdx.x = first + (reverse ? blocks - 1 - b : b);
            any |= Progress(reverse);
            done += Count(Waits::kDone) == blockDim.x;
         }
         if (done == blocks)
            return true;
         if (!any)
            return false;
      }
   }
};
Threads *Threads::fNow;
Threads gThreads;

/// Memory of each block, in addition to static memory.
std::vector<std::vector<float>> gShared;

/// The threads for which those of a kernel wait.
enum class For { kNobody, kBlock, kGrid };

/// Blocks of a cluster; how many of each cluster's have reached a meeting, and how many meetings a block has passed.
unsigned gCluster = 1;
std::vector<unsigned> gArrived, gPassed;

/// What the threads of a warp show each other, twice, as some may be one meeting ahead of others.
struct Shown {
   uint32_t a[2][32][4], b[2][32][2];
   unsigned fArrived, fPassed[32];
};
std::vector<Shown> gShown;

inline void __syncthreads()
{
   Threads::fNow->Wait(Waits::kBlock);
}

template <typename Body>
bool Launch(unsigned grid, unsigned block, unsigned cluster, For waits, size_t shared, bool reverse, Body body)
{
   gridDim.x = grid;
   blockDim.x = block;
   gCluster = cluster;
   gArrived.assign(grid, 0);
   gPassed.assign(grid, 0);
   gShown.assign(grid * ((block + 31) / 32), Shown());
   gShared.assign(grid, std::vector<float>(shared / sizeof(float), std::numeric_limits<float>::quiet_NaN()));
   if (waits == For::kGrid)
      return gThreads.Run(0, grid, reverse, body);
   for (unsigned b = 0; b < grid; ++b) {
      blockIdx.x = reverse ? grid - 1 - b : b;
      if (waits == For::kBlock) {
         if (!gThreads.Run(blockIdx.x, 1, reverse, body))
            return false;
         continue;
      }
      for (unsigned t = 0; t < block; ++t) {
         threadIdx.x = reverse ? block - 1 - t : t;
         body();
      }
   }
   return true;
}

} // namespace
