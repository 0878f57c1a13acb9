#include "RowCollector.hxx"

#include "Flatten.hxx"

namespace CladTorch {
namespace Internal {

RowCollector::RowCollector(Core::Dataset &data, std::size_t width, unsigned int slots, const Origin &origin,
                           double label, const std::vector<std::uint64_t> &starts)
   : OrderedCollector(slots, origin),
     fData(data),
     fWidth(width),
     fLabelWidth(Core::dataset_label_width(data)),
     fLabel(static_cast<float>(label)),
     fStarts(starts)
{
}

void RowCollector::Take(unsigned int slot, const ColumnTarget &target, const Numbers &numbers)
{
   std::string bad;
   if (!Flatten(numbers, target, static_cast<Rows &>(Present(slot)).Slots(target), bad))
      NoteBadValue(slot, target, bad);
}

void RowCollector::Rows::BeginRow(const Place_t &place)
{
   // The entry counts from the start of its file or, if all files are treated as one, from that of the source.
   if (!fStarts.empty())
      fEntries.push_back(place.first + 1 < fStarts.size() ? fStarts[place.first] + place.second : fStarts.back());
   fFeatures.resize(fFeatures.size() + fWidth);
   fLabels.resize(fLabels.size() + fLabelWidth, fLabel);
   fWeights.push_back(1);
}

float *RowCollector::Rows::Slots(const ColumnTarget &target)
{
   switch (target.fPart) {
   case ColumnTarget::kLabel: return fLabels.data() + fLabels.size() - fLabelWidth + target.fOffset;
   case ColumnTarget::kWeight: return &fWeights.back();
   default: return fFeatures.data() + fFeatures.size() - fWidth + target.fOffset;
   }
}

void RowCollector::Append(Block &block)
{
   auto &rows = static_cast<Rows &>(block);
   Core::dataset_append(fData, Slice(rows.fFeatures), Slice(rows.fLabels), Slice(rows.fWeights));
   fEntries.insert(fEntries.end(), rows.fEntries.begin(), rows.fEntries.end());
   rows.fEntries.clear();
   rows.fFeatures.clear();
   rows.fLabels.clear();
   rows.fWeights.clear();
}

std::string RowCollector::Remedy() const
{
   return "Features, labels and weights must be finite as float32: remove these events with a cut, or define a "
          "column that replaces the values";
}

} // namespace Internal
} // namespace CladTorch
