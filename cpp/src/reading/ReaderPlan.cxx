#include "ReaderPlan.hxx"

#include "BranchLayout.hxx"
#include "Frame.hxx"
#include "Resolve.hxx"
#include "RootChecks.hxx"
#include "TreeColumn.hxx"

#include <TChain.h>
#include <TChainElement.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

/// Leaves every target without a reason to ROOT.
void LeaveAll(ReaderPlan &plan, const std::string &reason)
{
   for (auto &each : plan.fReasons)
      if (each.empty())
         each = reason;
}

bool NoneFast(const ReaderPlan &plan)
{
   return std::none_of(plan.fReasons.begin(), plan.fReasons.end(), [](const auto &reason) { return reason.empty(); });
}

/// Adds the tree of one file to the plan.
void AddFile(ReaderPlan &plan, const TFile *file, TTree &tree, const std::vector<ColumnTarget> &targets)
{
   const auto reason = WhyNotFast(file, tree);
   if (!reason.empty())
      return LeaveAll(plan, reason);
   const auto entries = static_cast<std::uint64_t>(tree.GetEntries());
   auto layout = Core::tree_file_new(file->GetName(), entries);
   for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!plan.fReasons[i].empty())
         continue;
      plan.fReasons[i] = AddToLayout(*layout, tree, targets[i]);
      if (!plan.fReasons[i].empty() && !plan.fFiles.empty())
         plan.fReasons[i] += std::string(" in ") + file->GetName();
      if (auto *branch = plan.fReasons[i].empty() ? BranchOf(tree, targets[i].fColumn) : nullptr)
         if (HasEmptyBasket(*branch))
            plan.fEmptyBaskets.insert(targets[i].fColumn);
   }
   plan.fStarts.push_back(plan.fStarts.back() + entries);
   plan.fFiles.push_back(std::move(layout));
}

void AddChain(ReaderPlan &plan, TChain &chain, const std::vector<ColumnTarget> &targets)
{
   if (chain.GetEntryList())
      return LeaveAll(plan, "the chain has an entry list");
   const TDirectory::TContext context;
   std::set<std::string> names;
   for (auto *element : TRangeDynCast<TChainElement>(chain.GetListOfFiles())) {
      const std::unique_ptr<TFile> file(element ? TFile::Open(element->GetTitle()) : nullptr);
      auto *tree = file ? file->Get<TTree>(element->GetName()) : nullptr;
      if (!tree)
         throw std::runtime_error(std::string("file ") + (element ? element->GetTitle() : "") +
                                  " cannot be opened any more, or has lost its tree");
      // ROOT's threads know the files only by their names.
      if (!names.insert(element->GetTitle()).second)
         LeaveAll(plan, "the chain has a file twice");
      AddFile(plan, file.get(), *tree, targets);
      if (NoneFast(plan))
         return;
   }
}

/// The length of the inner arrays if `column` is an array of arrays with a count; 0 for all others.
std::size_t InnerLength(const ROOT::RDF::RNode &frame, const std::string &column)
{
   TTree *tree = TreeOf(frame);
   TTree *first = tree && !IsDefined(frame, column) ? LoadedTree(*tree) : nullptr;
   TBranch *branch = first ? BranchOf(*first, NameInFrame(frame, column)) : nullptr;
   const auto *leaf = branch && branch->GetNleaves() == 1 ? static_cast<TLeaf *>(branch->GetListOfLeaves()->First()) : nullptr;
   return leaf && IsTable(*leaf) ? leaf->GetLenStatic() : 0;
}

/// Why `target` is not a plain column of a tree; "" if it is. Throws for a column of another kind than requested.
std::string WhyNotPlain(ROOT::RDF::RNode frame, ColumnTarget target, const std::string &source)
{
   const auto inner = target.fMask || target.fScalar ? 0 : InnerLength(frame, target.fColumn);
   if (inner && (target.fInner == 0 || target.fInner == inner))
      return ""; // a list of all its values, whose type no data frame knows
   if (target.fMask || target.fInner)
      return "a mask or a list of lists";
   if (!frame.HasColumn(NameInFrame(frame, target.fColumn)))
      return "an expression";
   if (target.fColumn != target.fName)
      return "a function";
   const auto defined = frame.GetDefinedColumnNames();
   if (std::find(defined.begin(), defined.end(), target.fColumn) != defined.end())
      return "defined in the data frame";
   Resolve(frame, target, source);
   return "";
}

/// Whether `file` is a name that ROOT resolves to a file of that name, and to nothing else.
bool IsPlainFile(const std::string &file)
{
   struct stat found;
   return file.find_first_of("*?[]{}#:|<>$~&;\\'\"`") == std::string::npos && stat(file.c_str(), &found) == 0 &&
          S_ISREG(found.st_mode);
}

void Demand(const ROOT::RDF::RNode &frame, const ReaderPlan &plan, const Reading &reading)
{
   for (std::size_t i = 0; i < plan.fReasons.size(); ++i) {
      if (plan.fReasons[i].empty())
         continue;
      CheckColumns(frame, {NameInFrame(frame, reading.fTargets[i].fColumn)}, reading.fSource); // ROOT may not read it either
      throw std::runtime_error("column '" + reading.fTargets[i].fName + "' of " + reading.fSource +
                               " is not for the fast reader (" + plan.fReasons[i] +
                               "): let ROOT read it, with SetReader(CladTorch::kAutoReader)");
   }
}

} // namespace

