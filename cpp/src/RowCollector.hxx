/// \file RowCollector.hxx
/// \brief Gathers the rows of one source while ROOT's event loop runs.

#ifndef CLADTORCH_ROWCOLLECTOR
#define CLADTORCH_ROWCOLLECTOR

#include "CoreBox.hxx"

#include <RtypesCore.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

class TTree;
class TTreeReader;

namespace CladTorch {
namespace Internal {

/// Where a column's numbers go.
struct ColumnTarget {
   enum EPart { kFeatures, kLabel, kWeight };

   std::string fName;
   EPart fPart = kFeatures;
   std::size_t fOffset = 0; ///< in a row of features
   std::size_t fLength = 1;
   float fPad = 0;
   bool fScalar = true; ///< a column of several numbers an event is an error
};

/// Collects rows slot by slot and appends them to a dataset in the order of the entries, for any number of threads.
///
/// A run in one slot hands its rows over block by block. Under implicit multi-threading the tasks come in any order:
/// each task's block is kept under its place in the source, and Finish() appends them in that order.
class RowCollector {
public:
   /// \param width Features of a row.
   /// \param tree The tree that a run in one slot reads; null where the source is none.
   /// \param files Files of the source in their order; empty where it is no tree.
   /// \param label Of each event, unless a column's action writes another.
   RowCollector(Core::Dataset &data, std::size_t width, unsigned int slots, TTree *tree,
                const std::vector<std::string> &files, double label);

   /// A task starts in `slot`; `reader` is that of the task's tree, or null where ROOT passes none on.
   void BeginTask(TTreeReader *reader, unsigned int slot);
   /// The next row of `slot`, entry `entry` of the source.
   void BeginRow(unsigned int slot, ULong64_t entry);
   /// Room for the column's numbers in the present row, `target.fLength` of them.
   float *Row(unsigned int slot, const ColumnTarget &target);
   /// Notes that the present row holds `value`, which is not finite as float32.
   void NoteBadValue(unsigned int slot, const ColumnTarget &target, double value);
   /// Appends what has not been appended yet and returns the number of rows. Throws where a value was not finite.
   std::size_t Finish(const std::string &source);

private:
   /// Ordinal of the file, entry in the file (without files: 0, entry of the source).
   using Place_t = std::pair<std::size_t, ULong64_t>;

   struct Block {
      std::vector<float> fFeatures, fLabels, fWeights;
   };

   struct BadValue {
      std::string fText; ///< column, value, entry and file
      Place_t fPlace;
      std::size_t fCount = 0;
      Place_t fLast; ///< of the last row counted
   };

   struct alignas(64) Slot {
      Block fBlock;
      Place_t fFirst; ///< place of the block's first row
      Place_t fPresent;
      TTreeReader *fReader = nullptr;
      BadValue fBad;
   };

   Place_t PlaceOf(const Slot &slot, ULong64_t entry) const;
   TTree *TreeOf(const Slot &slot) const;
   void Append(Block &block);
   void Stash(Slot &slot);

   Core::Dataset &fData;
   std::size_t fWidth;
   TTree *fTree;
   float fLabel;
   bool fOrdered; ///< rows come in order: one slot, no tasks
   std::map<std::string, std::size_t> fFiles;
   std::vector<Slot> fSlots;
   std::mutex fMutex; ///< for fBlocks
   std::multimap<Place_t, Block> fBlocks;
   std::size_t fRows = 0;
};

} // namespace Internal
} // namespace CladTorch

#endif
