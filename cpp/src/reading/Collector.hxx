/// \file Collector.hxx
/// \brief What receives the columns of a source while ROOT's event loop runs.

#ifndef CLADTORCH_COLLECTOR
#define CLADTORCH_COLLECTOR

#include "Numbers.hxx"

#include <RtypesCore.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

class TTree;
class TTreeReader;

namespace CladTorch {
namespace Internal {

class InterruptScope;

/// A column to read, and the place of its values.
struct ColumnTarget {
   enum EPart { kFeatures, kLabel, kWeight };

   std::string fName; ///< as the user knows it
   EPart fPart = kFeatures;
   std::size_t fOffset = 0; ///< in a row of features, or among the targets of an event
   std::size_t fLength = 1;
   float fPad = 0;
   bool fScalar = true;      ///< a column of several values per event is an error, unless fOfObjects
   bool fOfObjects = false;  ///< a list has one value for each object of the event, and all are taken
   std::size_t fInner = 0;   ///< length of each inner list; 0: a flat list
   bool fMask = false;       ///< 1 for each element and 0 for each pad, instead of the values
   std::string fColumn = {}; ///< column to read: one of the data frame, or before Resolve() perhaps an expression
   std::set<std::string> fReads = {}; ///< after Resolve(): the columns that the data frame reads for it
};

/// Origin of a row: ordinal of the file and entry in the file (without files: 0 and entry of the source).
using Place_t = std::pair<std::size_t, ULong64_t>;

/// Receives rows slot by slot: BeginTask, then for each row BeginRow and Take for each column.
class Collector {
public:
   virtual ~Collector() = default;
   /// A task starts in `slot`; `reader` is that of the task's tree, or null if ROOT passes none.
   virtual void BeginTask(TTreeReader *reader, unsigned int slot) = 0;
   /// The next row of `slot`, entry `entry` of the source.
   virtual void BeginRow(unsigned int slot, ULong64_t entry) = 0;
   /// The values of one column in the present row.
   virtual void Take(unsigned int slot, const ColumnTarget &target, const Numbers &numbers) = 0;
};

/// The origin of a source's rows, and their order.
struct Origin {
   TTree *fTree = nullptr;          ///< the tree that a run in one slot reads; null if the source is not a tree
   std::vector<std::string> fFiles; ///< in their order; empty if the source is not a tree
};

/// Keeps the rows in the order of the entries, for any number of threads.
///
/// A run in one slot hands its rows over block by block. Under implicit multi-threading the tasks come in any order:
/// each task's block is kept under its place in the source, and Finish() hands them over in that order.
class OrderedCollector : public Collector {
public:
   OrderedCollector(unsigned int slots, const Origin &origin);

   void BeginTask(TTreeReader *reader, unsigned int slot) final;
   void BeginRow(unsigned int slot, ULong64_t entry) final;

   /// Throws in the middle of the event loop once `interrupt`, which outlives it, requests it.
   void StopOn(const InterruptScope &interrupt) { fInterrupt = &interrupt; }

   /// Hands over the remaining rows and returns the number of rows. Throws if a value was bad.
   std::size_t Finish(const std::string &source);

protected:
   /// The rows of one slot or task.
   struct Block {
      virtual ~Block() = default;
      virtual void BeginRow(const Place_t &place) = 0;

      std::size_t fRows = 0;
   };

   virtual std::unique_ptr<Block> NewBlock() const = 0;
   /// Takes the rows of `block` and leaves it empty.
   virtual void Append(Block &block) = 0;
   /// The fault of bad values and its remedy, for the message.
   virtual std::string Remedy() const = 0;

   Block &Present(unsigned int slot) { return *fSlots[slot].fBlock; }
   /// Notes that the present row of `slot` holds `value`.
   void NoteBadValue(unsigned int slot, const ColumnTarget &target, const std::string &value);

private:
   /// The first value of a slot that cannot be taken, and the number of rows with such values.
   struct BadValue {
      std::string fText; ///< column, value, entry and file
      Place_t fPlace;
      std::size_t fCount = 0;
      Place_t fLast; ///< of the last row counted
   };

   struct alignas(64) Slot {
      std::unique_ptr<Block> fBlock;
      Place_t fFirst; ///< place of the block's first row
      Place_t fPresent;
      TTreeReader *fReader = nullptr;
      BadValue fBad;
   };

   Place_t PlaceOf(const Slot &slot, ULong64_t entry) const;
   TTree *TreeOf(const Slot &slot) const;
   void HandOver(Block &block);
   void Stash(Slot &slot);
   void CheckValues(const std::string &source) const;

   TTree *fTree;
   bool fOrdered; ///< rows come in order: one slot, no tasks
   std::map<std::string, std::size_t> fFiles;
   std::vector<Slot> fSlots;
   std::mutex fMutex; ///< for fBlocks
   std::multimap<Place_t, std::unique_ptr<Block>> fBlocks;
   std::size_t fRows = 0;
   const InterruptScope *fInterrupt = nullptr;
};

} // namespace Internal
} // namespace CladTorch

#endif
