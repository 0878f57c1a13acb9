// Blocks and their threads run one after the other, in this order or the reverse one. Threads that wait for one another are contexts
// of one thread of the host.
#include "watch.hpp"

#include <csetjmp>
#include <memory>

#include <ucontext.h>

Place blockIdx, threadIdx, blockDim, gridDim;

namespace {

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
      const void *fPlace; ///< of the barrier that it waits at
   };
   static constexpr size_t kStack = 1 << 16;
   std::vector<Thread> fThreads;
   ucontext_t fCaller;
   void (*fBody)(void *);
   void *fOf;
   unsigned fFirst;

   Thread &Now() { return fThreads[(blockIdx.x - fFirst) * blockDim.x + threadIdx.x]; }
   static void Enter();

   unsigned Count(Waits waits)
   {
      unsigned count = 0;
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
         count += Now().fWaits == waits;
      return count;
   }

   /// Whether all threads of this block wait at the same one.
   bool IsOneBarrier()
   {
      threadIdx.x = 0;
      const void *const place = Now().fPlace;
      for (; threadIdx.x < blockDim.x; ++threadIdx.x)
         if (Now().fPlace != place)
            return false;
      return true;
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
            Watch::Stack(Now().fStack.get(), Now().fStack.get() + kStack);
            swapcontext(&fCaller, &Now().fContext);
            if (Watch::HasFailed())
               return false;
            goesOn |= Now().fWaits != Waits::kSpins || gArrivals != arrivals;
         }
         if (Count(Waits::kBlock) == blockDim.x) {
            if (!IsOneBarrier())
               return false;
            Watch::Met(blockIdx.x);
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
               Now().fWaits = Waits::kNot;
            goesOn = true;
         }
         any |= goesOn;
      }
      return any;
   }

public:
   void Wait(Waits waits, const void *place = nullptr)
   {
      auto &now = Now();
      now.fWaits = waits;
      now.fPlace = place;
      swapcontext(&now.fContext, &fCaller);
   }

   /// Runs `blocks` blocks from `first` on; false if some threads wait for others that never arrive.
   bool Run(unsigned first, unsigned blocks, bool reverse, void (*body)(void *), void *of)
   {
      const unsigned n = blockDim.x * blocks;
      fFirst = first;
      fBody = body;
      fOf = of;
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
            if (Watch::HasFailed())
               return false;
            done += Count(Waits::kDone) == blockDim.x;
         }
         if (done == blocks)
            return true;
         if (!any)
            return false;
      }
   }
};
Threads gThreads;

void Threads::Enter()
{
   gThreads.fBody(gThreads.fOf);
   gThreads.Wait(Waits::kDone);
}

/// Where the launch goes on if a thread fails that is no context of its own.
std::jmp_buf gFailed;
bool gHasContexts;

/// The blocks' dynamic memory, with gaps between them.
std::vector<float> gShared;
size_t gStride;
constexpr size_t kGap = 64;

/// Blocks of a cluster; how many of each cluster's have reached a meeting, and how many meetings a block has passed.
unsigned gCluster = 1;
std::vector<unsigned> gArrived, gPassed;

/// What the threads of a warp show each other, twice, as some may be one meeting ahead of others.
struct OfWarp {
   Shown fShown[2];
   unsigned fArrived, fPassed[32];
};
std::vector<OfWarp> gWarps;

struct Copy {
   unsigned fBlock, fThread;
   float *fTo;
   const float *fFrom;
};
std::vector<Copy> gCopies;

/// Counts this thread, and waits until so many have been.
void Gather(unsigned *arrived, unsigned expected)
{
   ++*arrived;
   ++gArrivals;
   while (*arrived < expected)
      gThreads.Wait(Waits::kSpins);
}

/// The same for one thread of each block: what the blocks did before is ordered before what they do behind it.
void Meet(unsigned *arrived, unsigned expected)
{
   Watch::Publish(arrived);
   Gather(arrived, expected);
   Watch::Acquire(arrived, expected);
}