bool ReaderPlan::AllFast() const
{
   return std::all_of(fReasons.begin(), fReasons.end(), [](const auto &reason) { return reason.empty(); });
}

std::vector<ColumnTarget> ReaderPlan::Left(const std::vector<ColumnTarget> &targets) const
{
   std::vector<ColumnTarget> left;
   for (std::size_t i = 0; i < targets.size(); ++i)
      if (!fReasons[i].empty())
         left.push_back(targets[i]);
   return left;
}

std::string ReaderPlan::Describe(const std::vector<ColumnTarget> &targets) const
{
   std::map<std::string, std::string> columns; // of each reason; the fast reader's come first
   std::string alone;
   const auto append = [](std::string &list, const std::string &name) { list += (list.empty() ? "" : ", ") + name; };
   for (std::size_t i = 0; i < targets.size(); ++i) {
      append(columns[fReasons[i]], targets[i].fName);
      if (fReasons[i].empty() && fEmptyBaskets.count(targets[i].fColumn))
         append(alone, targets[i].fName);
   }
   std::string text;
   for (const auto &each : columns)
      text += each.first.empty() ? "fast reader: " + each.second + "\n"
                                 : "ROOT's reader (" + each.first + "): " + each.second + "\n";
   if (!alone.empty())
      text += "ROOT's reader would be wrong after a basket without entries: " + alone + "\n";
   return text;
}

void ReaderPlan::FillIn(Core::Dataset &data, std::vector<std::uint64_t> entries, std::size_t threads, std::size_t row) const
{
   auto first = entries.begin();
   for (std::size_t i = 0; i < fFiles.size(); ++i) {
      const auto end = std::lower_bound(first, entries.end(), fStarts[i + 1]);
      std::for_each(first, end, [&](std::uint64_t &entry) { entry -= fStarts[i]; });
      const auto before = static_cast<std::size_t>(first - entries.begin());
      if (first != end)
         Core::dataset_fill(data, *fFiles[i], {entries.data() + before, static_cast<std::size_t>(end - first)}, row + before, threads);
      first = end;
   }
   if (!fFiles.empty() && first != entries.end())
      throw std::runtime_error("ROOT gave an event of a file that is not among those of the tree");
}

void ReaderPlan::FillBetween(Core::Dataset &data, std::uint64_t first, std::uint64_t last, std::size_t threads, std::size_t row) const
{
   if (last > Entries())
      throw std::runtime_error("events up to entry " + std::to_string(last) + " of " + std::to_string(Entries()));
   for (std::size_t i = 0; i < fFiles.size(); ++i) {
      const auto start = fStarts[i], begin = std::max(first, start), end = std::min(last, fStarts[i + 1]);
      if (begin < end)
         Core::dataset_fill_between(data, *fFiles[i], begin - start, end - start, row + (begin - first), threads);
   }
}

ReaderPlan PlanReaders(const ROOT::RDF::RNode &frame, const Reading &reading, EReader reader)
{
   ReaderPlan plan;
   plan.fStarts.push_back(0);
   for (const auto &target : reading.fTargets)
      plan.fReasons.push_back(reader == kRootReader ? "as asked for" : WhyNotPlain(frame, target, reading.fSource));
   TTree *tree = TreeOf(frame);
   if (!tree)
      LeaveAll(plan, "the source is not a tree");
   else if (auto *chain = dynamic_cast<TChain *>(tree); chain && !NoneFast(plan))
      AddChain(plan, *chain, reading.fTargets);
   else if (!NoneFast(plan))
      AddFile(plan, tree->GetCurrentFile(), *tree, reading.fTargets);
   if (NoneFast(plan)) {
      plan.fFiles.clear();
      plan.fStarts.clear();
   }
   if (reader == kFastReader)
      Demand(frame, plan, reading);
   return plan;
}

std::optional<ReaderPlan>
PlanWithoutRoot(const std::string &tree, const std::string &file, const std::vector<ColumnTarget> &targets)
{
   const auto lists = [](const ColumnTarget &target) { return target.fMask || target.fInner; };
   if (!IsPlainFile(file) || std::any_of(targets.begin(), targets.end(), lists))
      return std::nullopt;
   rust::Vec<Core::TargetSpec> specs;
   for (const auto &target : targets)
      specs.push_back(ToSpec(target));
   try {
      auto described = Core::tree_file_described(file, tree, specs);
      const auto entries = Core::tree_file_entries(*described);
      if (entries == 0)
         return std::nullopt;
      ReaderPlan plan;
      plan.fReasons.resize(targets.size());
      plan.fStarts = {0, entries};
      plan.fFiles.push_back(std::move(described));
      return plan;
   } catch (const rust::Error &) { // ROOT can read it, or gives a better message
      return std::nullopt;
   }
}

} // namespace Internal
} // namespace CladTorch
