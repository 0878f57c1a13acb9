#include "RangeReader.hxx"

#include "Frame.hxx"
#include "RowCollector.hxx"

#include <ROOT/RDFHelpers.hxx>
#include <TChain.h>
#include <TROOT.h>
#include <TTree.h>

#include <algorithm>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

ROOT::RDF::RNode OpenOnOneThread(const Source &source)
{
   const SerialScope serial(true);
   return source.Data().fOpen();
}

[[noreturn]] void Refuse(const std::string &source, const std::string &what, const std::string &remedy)
{
   throw std::runtime_error(source + " cannot be read in parts, as streams and shards are: " + what + "; " + remedy);
}

void Check(const ROOT::RDF::RNode &frame, const std::string &source)
{
   TTree *tree = TreeOf(frame);
   if (!tree && !ReadsRNTuple(frame))
      Refuse(source, "it is neither a tree nor an RNTuple", "read it whole into a Dataset");
   if (frame.GetNSlots() > 1)
      Refuse(source, "its data frame was made for several threads",
             "make it before ROOT::EnableImplicitMT, or give the tree or its files");
   if ((tree && !*tree->GetName()) || ROOT::RDF::SaveGraph(frame).find("label=\"Range\"") != std::string::npos)
      Refuse(source, "its data frame has a range, or is made from a specification, which may have one",
             "make a cut of it (rdfentry_ < 1000), or read it whole into a Dataset");
   if (tree && tree->GetEntryList())
      Refuse(source, "it has an entry list", "make a cut of it, or read it whole into a Dataset");
}

/// Appends the ends of the clusters of `tree`, which begins at entry `offset` of its chain.
void AppendClusters(TTree &tree, std::uint64_t offset, std::vector<std::uint64_t> &ends)
{
   const auto entries = tree.GetEntries();
   auto clusters = tree.GetClusterIterator(0);
   while (clusters.Next() < entries) {
      const auto end = std::min<Long64_t>(clusters.GetNextEntry(), entries);
      if (ends.empty() || offset + end > ends.back())
         ends.push_back(offset + end);
   }
}

std::vector<std::uint64_t> FindClusters(TTree &tree, std::vector<std::uint64_t> &fileEnds)
{
   std::vector<std::uint64_t> ends;
   auto *chain = dynamic_cast<TChain *>(&tree);
   if (!chain) {
      AppendClusters(tree, 0, ends);
      fileEnds = {static_cast<std::uint64_t>(tree.GetEntries())};
      return ends;
   }
   const auto entries = chain->GetEntries(); // opens all files
   for (int i = 1; i <= chain->GetNtrees(); ++i)
      fileEnds.push_back(chain->GetTreeOffset()[i]);
   for (Long64_t entry = 0; entry < entries;) {
      if (chain->LoadTree(entry) < 0)
         throw std::runtime_error("entry " + std::to_string(entry) + " of chain '" + chain->GetName() +
                                  "' cannot be loaded: see ROOT's message above");
      AppendClusters(*chain->GetTree(), entry, ends);
      entry += chain->GetTree()->GetEntries();
   }
   return ends;
}

std::vector<std::uint64_t> FindClusters(const ROOT::RDF::RNode &ntuple)
{
   std::vector<std::uint64_t> ends;
   for (const auto &cluster : ROOT::Internal::RDF::GetDatasetGlobalClusterBoundaries(ntuple))
      ends.push_back(cluster.second);
   return ends;
}

/// Restores all `entries` of the frame at its end.
class RangeScope {
public:
   RangeScope(const ROOT::RDF::RNode &frame, std::uint64_t first, std::uint64_t last, std::uint64_t entries)
      : fFrame(frame), fEntries(entries)
   {
      ROOT::Internal::RDF::ChangeBeginAndEndEntries(fFrame, first, last);
   }
   RangeScope(const RangeScope &) = delete;
   ~RangeScope() { ROOT::Internal::RDF::ChangeBeginAndEndEntries(fFrame, 0, fEntries); }

private:
   const ROOT::RDF::RNode &fFrame;
   std::uint64_t fEntries;
};

std::size_t WidthOf(const rust::Vec<Core::ColumnSpec> &columns)
{
   std::size_t width = 0;
   for (const auto &column : columns)
      width += column.length;
   return width;
}

/// The first entry of `rank`'s clusters, and the end of the previous rank's: the first cluster boundary at or after the
/// beginning of its part of the entries.
std::uint64_t ShareBegin(const std::vector<std::uint64_t> &clusterEnds, std::size_t rank, std::size_t size)
{
   const auto entries = clusterEnds.back();
   const auto begin = entries / size * rank + entries % size * rank / size;
   return begin ? *std::lower_bound(clusterEnds.begin(), clusterEnds.end(), begin) : 0;
}

} // namespace

RangeReader::RangeReader(const Source &source, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection)
   : fFrame(OpenOnOneThread(source)),
     fName(Describe(fFrame)),
     fOrigin((Check(fFrame, fName), OriginOf(fFrame, fName))),
     fLabel(selection.fLabel),
     fWidth(WidthOf(columns)),
     fReading{fName, selection.fCut, Targets(fFrame, columns, selection)},
     fPlan(PlanReaders(fFrame, fReading, selection.fReader)),
     fWithoutRoot(fPlan.AllFast() && selection.fCut.empty() && ReadsWhole(fFrame)),
     fLoop(fFrame, {fName, selection.fCut, fPlan.Left(fReading.fTargets)}),
     fClusterEnds(fOrigin.fTree ? FindClusters(*fOrigin.fTree, fFileEnds) : FindClusters(fFrame))
{
   if (fClusterEnds.empty())
      throw std::runtime_error(fName + " has no events");
}

