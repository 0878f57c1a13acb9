/// \file StreamData.hxx
/// \brief What stands behind Stream and Batches.

#ifndef CLADTORCH_STREAMDATA
#define CLADTORCH_STREAMDATA

#include <CladTorch/Stream.hxx>

#include "CoreBox.hxx"
#include "RangeReader.hxx"

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace CladTorch {
namespace Internal {

/// What a Stream points to.
struct StreamData {
   explicit StreamData(const DatasetData &columns);

   /// Epoch 0 is the sample that training looks at first.
   rust::Box<Core::Epoch> Epoch(std::uint64_t number, EPart part, const Core::FitSpec &fit) const;

   rust::Box<Core::Stream> fCore;
   Selection fSelection; ///< what all sources to come share
   Core::StreamSpec fSpec{};
   std::vector<std::unique_ptr<RangeReader>> fReaders; ///< one a source
   std::mutex fReading; ///< the readers are used by one thread at a time
};

/// Serves the feed of one epoch on a thread of its own until the epoch is over, something goes wrong, or this ends.
class ReadingThread {
public:
   ReadingThread(std::shared_ptr<StreamData> stream, const Core::Epoch &epoch);
   ReadingThread(const ReadingThread &) = delete;
   ~ReadingThread();

private:
   void Serve();
   void ReadBlock(const Core::BlockSpec &block);

   std::shared_ptr<StreamData> fStream;
   rust::Box<Core::FeedHandle> fFeed;
   std::thread fThread;
};

} // namespace Internal
} // namespace CladTorch

#endif
