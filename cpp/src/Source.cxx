#include "Source.hxx"

#include "EventLoop.hxx"
#include "Interrupt.hxx"
#include "Expression.hxx"
#include "Frame.hxx"
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

void CheckLabel(const Label &label, const ROOT::RDF::RNode &frame)
{
   if (!std::isfinite(label.Number()))
      throw std::runtime_error("the label of " + Describe(frame) + " is not a finite number");
   if (!label.IsNumber() && label.Columns().empty())
      throw std::runtime_error("the list of label columns is empty: name a column for each target");
   for (const auto &column : label.Columns())
      if (column.empty())
         throw std::runtime_error("the name of the label column is empty");
}

ColumnTarget WeightTarget(ROOT::RDF::RNode &frame, const Weight &weight)
{
   auto target = ScalarTarget(weight.fText, ColumnTarget::kWeight);
   if (weight.fDefine) {
      target.fColumn = HiddenName();
      frame = weight.fDefine(frame, target.fColumn);
   }
   return target;
}

} // namespace

std::vector<ColumnTarget>
Targets(ROOT::RDF::RNode &frame, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection)
{
   std::vector<ColumnTarget> targets;
   std::size_t offset = 0;
   for (const auto &column : columns) {
      targets.push_back(FeatureTarget(column, offset));
      offset += column.length;
   }
   CheckLabel(selection.fLabel, frame);
   const auto &labels = selection.fLabel.Columns();
   for (const auto &target : targets)
      if (std::find(labels.begin(), labels.end(), target.fName) != labels.end())
         ::Warning("CladTorch::Dataset::Add",
                   "the label column '%s' is a feature, too: the network is told what it has to find",
                   target.fName.c_str());
   for (std::size_t i = 0; i < labels.size(); ++i) {
      targets.push_back(ScalarTarget(labels[i], ColumnTarget::kLabel));
      targets.back().fOffset = i;
   }
   if (!selection.fWeight.fText.empty())
      targets.push_back(WeightTarget(frame, selection.fWeight));
   return targets;
}

namespace {

/// Appends all entries, whose columns are all for the fast reader.
void ReadWhole(Core::Dataset &data, const ReaderPlan &plan, double label, const InterruptScope &interrupt)
{
   Core::dataset_reserve(data, static_cast<std::size_t>(plan.Entries()));
   for (const auto &file : plan.fFiles) {
      Core::dataset_read(data, *file, static_cast<float>(label), Threads(0));
      interrupt.Check("the reading");
   }
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

void ReadSource(Core::Dataset &data, ROOT::RDF::RNode frame, const Selection &selection,
                const InterruptScope &interrupt)
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
      RunEventLoop(frame, reading, collector);
      plan.FillIn(data, collector->Entries(), Threads(0));
   }
   interrupt.Check("the reading");
   transaction.Commit();
}

} // namespace Internal
} // namespace CladTorch
