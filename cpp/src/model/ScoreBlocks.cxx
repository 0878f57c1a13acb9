#include "ScoreBlocks.hxx"

#include "Expression.hxx"
#include "Frame.hxx"
#include "Interrupt.hxx"
#include "Resolve.hxx"
#include "ReadSource.hxx"
#include "TreeColumn.hxx"

#include <TFile.h>
#include <TTree.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

/// Entries that are predicted together if single ones are requested, and the largest number of tiles if all are. Tiles
/// begin at multiples of their length, wherever baskets end: a row has the same neighbours in each run.
constexpr std::size_t kTile = 64, kMostTiles = 128;
/// Entries of a block, if its baskets allow, and the most values that it may have.
constexpr std::uint64_t kBlock = 1 << 16, kMostNumbers = 1 << 24;

/// The ends of blocks: at ends of baskets, or after `most` entries.
std::vector<std::uint64_t> BlockEnds(const ReaderPlan &plan, std::uint64_t most)
{
   std::vector<std::uint64_t> ends;
   std::uint64_t first = 0, last = 0; // of the growing block
   const auto close = [&] {
      for (; first < last; first = ends.back())
         ends.push_back(std::min(first + most, last));
   };
   for (std::size_t file = 0; file < plan.fFiles.size(); ++file) {
      for (const auto end : Core::tree_file_common_ends(*plan.fFiles[file])) {
         const auto next = plan.fStarts[file] + end;
         if (next - first > std::min(kBlock, most))
            close();
         last = next;
      }
      close(); // no block crosses into the next file
   }
   return ends;
}

std::size_t FileOf(const ReaderPlan &plan, std::uint64_t entry)
{
   const auto behind = std::upper_bound(plan.fStarts.begin(), plan.fStarts.end(), entry);
   return static_cast<std::size_t>(behind - plan.fStarts.begin()) - 1;
}

/// Why the columns of a model in the data frame are not plain columns of a tree; "" if they are.
std::string WhyNotOfTree(ROOT::RDF::RNode frame, const std::vector<ColumnTarget> &targets)
{
   for (auto target : targets) {
      const auto column = "the column '" + target.fName + "' ";
      if (!frame.HasColumn(NameInFrame(frame, target.fColumn)))
         return column + "is an expression";
      if (Varies(frame, target.fColumn))
         return column + "has variations";
      target.fOfObjects = target.fScalar;
      if (!Resolve(frame, target, Describe(frame)).fScalar && target.fScalar)
         return column + "is a list";
   }
   return "";
}

/// Why entries do not identify the events of `frame`; "" if they do.
std::string WhyNotByEntry(const ROOT::RDF::RNode &frame)
{
   TTree *tree = TreeOf(frame);
   if (!tree)
      return "the data frame reads no tree";
   if (!*tree->GetName())
      return "the data frame was made of a specification";
   return frame.GetNSlots() > 1 ? "the data frame has several threads" : "";
}

} // namespace

ScoreBlocks::ScoreBlocks(std::shared_ptr<const ModelData> model, std::string where, TTree *tree,
                         rust::Vec<Core::ColumnSpec> columns, ReaderPlan plan)
   : fModel(std::move(model)),
     fWhere(std::move(where)),
     fTree(tree),
     fColumns(std::move(columns)),
     fPlan(std::move(plan)),
     fInputs(Core::model_inputs(*fModel->fCore)),
     fOutputs(Core::model_outputs(*fModel->fCore))
{
   fEnds = BlockEnds(fPlan, std::max<std::uint64_t>(kMostNumbers / std::max(fInputs, fOutputs), kTile));
}

const float *ScoreBlocks::At(std::uint64_t entry)
{
   if (fTree->GetEntryList() || static_cast<std::uint64_t>(fTree->GetReadEntry()) != entry)
      throw Error(fWhere + ": the event loop counts entry " + std::to_string(entry) + " where the tree has loaded entry " +
                  std::to_string(fTree->GetReadEntry()) + (fTree->GetEntryList() ? " of an entry list" : "") +
                  ": use Define(), which scores event by event");
   if (entry < fFirst || entry >= fLast)
      Load(entry);
   else if (entry <= fPrevious)
      CheckTree(entry); // another run of the loop
   fPrevious = entry;
   const auto row = static_cast<std::size_t>(entry - fFirst);
   if (!fDone[row / kTile])
      Predict(row / kTile);
   return fScores.data() + row * fOutputs;
}