/// Runs it in every thread; false if some threads wait for others that never arrive.
bool RunAll(const Shape &shape, For waits, void (*body)(void *), void *of)
{
   if (waits == For::kGrid)
      return gThreads.Run(0, shape.fGrid, shape.fReverse, body, of);
   for (unsigned b = 0; b < shape.fGrid; ++b) {
      const unsigned block = shape.fReverse ? shape.fGrid - 1 - b : b;
      blockIdx.x = block;
      if (waits == For::kBlock) {
         if (!gThreads.Run(block, 1, shape.fReverse, body, of))
            return false;
         continue;
      }
      for (unsigned t = 0; t < shape.fBlock; ++t) {
         threadIdx.x = shape.fReverse ? shape.fBlock - 1 - t : t;
         body(of);
      }
   }
   return true;
}

} // namespace

void __syncthreads()
{
   if (!gHasContexts)
      Watch::Fail("waits for its block, which the launch does not know");
   gThreads.Wait(Waits::kBlock, __builtin_return_address(0));
}

const char *Launch(const Shape &shape, For waits, void (*body)(void *), void *of)
{
   gridDim.x = shape.fGrid;
   blockDim.x = shape.fBlock;
   gCluster = shape.fCluster;
   gArrived.assign(shape.fGrid, 0);
   gPassed.assign(shape.fGrid, 0);
   gWarps.assign(shape.fGrid * ((shape.fBlock + 31) / 32), OfWarp());
   gCopies.clear();
   const size_t numbers = shape.fShared / sizeof(float);
   gStride = (numbers + 3) / 4 * 4 + kGap;
   gShared.assign(shape.fGrid * gStride + 4, std::numeric_limits<float>::quiet_NaN());
   gHasContexts = waits != For::kNobody;
   Watch::Begin(shape, waits, Host::SharedOf(0), gStride);
   if (setjmp(gFailed) == 0 && !RunAll(shape, waits, body, of) && !Watch::HasFailed())
      return "some threads do not meet at a barrier";
   return Watch::End();
}

namespace Watch {

void Leave()
{
   if (gHasContexts)
      gThreads.Wait(Waits::kDone);
   std::longjmp(gFailed, 1);
}

} // namespace Watch

namespace Host {

float *SharedOf(unsigned block)
{
   const uintptr_t first = reinterpret_cast<uintptr_t>(gShared.data());
   return gShared.data() + (16 - first % 16) % 16 / sizeof(float) + block * gStride;
}

unsigned Peer(unsigned rank)
{
   return blockIdx.x / gCluster * gCluster + rank;
}

void CopyAsync(float *to, const float *from)
{
   Watch::Leaves(to, from);
   *to = std::numeric_limits<float>::quiet_NaN();
   gCopies.push_back({blockIdx.x, threadIdx.x, to, from});
}

void WaitForCopies()
{
   std::vector<Copy> others;
   for (const auto &copy : gCopies)
      if (copy.fBlock == blockIdx.x && copy.fThread == threadIdx.x) {
         Watch::Arrives(copy.fTo, copy.fFrom);
         *copy.fTo = *copy.fFrom;
      } else
         others.push_back(copy);
   gCopies.swap(others);
}

void ArriveAndWait(unsigned *arrived, unsigned expected)
{
   Watch::Access(arrived, sizeof *arrived, true, true);
   Meet(arrived, expected);
}

void MeetCluster()
{
   __syncthreads();
   if (threadIdx.x == 0)
      Meet(&gArrived[blockIdx.x / gCluster], ++gPassed[blockIdx.x] * gCluster);
   __syncthreads();
}

void Show(const uint32_t *a, size_t numbersOfA, const uint32_t *b, size_t numbersOfB, Shown &shown)
{
   const unsigned lane = threadIdx.x % 32;
   auto &warp = gWarps[blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32];
   const unsigned turn = warp.fPassed[lane]++;
   auto &now = warp.fShown[turn % 2];
   std::memcpy(now.a[lane], a, numbersOfA * sizeof *a);
   std::memcpy(now.b[lane], b, numbersOfB * sizeof *b);
   Gather(&warp.fArrived, (turn + 1) * 32);
   shown = now;
}

void WriteRelaxed(int32_t *to, int32_t value)
{
   Watch::Access(to, sizeof *to, true, true);
   *to = value;
}

} // namespace Host
