#include <CladTorch/Dataset.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "Interrupt.hxx"
#include "OpenSource.hxx"
#include "RangeReader.hxx"
#include "ReadSource.hxx"

#include "cladtorch/src/bridge/ranks.rs.h"

#include <iostream>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace CladTorch {

using namespace Internal;

namespace {

/// `core` with the settings of `data`.
std::shared_ptr<DatasetData> With(rust::Box<Core::Dataset> core, const DatasetData &data)
{
   auto copy = std::make_shared<DatasetData>(std::move(core));
   copy->fWeight = data.fWeight;
   copy->fReadWeight = data.fReadWeight;
   copy->fReader = data.fReader;
   copy->fSharding = data.fSharding;
   return copy;
}

/// The core of one dataset alone, for changes: a copy if others share it.
DatasetData &Own(std::shared_ptr<DatasetData> &data)
{
   if (data.use_count() > 1)
      data = With(Core::dataset_clone(*data->fCore), *data);
   return *data;
}

/// \param length 0 for a scalar.
Core::ColumnSpec Spec(const std::string &name, std::size_t length, float pad, std::size_t inner = 0)
{
   return {name, length ? length : 1, pad, inner, "", length == 0};
}

/// `data` with one more column, for which nothing has been read yet.
void AddColumn(std::shared_ptr<DatasetData> &data, Core::ColumnSpec column)
{
   if (Core::dataset_has_sources(*data->fCore))
      throw std::runtime_error("column '" + std::string(column.name) + "' was added too late: the dataset already has "
                               "events. Add all columns before the first source");
   auto specs = Core::dataset_columns(*data->fCore);
   specs.push_back(std::move(column));
   const bool isSharded = Core::dataset_is_sharded(*data->fCore);
   data = With(Core::dataset_new(specs), *data);
   Core::dataset_set_sharded(*data->fCore, isSharded);
}

/// 1 for each element of the column and 0 for each pad.
Core::ColumnSpec MaskOf(const std::string &name, const DatasetData &data)
{
   for (const auto &column : Core::dataset_columns(*data.fCore))
      if (column.name == name && column.mask_of.empty() && !column.scalar)
         return {"mask(" + name + ")", column.length, 0, column.inner, name, false};
   throw std::runtime_error("there is no list column '" + name +
                            "' to make a mask of: add it first, with Column(\"" + name + "\", length, pad)");
}

/// The entries of Targets() for `labels` without a name.
std::vector<std::string> NumberedTargets(std::size_t count)
{
   std::vector<std::string> names;
   for (std::size_t i = 0; count > 1 && i < count; ++i)
      names.push_back("target " + std::to_string(i + 1));
   return names;
}

void CheckRows(const char *what, std::size_t rows, std::size_t events)
{
   if (rows != events)
      throw std::runtime_error(std::string(what) + " of " + std::to_string(rows) + " events for the features of " +
                               std::to_string(events) + ": give one for each event");
}

/// For a source that differs between processes.
const std::string kOwnPart = "own";

/// For a source that processes share: everything that must be the same on them. The names of its files may differ,
/// since they may be copies.
std::string HowRead(const Selection &selection, const std::string &what)
{
   const auto &label = selection.fLabel;
   const auto labels = label.IsNumber() ? std::to_string(label.Number()) : Joined(label.Columns());
   return what + '\n' + selection.fCut + '\n' + labels + '\n' + selection.fWeight.fText;
}

/// The rows in memory that this process takes: from the first number on, before the second.
std::pair<std::size_t, std::size_t> RowsOfRank(const DatasetData &data, std::size_t rows)
{
   if (data.fSharding != kSharded)
      return {0, rows};
   const std::size_t rank = Core::ranks_rank(), size = Core::ranks_size();
   return {rows * rank / size, rows * (rank + 1) / size};
}

void AddArrays(std::shared_ptr<DatasetData> &data, const FloatView &features, const FloatView &labels,
               const FloatView &weights, std::vector<std::string> targets)
{
   const auto width = Core::dataset_width(*data->fCore);
   const bool weighted = weights.Size() > 0;
   if (features.Columns() != width)
      throw std::runtime_error("rows of " + std::to_string(features.Columns()) + " numbers for columns that take " +
                               std::to_string(width) + ": give one number for each element of the columns");
   if (weights.Columns() != 1)
      throw std::runtime_error("the weights have " + std::to_string(weights.Columns()) + " numbers an event: give one");
   if (!weighted && !data->fWeight.fText.empty())
      throw std::runtime_error("the events have no column for the weight '" + data->fWeight.fText +
                               "' of SetWeight: give the weights as an argument");
   if (targets.empty())
      targets = NumberedTargets(labels.Columns());
   else if (targets.size() != labels.Columns())
      throw std::runtime_error(std::to_string(targets.size()) + " names for labels of " +
                               std::to_string(labels.Columns()) + " numbers: name each target");
   CheckRows("labels", labels.Rows(), features.Rows());
   if (weighted)
      CheckRows("weights", weights.Rows(), features.Rows());
   const std::vector<float> ones(weighted ? 0 : features.Rows(), 1.f);
   auto &own = Own(data);
   const auto [first, last] = RowsOfRank(own, features.Rows());
   const auto slice = [first = first, last = last](const FloatView &view) {
      const auto columns = view.Columns();
      return rust::Slice<const float>(view.Data() + first * columns, (last - first) * columns);
   };
   const auto label = targets.empty() ? Label(0) : Label(targets);
   WarnOfLabels(Targets("arrays", Core::dataset_columns(*own.fCore), {label, "", {}, kAutoReader}), label);
   Transaction transaction(*own.fCore, "arrays", label);
   Core::dataset_append(*own.fCore, slice(features), slice(labels), slice(weighted ? weights : FloatView(ones)));
   transaction.Commit();
   const std::string_view bytes(reinterpret_cast<const char *>(features.Data()), features.Size() * sizeof(float));
   const auto numbers = std::to_string(features.Rows()) + ' ' + std::to_string(std::hash<std::string_view>()(bytes));
   Core::dataset_describe_part(*own.fCore, own.fSharding == kSharded ? HowRead({label, "", {}, kAutoReader}, numbers) : kOwnPart);
   own.fReadWeight = own.fWeight.fText;
}

/// Scalar columns.
std::shared_ptr<DatasetData> New(const std::vector<std::string> &columns)
{
   rust::Vec<Core::ColumnSpec> specs;
   for (const auto &name : columns)
      specs.push_back(Spec(name, 0, 0));
   return std::make_shared<DatasetData>(Core::dataset_new(specs));
}

void Read(std::shared_ptr<DatasetData> &data, const Source &source, const Label &label, const std::string &cut)
{
   auto &own = Own(data);
   const Selection selection{label, cut, own.fWeight, own.fReader};
   Interruptible("the reading", [&](const InterruptScope &interrupt) {
      if (own.fSharding != kSharded || Core::ranks_size() == 1) {
         ReadSource(*own.fCore, source, selection, interrupt);
         return Core::dataset_describe_part(*own.fCore, kOwnPart);
      }
      const auto threads = Threads(0);
      const SerialScope serial(true); // ROOT's part of the reading
      RangeReader reader(source, Core::dataset_columns(*own.fCore), selection);
      reader.ReadShare(*own.fCore, Core::ranks_rank(), Core::ranks_size(), threads, interrupt);
      std::string clusters;
      for (const auto end : reader.ClusterEnds())
         clusters += std::to_string(end) + ' ';
      Core::dataset_describe_part(*own.fCore, HowRead(selection, clusters));
   });
   own.fReadWeight = own.fWeight.fText;
}

} // namespace

