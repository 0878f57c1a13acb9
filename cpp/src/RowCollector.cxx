#include "RowCollector.hxx"

#include <TChain.h>
#include <TFile.h>
#include <TTree.h>
#include <TTreeReader.h>

#include <sstream>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {
/// Rows handed over at a time; a block of 30 features then stays in a level-2 cache.
constexpr std::size_t kBlockRows = 2048;

/// The file that is read now; "" for a tree in memory.
std::string FileOf(TTree *tree)
{
   const TFile *file = tree ? tree->GetCurrentFile() : nullptr;
   return file ? file->GetName() : "";
}

std::string Describe(const ColumnTarget &target, double value, const std::string &entry, const std::string &file)
{
   const char *const parts[] = {"column", "label column", "weight column"};
   std::ostringstream text;
   text << parts[target.fPart] << " '" << target.fName << "' holds " << value << " in entry " << entry;
   if (!file.empty())
      text << " of " << file;
   return text.str();
}
} // namespace

RowCollector::RowCollector(Core::Dataset &data, std::size_t width, unsigned int slots, TTree *tree,
                           const std::vector<std::string> &files, double label)
   : fData(data),
     fWidth(width),
     fTree(tree),
     fLabel(static_cast<float>(label)),
     fOrdered(slots == 1 && !ROOT::IsImplicitMTEnabled()),
     fSlots(slots)
{
   for (const auto &file : files)
      fFiles.emplace(file, fFiles.size());
}

void RowCollector::BeginTask(TTreeReader *reader, unsigned int slot)
{
   Stash(fSlots[slot]);
   fSlots[slot].fReader = reader;
}

void RowCollector::BeginRow(unsigned int slot, ULong64_t entry)
{
   auto &now = fSlots[slot];
   auto &block = now.fBlock;
   now.fPresent = PlaceOf(now, entry);
   if (fOrdered && block.fLabels.size() == kBlockRows)
      Append(block);
   if (block.fLabels.empty())
      now.fFirst = now.fPresent;
   block.fFeatures.resize(block.fFeatures.size() + fWidth);
   block.fLabels.push_back(fLabel);
   block.fWeights.push_back(1);
}

float *RowCollector::Row(unsigned int slot, const ColumnTarget &target)
{
   auto &block = fSlots[slot].fBlock;
   switch (target.fPart) {
   case ColumnTarget::kLabel: return &block.fLabels.back();
   case ColumnTarget::kWeight: return &block.fWeights.back();
   default: return block.fFeatures.data() + block.fFeatures.size() - fWidth + target.fOffset;
   }
}

void RowCollector::NoteBadValue(unsigned int slot, const ColumnTarget &target, double value)
{
   auto &now = fSlots[slot];
   auto &bad = now.fBad;
   if (bad.fCount && bad.fLast == now.fPresent)
      return;
   if (bad.fCount == 0 || now.fPresent < bad.fPlace) {
      TTree *tree = TreeOf(now);
      const auto entry = tree && tree->GetTree() ? tree->GetTree()->GetReadEntry() : now.fPresent.second;
      bad.fText = Describe(target, value, std::to_string(entry), FileOf(tree));
      bad.fPlace = now.fPresent;
   }
   bad.fLast = now.fPresent;
   ++bad.fCount;
}

std::size_t RowCollector::Finish(const std::string &source)
{
   const BadValue *first = nullptr;
   std::size_t count = 0;
   for (const auto &slot : fSlots) {
      count += slot.fBad.fCount;
      if (slot.fBad.fCount && (!first || slot.fBad.fPlace < first->fPlace))
         first = &slot.fBad;
   }
   if (first) {
      std::ostringstream text;
      text << first->fText << " (" << source << "; " << count << (count == 1 ? " event" : " events")
           << " with such values). Features, labels and weights have to be finite as float32: cut these events away "
              "or define a column that replaces them";
      throw std::runtime_error(text.str());
   }
   for (auto &slot : fSlots)
      Stash(slot);
   for (auto &placed : fBlocks)
      Append(placed.second);
   fBlocks.clear();
   return fRows;
}

RowCollector::Place_t RowCollector::PlaceOf(const Slot &slot, ULong64_t entry) const
{
   if (!slot.fReader)
      return {0, entry};
   // Tasks of several threads number the entries of their own files, in the order in which they start.
   TTree *tree = slot.fReader->GetTree();
   std::size_t file = 0;
   if (auto chain = dynamic_cast<TChain *>(tree)) {
      const auto *element = chain->GetListOfFiles()->First();
      const auto found = element ? fFiles.find(element->GetTitle()) : fFiles.end();
      file = found == fFiles.end() ? fFiles.size() : found->second;
   }
   return {file, static_cast<ULong64_t>(tree->GetReadEntry())};
}

TTree *RowCollector::TreeOf(const Slot &slot) const
{
   return slot.fReader ? slot.fReader->GetTree() : fTree;
}

void RowCollector::Append(Block &block)
{
   Core::dataset_append(fData, Slice(block.fFeatures), Slice(block.fLabels), Slice(block.fWeights));
   fRows += block.fLabels.size();
   block.fFeatures.clear();
   block.fLabels.clear();
   block.fWeights.clear();
}

void RowCollector::Stash(Slot &slot)
{
   if (slot.fBlock.fLabels.empty())
      return;
   const std::lock_guard<std::mutex> lock(fMutex);
   fBlocks.emplace(slot.fFirst, std::move(slot.fBlock));
   slot.fBlock = Block();
}

} // namespace Internal
} // namespace CladTorch
