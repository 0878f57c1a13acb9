/// \file HomeProcess.hxx
/// \brief In which process something was made: a fork copies objects, but no threads.

#ifndef CLADTORCH_HOMEPROCESS
#define CLADTORCH_HOMEPROCESS

#include <stdexcept>
#include <string>
#include <unistd.h>

namespace CladTorch {
namespace Internal {

/// Remembers the process that created it.
class HomeProcess {
public:
   /// Whether this is a process forked from that one.
   bool IsElsewhere() const { return fPid != getpid(); }

   /// Throws in a forked process. The threads that `what` waits for do not exist there, and the process shares the
   /// positions in open files with its parent.
   void Check(const std::string &what) const
   {
      if (IsElsewhere())
         throw std::runtime_error(what + " belongs to the process " + std::to_string(fPid) + ", which this one was " +
                                  "forked from: make the stream and its batches in this process, or start it afresh " +
                                  "(in Python, multiprocessing.get_context(\"spawn\"))");
   }

private:
   pid_t fPid = getpid();
};

} // namespace Internal
} // namespace CladTorch

#endif
