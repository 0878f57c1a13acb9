/// \file LargeStack.hxx
/// \brief A thread whose stack is large enough for what recurses as deep as a file asks for.

#ifndef CLADTORCH_LARGESTACK
#define CLADTORCH_LARGESTACK

#include <pthread.h>

#include <cstddef>
#include <exception>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

/// Bytes of address space; the system provides only those that are used.
constexpr std::size_t kLargeStack = std::size_t(512) << 20;

/// Runs `f` in a thread with such a stack and waits for it; throws what `f` throws.
template <class F>
void OnLargeStack(F f)
{
   struct Call {
      F &fFunction;
      std::exception_ptr fThrown = nullptr;
   } call{f};
   const auto run = [](void *argument) -> void * {
      auto &given = *static_cast<Call *>(argument);
      try {
         given.fFunction();
      } catch (...) {
         given.fThrown = std::current_exception();
      }
      return nullptr;
   };
   pthread_attr_t attributes;
   pthread_attr_init(&attributes);
   pthread_attr_setstacksize(&attributes, kLargeStack);
   pthread_t thread;
   const int failed = pthread_create(&thread, &attributes, run, &call);
   pthread_attr_destroy(&attributes);
   if (failed)
      throw std::runtime_error("no thread with a stack of 512 MB can be made: raise the limit of memory (ulimit -v)");
   pthread_join(thread, nullptr);
   if (call.fThrown)
      std::rethrow_exception(call.fThrown);
}

} // namespace Internal
} // namespace CladTorch

#endif
