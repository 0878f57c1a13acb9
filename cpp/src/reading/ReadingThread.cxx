#include "ReadingThread.hxx"

#include <TDirectory.h>
#include <TList.h>
#include <TMemFile.h>
#include <TROOT.h>
#include <TVirtualMutex.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace CladTorch {
namespace Internal {

/// The state that the thread and its owner share.
class ReadingThread::Work {
public:
   Work(std::shared_ptr<StreamData> stream, const Core::Epoch &epoch)
      : fStream(std::move(stream)), fFeed(Core::epoch_feed(epoch))
   {
   }

   void Run()
   {
      Serve();
      fKept.clear();
      const std::lock_guard<std::mutex> lock(fMutex);
      fDone = true;
      fChanged.notify_all();
   }

   void Close()
   {
      if (!fHome.IsElsewhere()) // the thread, which may have held the lock, is not in a forked process
         Core::feed_close(*fFeed);
   }

   void Fail(const char *reason)
   {
      if (!fHome.IsElsewhere())
         Core::feed_fail(*fFeed, reason);
   }

   /// Waits until the thread has stopped reading: as long as one uninterrupted read takes, or until it is clear that
   /// the thread waits for us.
   void Wait()
   {
      constexpr std::chrono::seconds kPatience(5);
      if (fHome.IsElsewhere())
         return;
      std::unique_lock<std::mutex> lock(fMutex);
      fChanged.wait_for(lock, kPatience, [this] { return fDone; });
   }

private:
   void Serve()
   {
      try {
         for (Core::BlockSpec block{}; Core::feed_want(*fFeed, block);)
            ReadBlock(block);
      } catch (const std::exception &e) {
         Fail(e.what());
      } catch (...) {
         Fail("an exception of unknown type was thrown while a stream was read");
      }
   }

   void ReadBlock(const Core::BlockSpec &block)
   {
      const std::lock_guard<std::mutex> lock(fStream->fReading);
      const auto events = fStream->fReaders.at(block.source)->Read(block, *fFeed, fKept[block.source]);
      Core::feed_deliver(*fFeed, block, *events);
   }

   HomeProcess fHome;
   std::shared_ptr<StreamData> fStream;
   rust::Box<Core::FeedHandle> fFeed;
   std::map<std::size_t, std::optional<RangeReader::Kept>> fKept; ///< by source
   std::mutex fMutex;
   std::condition_variable fChanged;
   bool fDone = false;
};

/// The first entry in ROOT's list of open files. It therefore learns, before any other file is closed and without the
/// lock, that ROOT closes them all: by gROOT->CloseFiles(), which the end of the session calls first.
class ReadingThread::FilesClosing : public TMemFile {
public:
   explicit FilesClosing(std::shared_ptr<Work> work) : TMemFile("CladTorch::Stream", "recreate"), fWork(std::move(work))
   {
      R__LOCKGUARD(gROOTMutex);
      gROOT->GetListOfFiles()->Remove(this);
      static_cast<TList *>(gROOT->GetListOfFiles())->AddFirst(this);
   }

   /// Does nothing to the file, so that it remains ours to delete.
   void Close(Option_t *) override
   {
      fWork->Fail("ROOT closed its files while the stream was read");
      fWork->Wait();
   }

private:
   std::shared_ptr<Work> fWork;
};

ReadingThread::ReadingThread(std::shared_ptr<StreamData> stream, const Core::Epoch &epoch)
   : fWork(std::make_shared<Work>(std::move(stream), epoch))
{
   const TDirectory::TContext keep; // a new file becomes the current one
   fFilesClosing = std::make_unique<FilesClosing>(fWork);
   std::thread([work = fWork] { work->Run(); }).detach();
}

ReadingThread::~ReadingThread()
{
   fWork->Close();
   fWork->Wait();
}

} // namespace Internal
} // namespace CladTorch
