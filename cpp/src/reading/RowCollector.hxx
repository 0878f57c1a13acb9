/// \file RowCollector.hxx
/// \brief Gathers the rows of one source for a dataset.

#ifndef CLADTORCH_ROWCOLLECTOR
#define CLADTORCH_ROWCOLLECTOR

#include "Collector.hxx"
#include "CoreBox.hxx"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Appends float32 rows to a dataset, in the order of the entries.
class RowCollector : public OrderedCollector {
public:
   /// \param width Features of a row.
   /// \param label Label of each event, unless columns provide it.
   /// \param starts First entry of each file, if the entries of the rows are to be recorded.
   RowCollector(Core::Dataset &data, std::size_t width, unsigned int slots, const Origin &origin, double label,
                const std::vector<std::uint64_t> &starts);

   /// The entry of each row, counted over all files. Empty without `starts`.
   const std::vector<std::uint64_t> &Entries() const { return fEntries; }

   void Take(unsigned int slot, const ColumnTarget &target, const Numbers &numbers) override;

private:
   struct Rows : Block {
      Rows(std::size_t width, std::size_t labelWidth, float label, const std::vector<std::uint64_t> &starts)
         : fWidth(width), fLabelWidth(labelWidth), fLabel(label), fStarts(starts)
      {
      }
      void BeginRow(const Place_t &) override;
      /// Room for the column's values in the present row, `target.fLength` of them.
      float *Slots(const ColumnTarget &target);

      std::size_t fWidth;
      std::size_t fLabelWidth;
      float fLabel;
      const std::vector<std::uint64_t> &fStarts;
      std::vector<float> fFeatures, fLabels, fWeights;
      std::vector<std::uint64_t> fEntries;
   };

   std::unique_ptr<Block> NewBlock() const override
   {
      return std::make_unique<Rows>(fWidth, fLabelWidth, fLabel, fStarts);
   }
   void Append(Block &block) override;
   std::string Remedy() const override;

   Core::Dataset &fData;
   std::size_t fWidth;
   std::size_t fLabelWidth; ///< values per label
   float fLabel;
   std::vector<std::uint64_t> fStarts;
   std::vector<std::uint64_t> fEntries;
};

} // namespace Internal
} // namespace CladTorch

#endif