Dataset::Dataset(const std::vector<std::string> &columns)
   : fData(Guard("CladTorch::Dataset", [&] { return New(columns); }))
{
}

Dataset::Dataset(std::shared_ptr<DatasetData> data, FromCore) : fData(std::move(data)) {}

Dataset &Dataset::Column(const std::string &name, std::size_t length, float pad)
{
   return Guard("CladTorch::Dataset::Column", [&]() -> Dataset & {
      AddColumn(fData, Spec(name, length, pad));
      return *this;
   });
}

Dataset &Dataset::Column(const std::string &name, const std::pair<std::size_t, std::size_t> &shape, float pad)
{
   return Guard("CladTorch::Dataset::Column", [&]() -> Dataset & {
      const auto [lists, numbers] = shape;
      if (lists == 0 || numbers == 0 || lists > std::numeric_limits<std::size_t>::max() / numbers)
         throw std::runtime_error("column '" + name + "' has " + std::to_string(lists) + " lists of " +
                                  std::to_string(numbers) + " numbers: give a shape from {1, 1} on");
      AddColumn(fData, Spec(name, lists * numbers, pad, numbers));
      return *this;
   });
}

Dataset &Dataset::Mask(const std::string &name)
{
   return Guard("CladTorch::Dataset::Mask", [&]() -> Dataset & {
      AddColumn(fData, MaskOf(name, *fData));
      return *this;
   });
}

Dataset &Dataset::SetReader(EReader reader)
{
   return Guard("CladTorch::Dataset::SetReader", [&]() -> Dataset & {
      Own(fData).fReader = reader;
      return *this;
   });
}