/// The loaded tree must be that of the file which the plan has at `entry`, at the same place.
void ScoreBlocks::CheckTree(std::uint64_t entry) const
{
   TTree *loaded = LoadedTree(*fTree);
   const auto file = entry < fPlan.Entries() ? FileOf(fPlan, entry) : fPlan.fFiles.size();
   if (file < fPlan.fFiles.size() && loaded && loaded->GetCurrentFile() &&
       std::string(Core::tree_file_path(*fPlan.fFiles[file])) == loaded->GetCurrentFile()->GetName() &&
       static_cast<std::uint64_t>(loaded->GetReadEntry()) == entry - fPlan.fStarts[file] &&
       static_cast<std::uint64_t>(loaded->GetEntries()) == fPlan.fStarts[file + 1] - fPlan.fStarts[file])
      return;
   throw std::runtime_error("entry " + std::to_string(entry) + " is not where it was when the column was defined, which is of " +
                            std::to_string(fPlan.Entries()) + " entries: the tree, its files or its entry list have changed since; "
                            "define the column again");
}

void ScoreBlocks::Load(std::uint64_t entry)
{
   LongCall(fWhere, [&] {
      CheckTree(entry);
      const auto end = std::upper_bound(fEnds.begin(), fEnds.end(), entry);
      const auto behind = end == fEnds.begin() ? 0 : *(end - 1), last = *end, first = behind / kTile * kTile;
      const bool follows = fLast == behind && fFirst < fLast;
      const auto kept = follows ? Features(first, behind) : std::vector<float>();
      fRun = follows && fNext == fDone.size() ? fRun : 1;
      fFirst = fLast = 0; // in case the reading fails
      if (fEvents)
         Core::dataset_rollback(**fEvents); // the memory stays
      else
         fEvents.emplace(Core::dataset_new(fColumns));
      Core::dataset_begin(**fEvents, fWhere, {});
      const std::vector<float> nothing(kept.size() / fInputs);
      Core::dataset_append(**fEvents, Slice(kept), Slice(nothing), Slice(nothing));
      const auto begin = first + nothing.size();
      Core::dataset_append_empty(**fEvents, last - begin, 0);
      fPlan.FillBetween(**fEvents, begin, last, Threads(0), nothing.size());
      fScores.resize((last - first) * fOutputs);
      fDone.assign((last - first + kTile - 1) / kTile, 0);
      fNext = 0;
      fFirst = first;
      fLast = last;
      TellUnlike(*fModel, {Core::dataset_open_features(**fEvents).data(), (last - first) * fInputs});
   }, "the reading");
}

/// For entries of the present block.
std::vector<float> ScoreBlocks::Features(std::uint64_t first, std::uint64_t last) const
{
   const auto *features = Core::dataset_open_features(**fEvents).data();
   return {features + (first - fFirst) * fInputs, features + (last - fFirst) * fInputs};
}

/// Tiles requested one after the other are predicted ahead, more and more at once.
void ScoreBlocks::Predict(std::size_t tile)
{
   LongCall(fWhere, [&] {
      fRun = tile == fNext ? std::min(2 * fRun, kMostTiles) : 1;
      const auto begin = fDone.begin() + static_cast<std::ptrdiff_t>(tile);
      const auto most = begin + static_cast<std::ptrdiff_t>(std::min(fRun, fDone.size() - tile));
      const auto end = std::find(begin, most, 1);
      fNext = tile + static_cast<std::size_t>(end - begin);
      const auto first = tile * kTile, last = std::min<std::size_t>(fNext * kTile, fLast - fFirst);
      const auto features = Core::dataset_open_features(**fEvents);
      Core::model_predict_rows(*fModel->fCore, {features.data() + first * fInputs, (last - first) * fInputs}, Threads(0),
                               {fScores.data() + first * fOutputs, (last - first) * fOutputs});
      std::fill(begin, end, 1);
   }, "the prediction");
}

std::shared_ptr<ScoreBlocks> MakeScoreBlocks(const ROOT::RDF::RNode &frame, std::shared_ptr<const ModelData> model,
                                             const std::string &where, std::string &reason)
{
   if (!Core::model_predicts_alike(*model->fCore)) {
      reason = "LibTorch runs the network";
      return nullptr;
   }
   const auto source = Describe(frame);
   const Reading reading{source, "", Targets(source, Core::model_columns(*model->fCore), {})};
   reason = WhyNotByEntry(frame);
   if (reason.empty())
      reason = WhyNotOfTree(frame, reading.fTargets);
   if (!reason.empty())
      return nullptr;
   auto plan = PlanReaders(frame, reading, kAutoReader);
   for (std::size_t i = 0; i < plan.fReasons.size(); ++i)
      if (!plan.fReasons[i].empty()) {
         reason = "the column '" + reading.fTargets[i].fName + "' is left to ROOT's reader (" + plan.fReasons[i] + ")";
         return nullptr;
      }
   return std::make_shared<ScoreBlocks>(model, where, TreeOf(frame), Core::model_columns(*model->fCore), std::move(plan));
}

} // namespace Internal
} // namespace CladTorch
