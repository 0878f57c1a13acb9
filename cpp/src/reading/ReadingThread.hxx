/// \file ReadingThread.hxx
/// \brief The thread that reads a stream ahead, and how it ends.

#ifndef CLADTORCH_READINGTHREAD
#define CLADTORCH_READINGTHREAD

#include "StreamData.hxx"

#include <memory>

namespace CladTorch {
namespace Internal {

/// Serves the feed of one epoch on its own thread until the epoch is over, an error occurs, or this object is
/// destroyed.
///
/// The thread needs ROOT's lock (to open files, to compile), and this object may be destroyed while the caller holds
/// it: cling destroys the variables of a macro under the lock. So no wait for the thread is unlimited; a thread that
/// outlives its owner keeps what it reads from. The thread also ends before ROOT closes its files, at the end of the
/// session.
class ReadingThread {
public:
   ReadingThread(std::shared_ptr<StreamData> stream, const Core::Epoch &epoch);
   ReadingThread(const ReadingThread &) = delete;
   ~ReadingThread();

private:
   class Work;
   class FilesClosing;
   std::shared_ptr<Work> fWork;
   std::unique_ptr<FilesClosing> fFilesClosing;
};

} // namespace Internal
} // namespace CladTorch

#endif
