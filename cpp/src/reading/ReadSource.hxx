/// \file ReadSource.hxx
/// \brief One source of a dataset, read in one event loop.

#ifndef CLADTORCH_READSOURCE
#define CLADTORCH_READSOURCE

#include "Collector.hxx"
#include "CoreBox.hxx"

#include <CladTorch/Dataset.hxx>
#include <CladTorch/Label.hxx>

#include <ROOT/RDataFrame.hxx>

#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The selection of a source's events, and their label and weight.
struct Selection {
   Label fLabel = 0;
   std::string fCut; ///< "": every event
   Weight fWeight;
   EReader fReader = kAutoReader;
};

/// A feature column, whose values begin at `offset` in a row.
ColumnTarget FeatureTarget(const Core::ColumnSpec &column, std::size_t offset);

/// Features and, if requested, label and weight columns of `source`. Throws for an invalid label.
std::vector<ColumnTarget>
Targets(const std::string &source, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection);

/// Warns of labels among the features.
void WarnOfLabels(const std::vector<ColumnTarget> &targets, const Label &label);

/// The same, with a warning of a label among the features. A function's weights become a column of `frame`.
std::vector<ColumnTarget>
Targets(ROOT::RDF::RNode &frame, const rust::Vec<Core::ColumnSpec> &columns, const Selection &selection);

/// The label columns for the core.
rust::Vec<rust::String> TargetNames(const Label &label);

/// Keeps a dataset whole: uncommitted changes are rolled back.
class Transaction {
public:
   Transaction(Core::Dataset &data, const std::string &source, const Label &label) : fData(data)
   {
      Core::dataset_begin(fData, source, TargetNames(label));
   }
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

/// Appends the selected events of `source` to `data`, in the order of the entries. Throws on an error, which leaves
/// `data` unchanged.
void ReadSource(Core::Dataset &data, const Source &source, const Selection &selection, const InterruptScope &interrupt);

} // namespace Internal
} // namespace CladTorch

#endif
