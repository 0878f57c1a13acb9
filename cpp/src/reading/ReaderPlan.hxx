/// \file ReaderPlan.hxx
/// \brief Which reader reads a column of a source, and why.

#ifndef CLADTORCH_READERPLAN
#define CLADTORCH_READERPLAN

#include "CoreBox.hxx"
#include "EventLoop.hxx"

#include "cladtorch/src/bridge/columns.rs.h"

#include <ROOT/RDataFrame.hxx>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The readers of one source.
struct ReaderPlan {
   std::vector<std::string> fReasons;             ///< for each target, why ROOT reads it; "": the fast reader does
   std::vector<rust::Box<Core::TreeFile>> fFiles; ///< of the source, in their order; empty if ROOT reads everything
   std::set<std::string> fEmptyBaskets;           ///< columns that only the fast reader reads correctly
   std::vector<std::uint64_t> fStarts;            ///< first entry of each file, and the end; empty like fFiles

   bool AllFast() const;
   /// Entries of all files.
   std::uint64_t Entries() const { return fStarts.empty() ? 0 : fStarts.back(); }
   /// The targets that ROOT reads.
   std::vector<ColumnTarget> Left(const std::vector<ColumnTarget> &targets) const;
   /// Lets the fast reader fill its columns, starting at row `row`, in the rows of `data` that ROOT's reader has begun,
   /// which come from `entries` of all files.
   void FillIn(Core::Dataset &data, std::vector<std::uint64_t> entries, std::size_t threads, std::size_t row = 0) const;
   /// The same if the rows come from all entries from `first` on, before `last`.
   void FillBetween(Core::Dataset &data, std::uint64_t first, std::uint64_t last, std::size_t threads, std::size_t row = 0) const;
   /// A line for each reader and reason, with its columns: for Dataset::Print.
   std::string Describe(const std::vector<ColumnTarget> &targets) const;
};

/// Asks ROOT for the layout of the columns in every file of `frame`'s tree. Throws for a column of another kind than
/// requested and, if `reader` is the fast one, for a column that is left to ROOT.
ReaderPlan PlanReaders(const ROOT::RDF::RNode &frame, const Reading &reading, EReader reader);

/// The same for all events of the tree `tree` in the local file `file`, if the file's own description suffices: ROOT
/// takes 0.1 s to open a file and its tree for the first time. Nothing if only ROOT can tell what a column is.
std::optional<ReaderPlan>
PlanWithoutRoot(const std::string &tree, const std::string &file, const std::vector<ColumnTarget> &targets);

} // namespace Internal
} // namespace CladTorch

#endif
