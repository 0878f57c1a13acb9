// Predictions of more events than fit in memory.

#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "ColumnFile.hxx"
#include "CoreBox.hxx"
#include "Expression.hxx"
#include "FilePath.hxx"
#include "Interrupt.hxx"
#include "OpenSource.hxx"
#include "RangeReader.hxx"

#include "cladtorch/src/bridge/stream.rs.h"

#include <algorithm>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// Entries read, predicted and written together.
constexpr std::uint64_t kBlock = 1 << 16;

/// The columns that the model reads. Those of a file may be code, which runs only if the user allows it.
rust::Vec<Core::ColumnSpec> TrustedColumns(const ModelData &model)
{
   auto columns = Core::model_columns(*model.fCore);
   if (columns.empty())
      throw std::runtime_error("the model has no columns yet: train it with Fit, or set them with SetColumns");
   for (const auto &column : columns)
      if (const std::string text(column.mask_of.empty() ? column.name : column.mask_of); model.fFromFile && !IsPlainName(text))
         throw std::runtime_error("the model was read from a file and has the column '" + text +
                                  "', an expression, which would run as code: if you trust it, call SetColumns(Columns()) of "
                                  "the model first");
   return columns;
}

/// The end of the block that begins at `first`: the last end of a cluster within reach, so that no basket is read
/// twice.
std::uint64_t BlockEnd(std::uint64_t first, const std::vector<std::uint64_t> &clusterEnds)
{
   const auto behind = std::upper_bound(clusterEnds.begin(), clusterEnds.end(), first + kBlock);
   const auto last = behind == clusterEnds.begin() ? 0 : *(behind - 1);
   return last > first ? last : std::min(first + kBlock, clusterEnds.back());
}

} // namespace

void Model::WriteScores(const Source &source, const std::string &where, const std::string &column,
                        const std::string &tree) const
{
   LongCall(Where("WriteScores"), [&](const InterruptScope &interrupt) {
      const auto model = Frozen();
      CheckColumnName(column);
      const auto columns = TrustedColumns(*model);
      const SerialScope serial(true); // ROOT's part of the reading
      RangeReader reader(source, columns, {});
      const auto path = FilePath(where);
      CheckOtherFile(reader.Files(), path, reader.Name());
      const auto outputs = Outputs();
      ColumnFile file(path, tree, {{column, outputs == 1 ? 0 : outputs}});
      std::vector<float> scores;
      for (std::uint64_t first = 0, last; first < reader.ClusterEnds().back(); first = last) {
         interrupt.Check("the prediction");
         last = BlockEnd(first, reader.ClusterEnds());
         auto data = Core::dataset_new(columns);
         reader.ReadInto(*data, first, last);
         if (Core::dataset_rows(*data) != last - first)
            throw std::runtime_error(reader.Name() + " has a filter, but a friend needs a score for every entry: give the tree "
                                     "itself, and cut on the friend's columns later");
         scores.resize((last - first) * outputs);
         Core::model_predict(*model->fCore, *data, false, Threads(0), {scores.data(), scores.size()});
         TellUnlike(*model, Core::dataset_features(*data));
         file.Fill({scores.data()}, last - first);
      }
      file.Publish();
   }, "the prediction");
}

} // namespace CladTorch