Dataset &Dataset::SetSharding(ESharding sharding)
{
   return Guard("CladTorch::Dataset::SetSharding", [&]() -> Dataset & {
      auto &own = Own(fData);
      if (own.fSharding != sharding && Core::dataset_has_sources(*own.fCore))
         throw std::runtime_error("the dataset already has events: call SetSharding before the first source");
      Core::dataset_set_sharded(*own.fCore, sharding != kReplicated && Core::ranks_size() > 1);
      own.fSharding = sharding;
      return *this;
   });
}

Dataset &Dataset::SetWeight(const std::string &column)
{
   return Guard("CladTorch::Dataset::SetWeight", [&]() -> Dataset & {
      Own(fData).fWeight = {column};
      return *this;
   });
}

Dataset &
Dataset::SetWeightFunction(const std::function<ROOT::RDF::RNode(ROOT::RDF::RNode, const std::string &name)> &define,
                           const std::vector<std::string> &columns)
{
   return Guard("CladTorch::Dataset::SetWeight", [&]() -> Dataset & {
      Own(fData).fWeight = {"weight(" + Joined(columns) + ")", define};
      return *this;
   });
}

Dataset &Dataset::Add(const Source &source, const Label &label, const std::string &cut)
{
   return LongCall("CladTorch::Dataset::Add", [&]() -> Dataset & {
      Read(fData, source, label, cut);
      return *this;
   });
}

Dataset &Dataset::Add(const FloatView &features, const FloatView &labels, const FloatView &weights,
                      const std::vector<std::string> &targets)
{
   return LongCall("CladTorch::Dataset::Add", [&]() -> Dataset & {
      AddArrays(fData, features, labels, weights, targets);
      return *this;
   });
}

Dataset &Dataset::Add(const Dataset &other)
{
   return LongCall("CladTorch::Dataset::Add", [&]() -> Dataset & {
      const auto given = other.fData; // makes Own() copy if it is this dataset
      Core::dataset_join(*Own(fData).fCore, *given->fCore);
      return *this;
   });
}

Dataset &Dataset::Balance()
{
   return LongCall("CladTorch::Dataset::Balance", [&]() -> Dataset & {
      Core::dataset_balance(*Own(fData).fCore);
      return *this;
   });
}

std::pair<Dataset, Dataset> Dataset::Split(double first, std::uint64_t seed) const
{
   return LongCall("CladTorch::Dataset::Split", [&] {
      const auto part = [&](bool second) {
         return Dataset(With(Core::dataset_part(*fData->fCore, first, seed, second), *fData), FromCore());
      };
      return std::make_pair(part(false), part(true));
   });
}

std::size_t Dataset::Rows() const
{
   return Core::dataset_rows(*fData->fCore);
}

std::size_t Dataset::Width() const
{
   return Core::dataset_width(*fData->fCore);
}

std::vector<std::string> Dataset::Columns() const
{
   return Guard("CladTorch::Dataset::Columns", [&] {
      std::vector<std::string> names;
      for (const auto &column : Core::dataset_columns(*fData->fCore))
         names.emplace_back(column.name);
      return names;
   });
}

std::vector<std::size_t> Dataset::Lengths() const
{
   return Guard("CladTorch::Dataset::Lengths", [&] {
      std::vector<std::size_t> lengths;
      for (const auto &column : Core::dataset_columns(*fData->fCore))
         lengths.push_back(column.length);
      return lengths;
   });
}

std::string Dataset::Weight() const
{
   return fData->fWeight.fText;
}

std::vector<std::string> Dataset::Targets() const
{
   return Guard("CladTorch::Dataset::Targets", [&] { return Strings(Core::dataset_targets(*fData->fCore)); });
}

FloatView Dataset::Features() const
{
   return {Core::dataset_features(*fData->fCore).data(), Rows(), Width(), fData};
}

FloatView Dataset::Labels() const
{
   return Guard("CladTorch::Dataset::Labels", [&] {
      const auto width = Core::dataset_label_width(*fData->fCore);
      return FloatView(Core::dataset_labels(*fData->fCore).data(), Rows(), width > 1 ? width : 0, fData);
   });
}

FloatView Dataset::Weights() const
{
   return Guard("CladTorch::Dataset::Weights",
                [&] { return FloatView(Core::dataset_weights(*fData->fCore).data(), Rows(), 0, fData); });
}

void Dataset::Print() const
{
   Guard("CladTorch::Dataset::Print", [&] { std::cout << Core::dataset_describe(*fData->fCore) << std::flush; });
}

} // namespace CladTorch