std::string RangeReader::DescribeRange(std::uint64_t first, std::uint64_t last) const
{
   std::string text = "entries " + std::to_string(first) + " to " + std::to_string(last - 1);
   const auto file = [this](std::uint64_t entry) {
      return static_cast<std::size_t>(std::upper_bound(fFileEnds.begin(), fFileEnds.end(), entry) - fFileEnds.begin());
   };
   const auto &files = fOrigin.fFiles;
   if (file(last - 1) >= files.size()) // in memory
      return text;
   return text + " (" + files[file(first)] + (file(first) == file(last - 1) ? "" : " to " + files[file(last - 1)]) + ")";
}

rust::Box<Core::SharedEvents>
RangeReader::Read(const Core::BlockSpec &block, const Core::FeedHandle &feed, std::optional<Kept> &kept)
{
   const auto last = block.first + block.entries;
   const auto begin = block.together_first, end = block.together_end;
   // ROOT reads slowly: the first batch would wait for more entries than it needs.
   if (!fPlan.AllFast() || block.entries == end - begin)
      return Load(block.first, last, feed);
   if (!kept || kept->fFirst != begin || kept->fEnd != end) {
      kept.reset(); // free its memory first
      kept.emplace(Kept{begin, end, end - begin, Load(begin, end, feed)});
   }
   auto events =
      block.copied ? Core::events_part(*kept->fEvents, block.first, last) : Core::events_shared(*kept->fEvents);
   kept->fLeft -= std::min(kept->fLeft, block.entries);
   if (kept->fLeft == 0)
      kept.reset();
   return events;
}

rust::Box<Core::SharedEvents>
RangeReader::Load(std::uint64_t first, std::uint64_t last, const Core::FeedHandle &feed)
{
   auto data = Core::feed_dataset(feed, last - first);
   const auto entries = ReadInto(*data, first, last);
   if (fWithoutRoot)
      return Core::events_all(first, last, std::move(data));
   return Core::events_new(first, last, {entries.data(), entries.size()}, std::move(data));
}

std::vector<std::uint64_t> RangeReader::ReadInto(Core::Dataset &data, std::uint64_t first, std::uint64_t last)
{
   try {
      Transaction transaction(data, fName, fLabel);
      auto entries = ReadRange(data, first, last, 1);
      if (fWithoutRoot || !entries.empty())
         transaction.Commit();
      return entries;
   } catch (const std::exception &e) {
      throw std::runtime_error(DescribeRange(first, last) + ": " + e.what());
   }
}

void RangeReader::ReadShare(Core::Dataset &data, std::size_t rank, std::size_t size, std::size_t threads,
                            const InterruptScope &interrupt)
{
   constexpr std::uint64_t kPiece = 1 << 20; // entries between two checks for Ctrl-C
   const auto begin = ShareBegin(fClusterEnds, rank, size), end = ShareBegin(fClusterEnds, rank + 1, size);
   const auto range = begin < end ? DescribeRange(begin, end) : std::string("no entry");
   try {
      Transaction transaction(data, fName, fLabel);
      Core::dataset_note(data, fPlan.Describe(fReading.fTargets));
      Core::dataset_note(data, range + " of " + std::to_string(fClusterEnds.back()) + ", the share of rank " +
                                  std::to_string(rank) + " of " + std::to_string(size));
      if (fWithoutRoot)
         Core::dataset_reserve(data, end - begin);
      std::size_t rows = 0;
      for (auto first = begin; first < end; first += kPiece) {
         const auto last = std::min(first + kPiece, end);
         const auto entries = ReadRange(data, first, last, threads, rows);
         rows += fWithoutRoot ? last - first : entries.size();
         interrupt.Check("the reading");
      }
      transaction.Commit();
   } catch (const Stopped &) {
      throw;
   } catch (const std::exception &e) {
      throw std::runtime_error(range + ": " + e.what());
   }
}

std::vector<std::uint64_t> RangeReader::ReadRange(Core::Dataset &data, std::uint64_t first, std::uint64_t last,
                                                  std::size_t threads, std::size_t row)
{
   if (!fWithoutRoot)
      return ReadSelected(first, last, data, threads, row);
   Core::dataset_append_empty(data, last - first, static_cast<float>(fLabel.Number()));
   fPlan.FillBetween(data, first, last, threads, row);
   return {};
}

std::vector<std::uint64_t> RangeReader::ReadSelected(std::uint64_t first, std::uint64_t last, Core::Dataset &data,
                                                     std::size_t threads, std::size_t row)
{
   if (ROOT::IsImplicitMTEnabled())
      throw std::runtime_error("ROOT's reader reads the columns or the cut of " + fName +
                               " on one thread: call ROOT::DisableImplicitMT() before the reading");
   const RangeScope range(fFrame, first, last, fClusterEnds.back());
   auto entries = fLoop.Selected().Take<ULong64_t>("rdfentry_");
   const std::vector<std::uint64_t> starts; // all entries are taken
   fLoop.Run(std::make_shared<RowCollector>(data, fWidth, 1, fOrigin, fLabel.Number(), starts));
   std::vector<std::uint64_t> selected(entries->begin(), entries->end());
   fPlan.FillIn(data, selected, threads, row);
   return selected;
}

} // namespace Internal
} // namespace CladTorch
