/// \file RowCollector.hxx
/// \brief Gathers the rows of one source for a dataset.

#ifndef CLADTORCH_ROWCOLLECTOR
#define CLADTORCH_ROWCOLLECTOR

#include "Collector.hxx"
#include "CoreBox.hxx"

#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Appends float32 rows to a dataset, in the order of the entries.
class RowCollector : public OrderedCollector {
public:
   /// \param width Features of a row.
   /// \param label Of each event, unless a column gives another.
   RowCollector(Core::Dataset &data, std::size_t width, unsigned int slots, const Origin &origin, double label);

   void Take(unsigned int slot, const ColumnTarget &target, const Numbers &numbers) override;

private:
   struct Rows : Block {
      Rows(std::size_t width, float label) : fWidth(width), fLabel(label) {}
      void BeginRow(const Place_t &) override;
      /// Room for the column's numbers in the present row, `target.fLength` of them.
      float *Slots(const ColumnTarget &target);

      std::size_t fWidth;
      float fLabel;
      std::vector<float> fFeatures, fLabels, fWeights;
   };

   std::unique_ptr<Block> NewBlock() const override { return std::make_unique<Rows>(fWidth, fLabel); }
   void Append(Block &block) override;
   std::string Remedy() const override;

   Core::Dataset &fData;
   std::size_t fWidth;
   float fLabel;
};

} // namespace Internal
} // namespace CladTorch

#endif
