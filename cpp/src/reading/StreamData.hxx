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

/// The data of a Stream.
struct StreamData {
   explicit StreamData(const DatasetData &columns);

   /// Epoch 0 is the sample that training reads first.
   rust::Box<Core::Epoch> Epoch(std::uint64_t number, EPart part, const Core::FitSpec &fit) const;
   /// This process's share of the training events, if other processes train, too.
   rust::Box<Core::Epoch> EpochOfRank(std::uint64_t number, const Core::FitSpec &fit) const;

   rust::Box<Core::Stream> fCore;
   Selection fSelection; ///< shared by all sources added from now on
   Core::StreamSpec fSpec{};
   std::vector<std::unique_ptr<RangeReader>> fReaders; ///< one per source
   HomeProcess fHome;
   std::mutex fReading; ///< the readers serve one thread at a time
};

} // namespace Internal
} // namespace CladTorch

#endif
