#include <CladTorch/Export.hxx>
#include <CladTorch/Guard.hxx>

#include "ColumnFile.hxx"
#include "CoreBox.hxx"
#include "FilePath.hxx"

#include "Interrupt.hxx"
#include "cladtorch/src/bridge/files.rs.h"

#include <ROOT/InternalTreeUtils.hxx>
#include <TChain.h>
#include <TTree.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace CladTorch {

using namespace Internal;

namespace {

ROOT::RDF::RNode DefineColumn(ROOT::RDF::RNode frame, const std::string &name, const FloatView &view)
{
   const auto number = [view](ULong64_t entry) { return view(entry); };
   const auto numbers = [view](ULong64_t entry) {
      const float *first = view.Data() + entry * view.Columns();
      return ROOT::RVecF(first, first + view.Columns());
   };
   return view.Rank() == 1 ? frame.Define(name, number, {"rdfentry_"}) : frame.Define(name, numbers, {"rdfentry_"});
}

/// Both exports use the same names.
void CheckNames(const NamedColumns_t &columns)
{
   for (const auto &column : columns)
      CheckColumnName(column.first);
}

void CheckRows(const NamedColumns_t &columns, std::size_t rows, const std::string &expected)
{
   for (const auto &[name, view] : columns) {
      if (view.Rows() == rows)
         continue;
      std::string remedy = "make it from all events, without a cut";
      if (view.Rank() == 1 && rows && view.Rows() && view.Rows() % rows == 0) {
         const auto each = std::to_string(view.Rows() / rows);
         remedy += "; if these are " + each + " numbers of each event, give FloatView(numbers).Reshape(" + each + ")";
      }
      throw std::runtime_error("column '" + name + "' has " + std::to_string(view.Rows()) + " rows, but " + expected +
                               std::to_string(rows) + ": " + remedy);
   }
}

} // namespace

TMatrixF ToMatrix(const FloatView &view)
{
   return LongCall("CladTorch::ToMatrix", [&] {
      constexpr std::size_t kMost = std::numeric_limits<int>::max();
      if (view.Rows() > kMost || view.Columns() > kMost || view.Size() > kMost)
         throw std::runtime_error("a TMatrixF cannot hold " + std::to_string(view.Rows()) + " x " +
                                  std::to_string(view.Columns()) + " numbers: take fewer rows");
      return TMatrixF(static_cast<int>(view.Rows()), static_cast<int>(view.Columns()), view.Data());
   });
}

ROOT::RDF::RNode ToFrame(const NamedColumns_t &columns)
{
   return LongCall("CladTorch::ToFrame", [&]() -> ROOT::RDF::RNode {
      if (columns.empty())
         throw std::runtime_error("a data frame without columns: give some");
      CheckNames(columns);
      const auto &[first, view] = *columns.begin();
      CheckRows(columns, view.Rows(), "'" + first + "' has ");
      ROOT::RDF::RNode frame = ROOT::RDataFrame(view.Rows());
      for (const auto &column : columns)
         frame = DefineColumn(frame, column.first, column.second);
      return frame;
   });
}

void WriteFriend(TTree &tree, const std::string &where, const NamedColumns_t &columns, const std::string &name)
{
   LongCall("CladTorch::WriteFriend", [&] {
      const auto rows = static_cast<std::size_t>(tree.GetEntries());
      if (columns.empty())
         throw std::runtime_error("a friend without columns: give some");
      CheckNames(columns);
      const auto path = FilePath(where);
      CheckRows(columns, rows, "tree '" + std::string(tree.GetName()) + "' has ");
      if (tree.GetCurrentFile() || tree.InheritsFrom(TChain::Class()))
         CheckOtherFile(ROOT::Internal::TreeUtils::GetFileNamesFromTree(tree), path,
                        "the tree '" + std::string(tree.GetName()) + "'");
      std::vector<ColumnFile::Column> schema;
      std::vector<const float *> values;
      for (const auto &[column, view] : columns) {
         schema.push_back({column, view.Rank() == 2 ? view.Columns() : 0});
         values.push_back(view.Data());
      }
      ColumnFile file(path, name, schema);
      file.Fill(values, rows);
      file.Publish();
   });
}

} // namespace CladTorch
