/// \file RangeReader.hxx
/// \brief A source of a stream: read again and again, a range of entries at a time.

#ifndef CLADTORCH_RANGEREADER
#define CLADTORCH_RANGEREADER

#include <CladTorch/Source.hxx>

#include "CoreBox.hxx"
#include "EventLoop.hxx"
#include "OpenSource.hxx"
#include "ReaderPlan.hxx"
#include "Source.hxx"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

class RangeReader {
public:
   /// Opens the source on one thread. Throws for one that has no clusters of entries, see Stream::Add, and for a column
   /// or cut that does not work.
   RangeReader(const Source &source, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection);

   const std::string &Name() const { return fName; }
   /// Entry behind each cluster.
   const std::vector<std::uint64_t> &ClusterEnds() const { return fClusterEnds; }

   /// Appends the events of the entries [first, last) that pass the cut to `data`, which is empty. A decoded cluster of up
   /// to `keep` bytes is kept for the ranges to come.
   /// \return The entry of each.
   std::vector<std::uint64_t> Read(std::uint64_t first, std::uint64_t last, Core::Dataset &data, std::uint64_t keep);

private:
   /// The events of one cluster, which several ranges are taken from, so that its baskets are decoded once.
   struct Cluster {
      std::uint64_t fFirst, fLast; ///< its entries
      std::uint64_t fLeft;         ///< entries that have not been taken yet
      rust::Box<Core::Dataset> fRows;
      std::vector<std::uint64_t> fEntries; ///< of each row
   };

   /// The cluster around a range; nullptr for a range that is all of it or nearly none, for clusters too large to keep, and
   /// where ROOT reads columns, slowly: the first batch would wait for a whole cluster.
   Cluster *Around(std::uint64_t first, std::uint64_t last, const Core::Dataset &data, std::uint64_t keep);
   std::vector<std::uint64_t> TakeFrom(Cluster &cluster, std::uint64_t first, std::uint64_t last, Core::Dataset &data);
   /// Appends the events of a range, from the files. \return The entry of each.
   std::vector<std::uint64_t> Load(std::uint64_t first, std::uint64_t last, Core::Dataset &data);
   std::vector<std::uint64_t> ReadAll(std::uint64_t first, std::uint64_t last, Core::Dataset &data) const;
   std::vector<std::uint64_t> ReadSelected(std::uint64_t first, std::uint64_t last, Core::Dataset &data);
   /// "entries 8000 to 8999 (run7.root)", for messages.
   std::string DescribeRange(std::uint64_t first, std::uint64_t last) const;

   ROOT::RDF::RNode fFrame;
   std::string fName;
   Origin fOrigin;
   double fLabel;
   Reading fReading;
   ReaderPlan fPlan;
   bool fWithoutRoot; ///< every entry is taken, and the fast reader reads all columns
   PreparedLoop fLoop;
   std::vector<std::uint64_t> fFileEnds; ///< entry behind each of the origin's files
   std::vector<std::uint64_t> fClusterEnds;
   std::optional<Cluster> fCluster;
};

} // namespace Internal
} // namespace CladTorch

#endif
