/// \file StreamData.hxx
/// \brief What stands behind Stream.

#ifndef CLADTORCH_STREAMDATA
#define CLADTORCH_STREAMDATA

#include <CladTorch/Stream.hxx>

#include "CoreBox.hxx"
#include "HomeProcess.hxx"
#include "RangeReader.hxx"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace CladTorch {
namespace Internal {

/// What a Stream points to.
struct StreamData {
   explicit StreamData(const DatasetData &columns);

   /// Epoch 0 is the sample that training looks at first.
   rust::Box<Core::Epoch> Epoch(std::uint64_t number, EPart part, const Core::FitSpec &fit) const;
   /// Of the events to train on, what this process reads where others train, too.
   rust::Box<Core::Epoch> EpochOfRank(std::uint64_t number, const Core::FitSpec &fit) const;

   rust::Box<Core::Stream> fCore;
   Selection fSelection; ///< what all sources to come share
   Core::StreamSpec fSpec{};
   std::vector<std::unique_ptr<RangeReader>> fReaders; ///< one a source
   HomeProcess fHome;
   std::mutex fReading; ///< the readers are used by one thread at a time
};

} // namespace Internal
} // namespace CladTorch

#endif
