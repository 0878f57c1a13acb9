// A driver whose GPU is the host: modules are names of libraries that tests/support/cuda_host.rs made. VERSION, DEVICES and
// LOST define its faults, MULTIPROCESSORS and ROOM its size, and ANYWHERE lets kernels use all memory, as LibTorch has none here. It has
// 64 MiB for each allocation, and refuses calls without a current context. Streams run as late as they may, when something waits for
// them, and what is given back is overwritten.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>

#ifndef VERSION
#define VERSION 13000
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef ROOM
#define ROOM (size_t(8) << 30)
#endif
#ifndef MULTIPROCESSORS
#define MULTIPROCESSORS 6
#endif
#ifndef LOST
#define LOST 0
#endif

namespace {

struct Kernel {
   const char *fName;
   unsigned fParameters;
};

struct Function {
   const char *(*fRun)(unsigned, unsigned, unsigned, unsigned, bool, const size_t *);
   void (*fAllow)(const uintptr_t *, const size_t *, unsigned);
   unsigned fNumber, fParameters, fShared;
};

using Graph = std::vector<std::function<int()>>;

struct Stream {
   Graph *fCaptured = nullptr; ///< its launches while it is captured
   unsigned fBreaks = 0;       ///< captures that were broken before this one began
   Graph fWaiting = {};        ///< launched, and not run yet

   int Run()
   {
      for (const auto &work : std::exchange(fWaiting, {}))
         if (const int code = work())
            return code;
      return 0;
   }
};

/// Memory with its size, and graphs, that are not given back.
std::map<uintptr_t, size_t> gMemory;
std::set<const void *> gGraphs;
std::mutex gMutex;

/// Streams that are captured, and how often something has waited for the whole context beside them.
std::atomic<unsigned> gCaptures, gBreaks;

/// What waits for the whole context fails beside a capture, and breaks it.
int Alone()
{
   if (gCaptures == 0)
      return 0;
   ++gBreaks;
   return 900; // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
}

thread_local int gCurrent = 0;
int gContext;

/// What was wrong with a kernel.
thread_local std::string gFailure;

/// Runs a kernel, which may use what is not given back.
int Start(const Function &f, unsigned grid, unsigned block, unsigned cluster, const size_t *parameters)
{
   std::vector<uintptr_t> begins;
   std::vector<size_t> sizes;
   {
      const std::lock_guard<std::mutex> lock(gMutex);
      for (const auto &memory : gMemory) {
         begins.push_back(memory.first);
         sizes.push_back(memory.second);
      }
   }
#ifdef ANYWHERE
   begins = {0};
   sizes = {~size_t(0)};
#endif
   f.fAllow(begins.data(), sizes.data(), begins.size());
   const char *const wrong = f.fRun(f.fNumber, grid, block, cluster, false, parameters);
   gFailure = wrong ? wrong : "";
   return wrong ? 719 : 0; // CUDA_ERROR_LAUNCH_FAILED
}

int Within(int code)
{
   return gCurrent > 0 ? code : 201; // CUDA_ERROR_INVALID_CONTEXT
}

} // namespace

/// Runs it on the stream, or with the graph. The default stream is null, and runs it now.
int Queue(void *stream, std::function<int()> work)
{
   auto *const of = static_cast<Stream *>(stream);
   if (!of)
      return work();
   (of->fCaptured ? *of->fCaptured : of->fWaiting).push_back(std::move(work));
   return 0;
}

