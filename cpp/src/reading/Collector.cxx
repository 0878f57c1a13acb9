#include "Collector.hxx"

#include "Interrupt.hxx"

#include <TChain.h>
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>
#include <TTreeReader.h>

#include <sstream>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {
/// Rows handed over at a time; a block of 30 features then fits in a level-2 cache.
constexpr std::size_t kBlockRows = 2048;

/// The file that is being read; "" for a tree in memory.
std::string FileOf(TTree *tree)
{
   const TFile *file = tree ? tree->GetCurrentFile() : nullptr;
   return file ? file->GetName() : "";
}

std::string DescribeBad(const ColumnTarget &target, const std::string &value, const std::string &entry, const std::string &file)
{
   const char *const parts[] = {"column", "label column", "weight column"};
   std::ostringstream text;
   text << parts[target.fPart] << " '" << target.fName << "' holds " << value << " in entry " << entry;
   if (!file.empty())
      text << " of " << file;
   return text.str();
}
} // namespace

OrderedCollector::OrderedCollector(unsigned int slots, const Origin &origin)
   : fTree(origin.fTree), fOrdered(slots == 1 && !ROOT::IsImplicitMTEnabled()), fSlots(slots)
{
   for (const auto &file : origin.fFiles)
      fFiles.emplace(file, fFiles.size());
}

void OrderedCollector::BeginTask(TTreeReader *reader, unsigned int slot)
{
   Stash(fSlots[slot]);
   fSlots[slot].fReader = reader;
}

void OrderedCollector::BeginRow(unsigned int slot, ULong64_t entry)
{
   auto &now = fSlots[slot];
   now.fPresent = PlaceOf(now, entry);
   if (!now.fBlock)
      now.fBlock = NewBlock();
   auto &block = *now.fBlock;
   if (fOrdered && block.fRows == kBlockRows)
      HandOver(block);
   if (block.fRows++ == 0) {
      now.fFirst = now.fPresent;
      if (fInterrupt)
         fInterrupt->Check("the reading");
   }
   block.BeginRow(now.fPresent);
}

void OrderedCollector::NoteBadValue(unsigned int slot, const ColumnTarget &target, const std::string &value)
{
   auto &now = fSlots[slot];
   auto &bad = now.fBad;
   if (bad.fCount && bad.fLast == now.fPresent)
      return;
   if (bad.fCount == 0 || now.fPresent < bad.fPlace) {
      TTree *tree = TreeOf(now);
      const auto entry = tree && tree->GetTree() ? tree->GetTree()->GetReadEntry() : now.fPresent.second;
      bad.fText = DescribeBad(target, value, std::to_string(entry), FileOf(tree));
      bad.fPlace = now.fPresent;
   }
   bad.fLast = now.fPresent;
   ++bad.fCount;
}

void OrderedCollector::CheckValues(const std::string &source) const
{
   const BadValue *first = nullptr;
   std::size_t count = 0;
   for (const auto &slot : fSlots) {
      count += slot.fBad.fCount;
      if (slot.fBad.fCount && (!first || slot.fBad.fPlace < first->fPlace))
         first = &slot.fBad;
   }
   if (!first)
      return;
   std::ostringstream text;
   text << first->fText << " (" << source << "; " << count << (count == 1 ? " event" : " events")
        << " with such values). " << Remedy();
   throw std::runtime_error(text.str());
}

std::size_t OrderedCollector::Finish(const std::string &source)
{
   CheckValues(source);
   for (auto &slot : fSlots)
      Stash(slot);
   for (auto &placed : fBlocks)
      HandOver(*placed.second);
   fBlocks.clear();
   return fRows;
}

Place_t OrderedCollector::PlaceOf(const Slot &slot, ULong64_t entry) const
{
   if (!slot.fReader)
      return {0, entry};
   // Tasks of several threads count the entries of their own files, in the order in which they start.
   TTree *tree = slot.fReader->GetTree();
   std::size_t file = 0;
   if (auto chain = dynamic_cast<TChain *>(tree)) {
      const auto *element = chain->GetListOfFiles()->First();
      const auto found = element ? fFiles.find(element->GetTitle()) : fFiles.end();
      file = found == fFiles.end() ? fFiles.size() : found->second;
   }
   return {file, static_cast<ULong64_t>(tree->GetReadEntry())};
}

TTree *OrderedCollector::TreeOf(const Slot &slot) const
{
   return slot.fReader ? slot.fReader->GetTree() : fTree;
}

void OrderedCollector::HandOver(Block &block)
{
   fRows += block.fRows;
   Append(block);
   block.fRows = 0;
}

void OrderedCollector::Stash(Slot &slot)
{
   if (!slot.fBlock || slot.fBlock->fRows == 0)
      return;
   if (fOrdered)
      return HandOver(*slot.fBlock); // the next file of a chain: its rows follow these
   const std::lock_guard<std::mutex> lock(fMutex);
   fBlocks.emplace(slot.fFirst, std::move(slot.fBlock));
}

} // namespace Internal
} // namespace CladTorch
