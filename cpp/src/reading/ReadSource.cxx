#include "ReadSource.hxx"

#include "EventLoop.hxx"
#include "Interrupt.hxx"
#include "Expression.hxx"
#include "Frame.hxx"
#include "OpenSource.hxx"
#include "ReaderPlan.hxx"
#include "RowCollector.hxx"

#include <TError.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

ColumnTarget ScalarTarget(const std::string &name, ColumnTarget::EPart part)
{
   ColumnTarget target;
   target.fName = target.fColumn = name;
   target.fPart = part;
   return target;
}

void CheckLabel(const Label &label, const std::string &source)
{
   if (!std::isfinite(label.Number()))
      throw std::runtime_error("the label of " + source + " is not a finite number");
   if (!label.IsNumber() && label.Columns().empty())
      throw std::runtime_error("the list of label columns is empty: name a column for each target");
   for (const auto &column : label.Columns())
      if (column.empty())
         throw std::runtime_error("the name of the label column is empty");
}

} // namespace

void WarnOfLabels(const std::vector<ColumnTarget> &targets, const Label &label)
{
   const auto &labels = label.Columns();
   for (const auto &target : targets)
      if (target.fPart == ColumnTarget::kFeatures &&
          std::find(labels.begin(), labels.end(), target.fName) != labels.end())
         ::Warning("CladTorch::Dataset::Add",
                   "the label column '%s' is also a feature, so the network sees the answer",
                   target.fName.c_str());
}

std::vector<ColumnTarget>
Targets(const std::string &source, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection)
{
   std::vector<ColumnTarget> targets;
   std::size_t offset = 0;
   for (const auto &column : columns) {
      targets.push_back(FeatureTarget(column, offset));
      offset += column.length;
   }
   CheckLabel(selection.fLabel, source);
   const auto &labels = selection.fLabel.Columns();
   for (std::size_t i = 0; i < labels.size(); ++i) {
      targets.push_back(ScalarTarget(labels[i], ColumnTarget::kLabel));
      targets.back().fOffset = i;
   }
   if (!selection.fWeight.fText.empty())
      targets.push_back(ScalarTarget(selection.fWeight.fText, ColumnTarget::kWeight));
   return targets;
}

std::vector<ColumnTarget>
Targets(ROOT::RDF::RNode &frame, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection)
{
   auto targets = Targets(Describe(frame), columns, selection);
   WarnOfLabels(targets, selection.fLabel);
   if (selection.fWeight.fDefine) {
      auto &weight = targets.back();
      weight.fColumn = HiddenName();
      frame = selection.fWeight.fDefine(frame, weight.fColumn);
   }
   return targets;
}

namespace {

/// Appends all entries; the fast reader reads all of their columns.
void ReadWhole(Core::Dataset &data, const ReaderPlan &plan, double label, const InterruptScope &interrupt)
{
   Core::dataset_reserve(data, static_cast<std::size_t>(plan.Entries()));
   for (const auto &file : plan.fFiles) {
      Core::dataset_read(data, *file, static_cast<float>(label), Threads(0));
      interrupt.Check("the reading");
   }
}

/// Reads the whole tree of a local file without ROOT; false, with nothing done, if that is impossible.
bool ReadWithoutRoot(Core::Dataset &data, const SourceData &source, const Selection &selection,
                     const InterruptScope &interrupt)
{
   if (source.fFile.empty() || !selection.fCut.empty() || selection.fWeight.fDefine || selection.fReader == kRootReader)
      return false;
   const auto name = "tree '" + source.fName + "' of " + source.fFile;
   const auto targets = Targets(name, Core::dataset_columns(data), selection);
   const auto plan = PlanWithoutRoot(source.fName, source.fFile, targets);
   if (!plan)
      return false;
   WarnOfLabels(targets, selection.fLabel);
   Transaction transaction(data, name, selection.fLabel);
   Core::dataset_note(data, plan->Describe(targets));
   ReadWhole(data, *plan, selection.fLabel.Number(), interrupt);
   transaction.Commit();
   return true;
}

void ReadFrame(Core::Dataset &data, ROOT::RDF::RNode frame, const Selection &selection, const InterruptScope &interrupt)
{
   Reading reading{Describe(frame), selection.fCut, Targets(frame, Core::dataset_columns(data), selection)};
   const auto origin = OriginOf(frame, reading.fSource);
   const auto plan = PlanReaders(frame, reading, selection.fReader);
   Transaction transaction(data, reading.fSource, selection.fLabel);
   Core::dataset_note(data, plan.Describe(reading.fTargets));
   if (plan.AllFast() && selection.fCut.empty() && ReadsWhole(frame)) {
      ReadWhole(data, plan, selection.fLabel.Number(), interrupt);
   } else {
      reading.fTargets = plan.Left(reading.fTargets);
      const auto collector = std::make_shared<RowCollector>(data, Core::dataset_width(data), frame.GetNSlots(), origin,
                                                            selection.fLabel.Number(), plan.fStarts);
      collector->StopOn(interrupt);
      if (Core::dataset_is_sharded(data)) // other processes may hold all of it
         PreparedLoop(frame, reading).Run(collector);
      else
         RunEventLoop(frame, reading, collector);
      plan.FillIn(data, collector->Entries(), Threads(0));
   }
   interrupt.Check("the reading");
   transaction.Commit();
}

} // namespace

rust::Vec<rust::String> TargetNames(const Label &label)
{
   rust::Vec<rust::String> names;
   for (const auto &column : label.Columns())
      names.push_back(column);
   return names;
}

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
   target.fScalar = column.scalar;
   return target;
}

void ReadSource(Core::Dataset &data, const Source &source, const Selection &selection, const InterruptScope &interrupt)
{
   if (ReadWithoutRoot(data, source.Data(), selection, interrupt))
      return;
   const OpenSource open(source);
   ReadFrame(data, open.Frame(), selection, interrupt);
}

} // namespace Internal
} // namespace CladTorch