extern "C" {

int cuInit(unsigned)
{
   return DEVICES ? 0 : 100;
}
int cuDriverGetVersion(int *version)
{
   *version = VERSION;
   return 0;
}
int cuGetErrorName(int code, const char **name)
{
   *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 101 ? "CUDA_ERROR_INVALID_DEVICE" : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 719 ? gFailure.c_str() : nullptr;
   return *name ? 0 : 1;
}
int cuDeviceGet(int *device, int index)
{
   *device = index;
   return index < DEVICES ? 0 : 101;
}
int cuDeviceGetAttribute(int *value, int attribute, int)
{
   // Compute capability 9.0, few multiprocessors, shared memory of a block.
   *value = attribute == 75 ? 9 : attribute == 16 ? MULTIPROCESSORS : attribute == 97 ? 232448 : 0;
   return attribute == 75 || attribute == 76 || attribute == 16 || attribute == 97 ? 0 : 1;
}
int cuDevicePrimaryCtxRetain(void **context, int)
{
   *context = &gContext;
   return 0;
}
int cuDevicePrimaryCtxRelease_v2(int)
{
   return 0;
}
int cuCtxPushCurrent_v2(void *context)
{
   ++gCurrent;
   return context == &gContext ? 0 : 201;
}
int cuCtxPopCurrent_v2(void **context)
{
   *context = &gContext;
   return gCurrent-- > 0 ? 0 : 201;
}
int cuStreamSynchronize(void *stream)
{
   return Within(stream ? static_cast<Stream *>(stream)->Run() : 0);
}
int cuCtxSynchronize()
{
   return Within(Alone());
}
int cuMemAlloc_v2(uintptr_t *address, size_t bytes)
{
   if (bytes == 0 || bytes > 64 << 20)
      return Within(bytes ? 2 : 1);
   const std::lock_guard<std::mutex> lock(gMutex);
   size_t all = bytes;
   for (const auto &memory : gMemory)
      all += memory.second;
   if (all > ROOM)
      return Within(2);
   *address = reinterpret_cast<uintptr_t>(std::malloc(bytes));
   std::memset(reinterpret_cast<void *>(*address), 0xff, bytes); // not a number
   gMemory[*address] = bytes;
   return Within(0);
}
int cuMemGetInfo_v2(size_t *unused, size_t *all)
{
   *all = ROOM;
   *unused = size_t(4) << 30;
   return Within(0);
}
int cuMemFree_v2(uintptr_t address)
{
   {
      const std::lock_guard<std::mutex> lock(gMutex);
      std::memset(reinterpret_cast<void *>(address), 0xff, gMemory.at(address));
      gMemory.erase(address);
   }
   std::free(reinterpret_cast<void *>(address));
   return Within(Alone());
}
int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes)
{
   std::memcpy(reinterpret_cast<void *>(to), from, bytes);
   return Within(0);
}
int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes)
{
   std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
   return Within(0);
}
int cuModuleLoadData(void **module, const void *image)
{
   *module = dlopen(static_cast<const char *>(image), RTLD_NOW | RTLD_LOCAL);
   return Within(*module ? 0 : 200);
}
int cuModuleUnload(void *module)
{
   return Within(Alone() ? 900 : dlclose(module));
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
   const auto *kernels = static_cast<const Kernel *>(dlsym(module, "kernels"));
   for (unsigned i = 0; kernels[i].fName; ++i)
      if (!std::strcmp(kernels[i].fName, name)) {
         const auto run = reinterpret_cast<decltype(Function::fRun)>(dlsym(module, "run"));
         const auto allow = reinterpret_cast<decltype(Function::fAllow)>(dlsym(module, "memory"));
         *function = new Function{run, allow, i, kernels[i].fParameters, 0}; // there for good, as in the driver
         return Within(0);
      }
   return Within(500);
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
   static_cast<Function *>(function)->fShared = attribute == 8 ? unsigned(value) : 0;
   return Within(value <= 232448 ? 0 : 1);
}
int cuMemsetD8Async(uintptr_t to, unsigned char value, size_t bytes, void *stream)
{
   return Within(Queue(stream, [=] {
      std::memset(reinterpret_cast<void *>(to), value, bytes);
      return 0;
   }));
}
int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
   return Within(Queue(stream, [=] {
      std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
      return 0;
   }));
}
int cuStreamBeginCapture_v2(void *stream, int)
{
   auto &of = *static_cast<Stream *>(stream);
   of.fCaptured = new Graph;
   of.fBreaks = gBreaks;
   ++gCaptures;
   std::this_thread::yield();
   return Within(0);
}
int cuStreamEndCapture(void *stream, void **graph)
{
   auto &of = *static_cast<Stream *>(stream);
   *graph = std::exchange(of.fCaptured, nullptr);
   --gCaptures;
   return Within(gBreaks != of.fBreaks ? 901 : *graph ? 0 : 1); // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long)
{
   *executable = new Graph(*static_cast<Graph *>(graph));
   const std::lock_guard<std::mutex> lock(gMutex);
   gGraphs.insert(*executable);
   return Within(0);
}
int cuGraphUpload(void *executable, void *)
{
   const std::lock_guard<std::mutex> lock(gMutex);
   return Within(gGraphs.count(executable) ? 0 : 400);
}
int cuGraphLaunch(void *executable, void *stream)
{
   return Within(Queue(stream, [=] {
      {
         const std::lock_guard<std::mutex> lock(gMutex);
         if (!gGraphs.count(executable))
            return 400; // CUDA_ERROR_INVALID_HANDLE
      }
      for (const auto &work : *static_cast<Graph *>(executable))
         if (const int code = work())
            return code;
      return 0;
   }));
}
int cuGraphDestroy(void *graph)
{
   delete static_cast<Graph *>(graph);
   return Within(0);
}
int cuGraphExecDestroy(void *executable)
{
   const std::lock_guard<std::mutex> lock(gMutex);
   gGraphs.erase(executable);
   delete static_cast<Graph *>(executable);
   return Within(0);
}
int cuOccupancyMaxActiveClusters(int *clusters, void *, const void *)
{
   *clusters = 3;
   return Within(0);
}
int cuStreamCreate(void **stream, unsigned flags)
{
   *stream = new Stream;
   return Within(flags == 1 ? 0 : 1);
}
int cuStreamDestroy_v2(void *stream)
{
   delete static_cast<Stream *>(stream);
   return Within(0);
}
/// As the headers of CUDA have it.
struct LaunchAttribute {
   int fId, fPad;
   union {
      int fCooperative;
      unsigned fCluster[3];
      char fRoom[64];
   };
};
struct LaunchConfig {
   unsigned fGrid[3], fBlock[3], fShared;
   void *fStream;
   const LaunchAttribute *fAttributes;
   unsigned fCount;
};

int cuLaunchKernelEx(const LaunchConfig *config, void *function, void **parameters, void **extra)
{
   const auto f = *static_cast<Function *>(function);
   const unsigned grid = config->fGrid[0], block = config->fBlock[0];
   unsigned cluster = 1, most = ~0u;
   for (unsigned i = 0; i < config->fCount; ++i) {
      const auto &attribute = config->fAttributes[i];
      if (attribute.fId == 4)
         cluster = attribute.fCluster[0];
      else if (attribute.fId == 2 && attribute.fCooperative)
         most = MULTIPROCESSORS;
      else
         return Within(1);
   }
   if (config->fGrid[1] * config->fGrid[2] * config->fBlock[1] * config->fBlock[2] != 1 || block > 1024 ||
       config->fShared != f.fShared || extra || f.fParameters > 64 || grid % cluster)
      return Within(1);
   if (grid > most)
      return Within(720); // CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
   std::vector<size_t> addresses(64);
   for (unsigned i = 0; i < f.fParameters; ++i)
      addresses[i] = *static_cast<size_t *>(parameters[i]);
   if (LOST)
      return Within(700);
   return Within(Queue(config->fStream, [=] { return Start(f, grid, block, cluster, addresses.data()); }));
}

} // extern "C"
