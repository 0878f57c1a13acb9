// CUDA's words for a C++ compiler: blocks and their threads run one after the other, in this order or the reverse one. Threads that
// wait for one another are contexts of one thread of the host.
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

namespace {

struct Place {
   unsigned x;
};
Place blockIdx, threadIdx, blockDim, gridDim;

/// The threads of a block, up to their next barrier.
class Threads {
   struct Thread {
      ucontext_t fContext;
      std::unique_ptr<char[]> fStack;
      bool fIsDone;
   };
   static constexpr size_t kStack = 1 << 16;
   std::vector<Thread> fThreads;
   ucontext_t fCaller;
   void (*fCall)(void *);
   void *fBody;

   void Go()
   {
      fCall(fBody);
      fThreads[threadIdx.x].fIsDone = true;
      swapcontext(&fThreads[threadIdx.x].fContext, &fCaller);
   }
   static void Enter() { fNow->Go(); }

public:
   static Threads *fNow;

   void Wait() { swapcontext(&fThreads[threadIdx.x].fContext, &fCaller); }

   /// False where some threads are done while others wait.
   template <typename Body>
   bool Run(bool reverse, Body body)
   {
      const unsigned n = blockDim.x;
      fNow = this;
      fCall = [](void *of) { (*static_cast<Body *>(of))(); };
      fBody = &body;
      if (fThreads.size() < n)
         fThreads.resize(n);
      for (unsigned t = 0; t < n; ++t) {
         auto &thread = fThreads[t];
         thread.fIsDone = false;
         if (!thread.fStack)
            thread.fStack.reset(new char[kStack]);
         getcontext(&thread.fContext);
         thread.fContext.uc_stack.ss_sp = thread.fStack.get();
         thread.fContext.uc_stack.ss_size = kStack;
         thread.fContext.uc_link = nullptr;
         makecontext(&thread.fContext, Enter, 0);
      }
      for (unsigned done = 0; done < n;) {
         for (unsigned i = 0; i < n; ++i) {
            threadIdx.x = reverse ? n - 1 - i : i;
            swapcontext(&fCaller, &fThreads[threadIdx.x].fContext);
         }
         done = 0;
         for (unsigned t = 0; t < n; ++t)
            done += fThreads[t].fIsDone;
         if (done != 0 && done != n)
            return false;
      }
      return true;
   }
};
Threads *Threads::fNow;
Threads gThreads;

inline void __syncthreads()
{
   Threads::fNow->Wait();
}

template <typename Body>
bool Launch(unsigned grid, unsigned block, bool barriers, bool reverse, Body body)
{
   gridDim.x = grid;
   blockDim.x = block;
   for (unsigned b = 0; b < grid; ++b) {
      blockIdx.x = reverse ? grid - 1 - b : b;
      if (barriers) {
         if (!gThreads.Run(reverse, body))
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
