/// \file RangeReader.hxx
/// \brief A source that is read a range of entries at a time: of a stream, again and again, or one process's part of it.

#ifndef CLADTORCH_RANGEREADER
#define CLADTORCH_RANGEREADER

#include <CladTorch/Source.hxx>

#include "CoreBox.hxx"
#include "EventLoop.hxx"
#include "Interrupt.hxx"
#include "OpenSource.hxx"
#include "ReaderPlan.hxx"
#include "ReadSource.hxx"

#include "cladtorch/src/bridge/stream.rs.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

class RangeReader {
public:
   /// Events that will be handed out in later blocks.
   struct Kept {
      std::uint64_t fFirst, fEnd; ///< entries
      std::uint64_t fLeft;        ///< entries that have not been requested yet
      rust::Box<Core::SharedEvents> fEvents;
   };

   /// Opens a source on one thread, to read `columns`. Throws for one without clusters of entries, see Stream::Add, and
   /// for an invalid column or cut.
   RangeReader(const Source &source, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection);

   const std::string &Name() const { return fName; }
   const std::vector<std::string> &Files() const { return fOrigin.fFiles; }
   /// Entry after each cluster.
   const std::vector<std::uint64_t> &ClusterEnds() const { return fClusterEnds; }

   /// The events of a block that pass the cut. If the fast reader reads all columns, it reads the entries around the
   /// block that are best read together, and these stay in `kept` until all were requested. `feed` provides the memory.
   rust::Box<Core::SharedEvents>
   Read(const Core::BlockSpec &block, const Core::FeedHandle &feed, std::optional<Kept> &kept);

   /// Appends the events of a range that pass the cut. \return The entry of each; none if the whole range is taken.
   std::vector<std::uint64_t> ReadInto(Core::Dataset &data, std::uint64_t first, std::uint64_t last);

   /// Appends the events of `rank`'s clusters that pass the cut; `size` processes share the entries as evenly as the
   /// clusters allow, so there may be none.
   void ReadShare(Core::Dataset &data, std::size_t rank, std::size_t size, std::size_t threads, const InterruptScope &interrupt);

private:
   /// The events of a range, from the files.
   rust::Box<Core::SharedEvents> Load(std::uint64_t first, std::uint64_t last, const Core::FeedHandle &feed);
   /// Appends the events of a range to the open source, starting at its row `row`. \return As ReadInto().
   std::vector<std::uint64_t>
   ReadRange(Core::Dataset &data, std::uint64_t first, std::uint64_t last, std::size_t threads, std::size_t row = 0);
   /// The same for the events of a range that pass the cut. \return The entry of each.
   std::vector<std::uint64_t>
   ReadSelected(std::uint64_t first, std::uint64_t last, Core::Dataset &data, std::size_t threads, std::size_t row);
   /// "entries 8000 to 8999 (run7.root)", for messages.
   std::string DescribeRange(std::uint64_t first, std::uint64_t last) const;

   ROOT::RDF::RNode fFrame;
   std::string fName;
   Origin fOrigin;
   Label fLabel;
   std::size_t fWidth; ///< values per row
   Reading fReading;
   ReaderPlan fPlan;
   bool fWithoutRoot; ///< every entry is taken, and the fast reader reads all columns
   PreparedLoop fLoop;
   std::vector<std::uint64_t> fFileEnds; ///< entry after each of the origin's files
   std::vector<std::uint64_t> fClusterEnds;
};

} // namespace Internal
} // namespace CladTorch

#endif
