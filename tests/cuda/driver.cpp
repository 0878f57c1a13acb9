// A driver whose GPU is the host: modules are names of libraries that tests/cuda/host.rs made. VERSION, DEVICES and LOST say what
// is wrong with it; it has a MiB of memory for each allocation, and refuses calls without a current context.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#ifndef VERSION
#define VERSION 13000
#endif
#ifndef DEVICES
#define DEVICES 1
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
   bool (*fRun)(unsigned, unsigned, unsigned, bool, const size_t *);
   unsigned fNumber, fParameters;
};

thread_local int gCurrent = 0;
int gContext;

int Within(int code)
{
   return gCurrent > 0 ? code : 201; // CUDA_ERROR_INVALID_CONTEXT
}

} // namespace

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
   *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 101 ? "CUDA_ERROR_INVALID_DEVICE" : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : nullptr;
   return *name ? 0 : 1;
}
int cuDeviceGet(int *device, int index)
{
   *device = index;
   return index < DEVICES ? 0 : 101;
}
int cuDeviceGetAttribute(int *value, int attribute, int)
{
   *value = attribute == 75 ? 9 : 0;
   return attribute == 75 || attribute == 76 ? 0 : 1;
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
int cuStreamSynchronize(void *)
{
   return Within(0);
}
int cuMemAlloc_v2(uintptr_t *address, size_t bytes)
{
   if (bytes == 0 || bytes > 1 << 20)
      return Within(bytes ? 2 : 1);
   *address = reinterpret_cast<uintptr_t>(std::malloc(bytes));
   std::memset(reinterpret_cast<void *>(*address), 0xff, bytes); // not a number
   return Within(0);
}
int cuMemFree_v2(uintptr_t address)
{
   std::free(reinterpret_cast<void *>(address));
   return Within(0);
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
   return Within(dlclose(module));
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
   const auto *kernels = static_cast<const Kernel *>(dlsym(module, "kernels"));
   for (unsigned i = 0; kernels[i].fName; ++i)
      if (!std::strcmp(kernels[i].fName, name)) {
         const auto run = reinterpret_cast<decltype(Function::fRun)>(dlsym(module, "run"));
         *function = new Function{run, i, kernels[i].fParameters}; // there for good, as in the driver
         return Within(0);
      }
   return Within(500);
}
int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
   const auto &f = *static_cast<Function *>(function);
   size_t addresses[64];
   if (gridY * gridZ * blockY * blockZ != 1 || blockX > 1024 || shared || stream || extra || f.fParameters > 64)
      return Within(1);
   for (unsigned i = 0; i < f.fParameters; ++i)
      addresses[i] = *static_cast<size_t *>(parameters[i]);
   if (LOST)
      return Within(700);
   return Within(f.fRun(f.fNumber, gridX, blockX, false, addresses) ? 0 : 719);
}

} // extern "C"
