/// \file Interrupt.hxx
/// \brief Ctrl-C as a request that long loops ask for.

#ifndef CLADTORCH_INTERRUPT
#define CLADTORCH_INTERRUPT

#include <CladTorch/Error.hxx>
#include <CladTorch/Guard.hxx>

#include <string>
#include <type_traits>
#include <utility>

namespace CladTorch {
namespace Internal {

/// While it lives, Ctrl-C is only noted, for the core as well. ROOT's own handler would jump out of the running code,
/// over the frames of the core and of its threads. Any number may live at once, in any threads: Ctrl-C is meant for all
/// of them. A process that ignores SIGINT continues to ignore it.
class InterruptScope {
public:
   InterruptScope();
   InterruptScope(const InterruptScope &) = delete;
   ~InterruptScope();

   /// Whether Ctrl-C was pressed, or ROOT asked to stop (`gROOT->SetInterrupt()`).
   bool Requested() const;
   /// Whether it is the first scope of this thread: a call within another one leaves Ctrl-C to the outer call, which
   /// acts on it at its end.
   bool IsOuter() const { return fIsOuter; }
   /// Throws Stopped if it was, with `what` in the message.
   void Check(const std::string &what) const;

private:
   bool fIsOuter;
};

/// Calls `f(interrupt)`. An exception of `f` after Ctrl-C becomes Stopped, and so does a Ctrl-C that `f` did not
/// notice.
/// \param what For the message: "the reading".
template <class F>
auto Interruptible(const std::string &what, F &&f) -> decltype(f(std::declval<const InterruptScope &>()))
{
   const InterruptScope interrupt;
   const auto checkEnd = [&] {
      if (interrupt.IsOuter() && interrupt.Requested())
         throw Stopped("Ctrl-C was pressed just after " + what + " had ended");
   };
   try {
      if constexpr (std::is_void<decltype(f(interrupt))>::value) {
         f(interrupt);
         checkEnd();
      } else {
         decltype(auto) result = f(interrupt);
         checkEnd();
         return result;
      }
   } catch (const Error &) {
      throw; // of a public function that `f` called
   } catch (const Stopped &) {
      throw;
   } catch (...) {
      interrupt.Check(what);
      throw;
   }
}

/// Guard() for a public function that may take long: Ctrl-C ends it with Interrupted, as soon as the core notices or
/// else at its end; ROOT's own handler would jump out of it.
/// \param f Takes nothing, or the InterruptScope.
/// \param what For the message: "the reading".
template <class F>
decltype(auto) LongCall(const std::string &where, F &&f, const std::string &what = "the call")
{
   return Guard(where.c_str(), [&]() -> decltype(auto) {
      return Interruptible(what, [&](const InterruptScope &interrupt) -> decltype(auto) {
         if constexpr (std::is_invocable<F, const InterruptScope &>::value)
            return f(interrupt);
         else
            return f();
      });
   });
}

/// From now on an uncaught Interrupted ends the running macro, without an abort.
void EndMacroWhereUncaught();

} // namespace Internal
} // namespace CladTorch

#endif
