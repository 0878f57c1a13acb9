#include <CladTorch/Dataset.hxx>

#include "CoreBox.hxx"
#include "Frame.hxx"
#include "Guard.hxx"
#include "Source.hxx"

#include <TROOT.h>
#include <TTree.h>

#include <iostream>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// ROOT reads a tree without a file on one thread only, and takes its setting when a data frame is made.
class SerialScope {
public:
   explicit SerialScope(bool needed) : fThreads(needed ? ROOT::GetThreadPoolSize() : 0)
   {
      if (fThreads)
         ROOT::DisableImplicitMT();
   }
   SerialScope(const SerialScope &) = delete;
   ~SerialScope()
   {
      if (fThreads)
         ROOT::EnableImplicitMT(fThreads);
   }

private:
   unsigned int fThreads;
};

bool InMemory(TTree *tree)
{
   return tree && !tree->InheritsFrom("TChain") && !tree->GetCurrentFile();
}

/// `core` with the settings of `data`.
std::shared_ptr<DatasetData> With(rust::Box<Core::Dataset> core, const DatasetData &data)
{
   auto copy = std::make_shared<DatasetData>(std::move(core));
   copy->fWeight = data.fWeight;
   copy->fScalars = data.fScalars;
   return copy;
}

/// The numbers of one dataset alone, to be changed: a copy where others share them.
DatasetData &Own(std::shared_ptr<DatasetData> &data)
{
   if (data.use_count() > 1)
      data = With(Core::dataset_clone(*data->fCore), *data);
   return *data;
}

/// Scalar columns.
std::shared_ptr<DatasetData> New(const std::vector<std::string> &columns)
{
   rust::Vec<Core::ColumnSpec> specs;
   for (const auto &name : columns)
      specs.push_back({name, 1, 0});
   auto data = std::make_shared<DatasetData>(Core::dataset_new(specs));
   data->fScalars.insert(columns.begin(), columns.end());
   return data;
}

void Read(std::shared_ptr<DatasetData> &data, const ROOT::RDF::RNode &frame, Selection selection)
{
   auto &own = Own(data);
   selection.fWeight = own.fWeight;
   selection.fScalars = own.fScalars;
   ReadSource(*own.fCore, frame, selection);
}

Selection WithLabel(double label, const std::string &cut)
{
   return {"", label, cut, "", {}};
}

Selection WithColumn(const std::string &column, const std::string &cut)
{
   if (column.empty())
      throw std::runtime_error("the name of the label column is empty");
   return {column, 0, cut, "", {}};
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
      if (Rows())
         throw std::runtime_error("column '" + name + "' comes too late: the dataset already has events");
      auto specs = Core::dataset_columns(*fData->fCore);
      specs.push_back({name, length ? length : 1, pad});
      fData = With(Core::dataset_new(specs), *fData);
      if (length == 0)
         fData->fScalars.insert(name);
      return *this;
   });
}

Dataset &Dataset::SetWeight(const std::string &column)
{
   return Guard("CladTorch::Dataset::SetWeight", [&]() -> Dataset & {
      Own(fData).fWeight = column;
      return *this;
   });
}

Dataset &Dataset::Add(ROOT::RDF::RNode frame, double label, const std::string &cut)
{
   return Guard("CladTorch::Dataset::Add", [&]() -> Dataset & {
      Read(fData, frame, WithLabel(label, cut));
      return *this;
   });
}

Dataset &Dataset::Add(ROOT::RDF::RNode frame, const std::string &labelColumn, const std::string &cut)
{
   return Guard("CladTorch::Dataset::Add", [&]() -> Dataset & {
      Read(fData, frame, WithColumn(labelColumn, cut));
      return *this;
   });
}

Dataset &Dataset::Add(TTree *tree, double label, const std::string &cut)
{
   return Guard("CladTorch::Dataset::Add", [&]() -> Dataset & {
      const SerialScope serial(InMemory(tree));
      Read(fData, OpenTree(tree), WithLabel(label, cut));
      return *this;
   });
}

Dataset &Dataset::Add(TTree *tree, const std::string &labelColumn, const std::string &cut)
{
   return Guard("CladTorch::Dataset::Add", [&]() -> Dataset & {
      const SerialScope serial(InMemory(tree));
      Read(fData, OpenTree(tree), WithColumn(labelColumn, cut));
      return *this;
   });
}

Dataset &Dataset::Add(const std::string &tree, const std::string &files, double label, const std::string &cut)
{
   return Guard("CladTorch::Dataset::Add", [&]() -> Dataset & {
      Read(fData, OpenFiles(tree, files), WithLabel(label, cut));
      return *this;
   });
}

Dataset &Dataset::Add(const std::string &tree, const std::string &files, const std::string &labelColumn,
                      const std::string &cut)
{
   return Guard("CladTorch::Dataset::Add", [&]() -> Dataset & {
      Read(fData, OpenFiles(tree, files), WithColumn(labelColumn, cut));
      return *this;
   });
}

std::pair<Dataset, Dataset> Dataset::Split(double first, std::uint64_t seed) const
{
   return Guard("CladTorch::Dataset::Split", [&] {
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

FloatView Dataset::Features() const
{
   return {Core::dataset_features(*fData->fCore).data(), Rows(), Width(), fData};
}

FloatView Dataset::Labels() const
{
   return {Core::dataset_labels(*fData->fCore).data(), Rows(), 0, fData};
}

FloatView Dataset::Weights() const
{
   return {Core::dataset_weights(*fData->fCore).data(), Rows(), 0, fData};
}

void Dataset::Print() const
{
   Guard("CladTorch::Dataset::Print", [&] { std::cout << Core::dataset_describe(*fData->fCore) << std::flush; });
}

} // namespace CladTorch
