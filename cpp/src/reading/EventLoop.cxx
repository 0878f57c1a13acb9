#include "EventLoop.hxx"

#include <CladTorch/Guard.hxx>

#include "Expression.hxx"
#include "Frame.hxx"
#include "Resolve.hxx"
#include "RootChecks.hxx"

#include <ROOT/InternalTreeUtils.hxx>
#include <ROOT/RDF/RActionImpl.hxx>
#include <TChain.h>
#include <TFile.h>
#include <TFriendElement.h>
#include <TTree.h>

#include <sys/stat.h>

#include <set>
#include <stdexcept>
#include <string>

namespace CladTorch {
namespace Internal {

namespace {

/// Starts each row; booked before the columns, because actions run in the order of booking.
class RowAction : public ROOT::Detail::RDF::RActionImpl<RowAction> {
public:
   using Result_t = Collector;

   explicit RowAction(std::shared_ptr<Collector> collector) : fCollector(std::move(collector)) {}
   RowAction(RowAction &&) = default;

   std::shared_ptr<Collector> GetResultPtr() const { return fCollector; }
   std::string GetActionName() const { return "CladTorch::Row"; }
   void Initialize() {}
   void InitTask(TTreeReader *reader, unsigned int slot) { fCollector->BeginTask(reader, slot); }
   void Exec(unsigned int slot, ULong64_t entry) { fCollector->BeginRow(slot, entry); }
   void Finalize() {}

private:
   std::shared_ptr<Collector> fCollector;
};

/// If a local file was truncated after it had been opened, ROOT interprets arbitrary memory as baskets, and may crash.
void CheckNotCut(const TFile *file)
{
   struct stat now;
   // Files of other classes may have a number there that is not a descriptor.
   if (!file || file->IsA() != TFile::Class() || file->GetArchive() || file->IsWritable() || file->GetFd() < 0 ||
       fstat(file->GetFd(), &now) != 0 || now.st_size >= file->GetEND())
      return;
   throw std::runtime_error(std::string(file->GetName()) + " has " + std::to_string(now.st_size) + " of the " +
                            std::to_string(file->GetEND()) +
                            " bytes that it had when it was opened: open it again after the writer has finished");
}

/// The file of a tree, and those of its friends, if they are open.
void CheckFilesOf(TTree *tree)
{
   if (!tree)
      return;
   CheckNotCut(tree->GetCurrentFile());
   const auto *friends = tree->GetListOfFriends();
   for (int i = 0; friends && i < friends->GetSize(); ++i)
      if (auto *other = static_cast<TFriendElement *>(friends->At(i))->GetTree())
         CheckNotCut(other->GetCurrentFile());
}

/// Adds the source, and the cut that may be to blame, to ROOT's message; `faults` describes the faults of the cut.
[[noreturn]] void Explain(const std::exception &e, const Reading &reading, const std::string &faults = "")
{
   std::string text = "reading " + reading.fSource;
   if (!reading.fCut.empty())
      text += " with the cut '" + reading.fCut + "'" + faults;
   std::string what = e.what(); // may begin and end with empty lines
   what.erase(0, what.find_first_not_of('\n'));
   what.erase(what.find_last_not_of('\n') + 1);
   throw std::runtime_error(text + ": " + what);
}

/// The events that pass the cut of `reading`.
/// \param reads Receives the columns that the cut reads.
ROOT::RDF::RNode Filtered(ROOT::RDF::RNode frame, const Reading &reading, std::set<std::string> &reads)
{
   if (reading.fCut.empty())
      return frame;
   std::string code;
   try {
      code = ToCpp(frame, reading.fCut, reads);
   } catch (const std::exception &e) {
      Explain(e, reading);
   }
   try {
      return frame.Filter(code);
   } catch (const std::exception &e) {
      Explain(e, reading, LikelyFaults(frame, reading.fCut));
   }
}

/// The user's code that may have thrown.
std::string WhereThrown(const Reading &reading)
{
   std::string list;
   for (const auto &target : reading.fTargets)
      if (!IsPlainName(target.fName))
         list += (list.empty() ? "'" : ", '") + target.fName + "'";
   if (!reading.fCut.empty())
      return list.empty() ? "by the cut" : "by the cut or by one of the expressions " + list;
   return list.empty() ? "by a function of the data frame" : "by one of the expressions " + list;
}

} // namespace

Origin OriginOf(const ROOT::RDF::RNode &frame, const std::string &source)
{
   TTree *tree = TreeOf(frame);
   if (!tree)
      return {};
   if (tree->GetEntryList() && frame.GetNSlots() > 1)
      throw std::runtime_error(source + " has an entry list, of which ROOT loses entries on several threads: give the "
                               "tree itself to Add, or make the data frame before ROOT::EnableImplicitMT");
   if (!tree->InheritsFrom(TChain::Class()) && !tree->GetCurrentFile())
      return {tree, {}};
   return {tree, ROOT::Internal::TreeUtils::GetFileNamesFromTree(*tree)};
}

ROOT::RDF::RNode Selected(ROOT::RDF::RNode frame, const std::string &cut)
{
   const Reading reading{Describe(frame), cut, {}};
   std::set<std::string> reads;
   auto selected = Filtered(frame, reading, reads);
   try {
      CheckColumns(frame, reads, reading.fSource);
   } catch (const std::exception &e) {
      Explain(e, reading);
   }
   return selected;
}

PreparedLoop::PreparedLoop(ROOT::RDF::RNode frame, const Reading &reading) : fReading(reading), fSelected(frame)
{
   std::set<std::string> reads;
   for (auto &target : fReading.fTargets) { // before the interpreter sees the cut
      fTypes.push_back(&Resolve(frame, target, reading.fSource));
      reads.insert(target.fReads.begin(), target.fReads.end());
   }
   fSelected = Filtered(frame, reading, reads);
   CheckColumns(frame, reads, reading.fSource);
}

std::size_t PreparedLoop::Run(std::shared_ptr<OrderedCollector> collector)
{
   try {
      CheckFilesOf(TreeOf(fSelected));
      std::vector<ROOT::RDF::RResultPtr<Collector>> results{
         fSelected.Book<ULong64_t>(RowAction(collector), {"rdfentry_"})};
      for (std::size_t i = 0; i < fTypes.size(); ++i)
         results.push_back(fTypes[i]->fBook(fSelected, collector, fReading.fTargets[i]));
      results.front().GetValue(); // one event loop for all
   } catch (const std::exception &e) {
      Explain(e, fReading);
   } catch (...) {
      Explain(std::runtime_error(DescribeThrown() + " was thrown, " + WhereThrown(fReading)), fReading);
   }
   return collector->Finish(fReading.fSource);
}

void RunEventLoop(ROOT::RDF::RNode frame, const Reading &reading, std::shared_ptr<OrderedCollector> collector)
{
   if (PreparedLoop(frame, reading).Run(std::move(collector)) == 0)
      throw std::runtime_error(reading.fCut.empty()
                                  ? reading.fSource + " has no events"
                                  : "no event of " + reading.fSource + " passes the cut '" + reading.fCut + "'");
}

} // namespace Internal
} // namespace CladTorch
