#include "Source.hxx"

#include "EventLoop.hxx"
#include "Frame.hxx"
#include "RowCollector.hxx"

#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

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

ColumnTarget ScalarTarget(const std::string &name, ColumnTarget::EPart part)
{
   ColumnTarget target;
   target.fName = target.fColumn = name;
   target.fPart = part;
   return target;
}

std::vector<ColumnTarget> Targets(const Core::Dataset &data, const Selection &selection)
{
   std::vector<ColumnTarget> targets;
   std::size_t offset = 0;
   for (const auto &column : Core::dataset_columns(data)) {
      targets.push_back(FeatureTarget(column, offset));
      targets.back().fScalar = selection.fScalars.count(targets.back().fName) > 0;
      offset += column.length;
   }
   if (!selection.fLabelColumn.empty())
      targets.push_back(ScalarTarget(selection.fLabelColumn, ColumnTarget::kLabel));
   if (!selection.fWeight.empty())
      targets.push_back(ScalarTarget(selection.fWeight, ColumnTarget::kWeight));
   return targets;
}

} // namespace

ColumnTarget FeatureTarget(const Core::ColumnSpec &column, std::size_t offset)
{
   ColumnTarget target;
   target.fName = std::string(column.name);
   target.fMask = !column.mask_of.empty();
   target.fColumn = target.fMask ? std::string(column.mask_of) : target.fName;
   target.fOffset = offset;
   target.fLength = column.length;
   target.fInner = column.inner;
   target.fPad = column.pad;
   target.fScalar = false;
   return target;
}

void ReadSource(Core::Dataset &data, ROOT::RDF::RNode frame, const Selection &selection)
{
   const Reading reading{Describe(frame), selection.fCut, Targets(data, selection)};
   if (!std::isfinite(selection.fLabel))
      throw std::runtime_error("the label of " + reading.fSource + " is not a finite number");
   Transaction transaction(data, reading.fSource);
   RunEventLoop(frame, reading,
                std::make_shared<RowCollector>(data, Core::dataset_width(data), frame.GetNSlots(),
                                               OriginOf(frame, reading.fSource), selection.fLabel));
   transaction.Commit();
}

} // namespace Internal
} // namespace CladTorch
