#include "Source.hxx"

#include "ColumnType.hxx"
#include "Frame.hxx"
#include "RowCollector.hxx"

#include <ROOT/InternalTreeUtils.hxx>
#include <ROOT/RDF/RActionImpl.hxx>
#include <TChain.h>
#include <TTree.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

/// Starts each row; booked before the columns, because actions run in the order of booking.
class RowAction : public ROOT::Detail::RDF::RActionImpl<RowAction> {
public:
   using Result_t = RowCollector;

   explicit RowAction(std::shared_ptr<RowCollector> collector) : fCollector(std::move(collector)) {}
   RowAction(RowAction &&) = default;

   std::shared_ptr<RowCollector> GetResultPtr() const { return fCollector; }
   std::string GetActionName() const { return "CladTorch::Row"; }
   void Initialize() {}
   void InitTask(TTreeReader *reader, unsigned int slot) { fCollector->BeginTask(reader, slot); }
   void Exec(unsigned int slot, ULong64_t entry) { fCollector->BeginRow(slot, entry); }
   void Finalize() {}

private:
   std::shared_ptr<RowCollector> fCollector;
};

/// Keeps the dataset whole: what has not been committed is rolled back.
class Transaction {
public:
   Transaction(Core::Dataset &data, const std::string &source) : fData(data) { Core::dataset_begin(fData, source); }
   Transaction(const Transaction &) = delete;
   ~Transaction()
   {
      if (!fDone)
         Core::dataset_rollback(fData);
   }
   void Commit()
   {
      Core::dataset_commit(fData);
      fDone = true;
   }

private:
   Core::Dataset &fData;
   bool fDone = false;
};

std::vector<ColumnTarget> Targets(const Core::Dataset &data, const Selection &selection)
{
   std::vector<ColumnTarget> targets;
   std::size_t offset = 0;
   for (const auto &column : Core::dataset_columns(data)) {
      const std::string name(column.name);
      targets.push_back({name, ColumnTarget::kFeatures, offset, column.length, column.pad,
                         selection.fScalars.count(name) > 0});
      offset += column.length;
   }
   if (!selection.fLabelColumn.empty())
      targets.push_back({selection.fLabelColumn, ColumnTarget::kLabel});
   if (!selection.fWeight.empty())
      targets.push_back({selection.fWeight, ColumnTarget::kWeight});
   return targets;
}

/// Scalars take one number; a longer row needs a column of several.
void CheckShape(const ColumnType &type, const ColumnTarget &target, const std::string &name, const std::string &source)
{
   if (type.fScalar && target.fLength > 1)
      throw std::runtime_error("column '" + target.fName + "' of " + source + " is a scalar (" + name + "), but " +
                               std::to_string(target.fLength) + " numbers an event were asked for");
   if (!type.fScalar && target.fScalar)
      throw std::runtime_error("column '" + target.fName + "' of " + source + " has several numbers an event (" + name +
                               "): " +
                               (target.fPart == ColumnTarget::kFeatures
                                   ? "give their number with Dataset::Column(\"" + target.fName + "\", length)"
                                   : "labels and weights need one, define a scalar column from it"));
}

/// The functions for each target's column; throws for a column that is missing or of another kind.
std::vector<const ColumnType *>
Types(ROOT::RDF::RNode frame, const std::vector<ColumnTarget> &targets, const std::string &source)
{
   std::vector<const ColumnType *> types;
   for (const auto &target : targets) {
      const auto name = TypeOfColumn(frame, target.fName, source);
      types.push_back(&FindColumnType(name, target.fName, source));
      CheckShape(*types.back(), target, name, source);
   }
   return types;
}

ROOT::RDF::RNode Filtered(ROOT::RDF::RNode frame, const std::string &cut)
{
   return cut.empty() ? frame : ROOT::RDF::RNode(frame.Filter(cut));
}

/// Files in their order; empty where the source is no tree, or one in memory.
std::vector<std::string> FilesOf(TTree *tree)
{
   if (!tree || (!tree->InheritsFrom(TChain::Class()) && !tree->GetCurrentFile()))
      return {};
   return ROOT::Internal::TreeUtils::GetFileNamesFromTree(*tree);
}

/// Adds the source, and the cut that may be to blame, to what ROOT says.
[[noreturn]] void Explain(const std::exception &e, const std::string &source, const std::string &cut)
{
   std::string text = "reading " + source;
   if (!cut.empty())
      text += " with the cut '" + cut + "'";
   std::string what = e.what(); // may begin and end with empty lines
   what.erase(0, what.find_first_not_of('\n'));
   what.erase(what.find_last_not_of('\n') + 1);
   throw std::runtime_error(text + ": " + what);
}

} // namespace

void ReadSource(Core::Dataset &data, ROOT::RDF::RNode frame, const Selection &selection)
{
   const auto source = Describe(frame);
   const auto targets = Targets(data, selection);
   if (!std::isfinite(selection.fLabel))
      throw std::runtime_error("the label of " + source + " is not a finite number");
   TTree *tree = TreeOf(frame);
   Transaction transaction(data, source);
   const auto collector = std::make_shared<RowCollector>(data, Core::dataset_width(data), frame.GetNSlots(), tree,
                                                         FilesOf(tree), selection.fLabel);
   const auto types = Types(frame, targets, source); // before the interpreter sees the cut
   try {
      auto selected = Filtered(frame, selection.fCut);
      std::vector<ROOT::RDF::RResultPtr<RowCollector>> results{
         selected.Book<ULong64_t>(RowAction(collector), {"rdfentry_"})};
      for (std::size_t i = 0; i < targets.size(); ++i)
         results.push_back(types[i]->fBook(selected, collector, targets[i]));
      results.front().GetValue(); // one event loop for all
   } catch (const std::exception &e) {
      Explain(e, source, selection.fCut);
   }
   if (collector->Finish(source) == 0)
      throw std::runtime_error(selection.fCut.empty()
                                  ? source + " has no events"
                                  : "no event of " + source + " passes the cut '" + selection.fCut + "'");
   transaction.Commit();
}

} // namespace Internal
} // namespace CladTorch
