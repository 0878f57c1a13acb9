#include <CladTorch/Export.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "FilePath.hxx"

#include "cladtorch/src/bridge/files.rs.h"

#include <ROOT/InternalTreeUtils.hxx>
#include <TChain.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TTree.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
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

/// Both ways out take the same names: those that expressions of data frames and TTree::Draw can use.
void CheckNames(const NamedColumns_t &columns)
{
   const auto isLetter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
   const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
   for (const auto &[name, view] : columns)
      if (name.empty() || isDigit(name[0]) ||
          !std::all_of(name.begin(), name.end(), [&](char c) { return isLetter(c) || isDigit(c); }))
         throw std::runtime_error("'" + name + "' is not a valid column name: use letters, digits and _, and begin with a " +
                                  "letter or _");
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

/// A tree that is filled from columns.
class ColumnTree {
public:
   ColumnTree(const std::string &name, const NamedColumns_t &columns) : fTree(name.c_str(), "made by CladTorch")
   {
      fRows.reserve(columns.size()); // the branches point into it
      for (const auto &[column, view] : columns) {
         fRows.push_back({view, std::vector<float>(view.Columns())});
         const auto leaf = column + (view.Rank() == 2 ? "[" + std::to_string(view.Columns()) + "]/F" : "/F");
         if (!fTree.Branch(column.c_str(), fRows.back().fBuffer.data(), leaf.c_str()))
            throw std::runtime_error("'" + column + "' is not a valid branch name");
      }
   }

   /// Whether all was written.
   bool Fill(std::size_t rows)
   {
      for (std::size_t row = 0; row < rows; ++row) {
         for (auto &[view, buffer] : fRows)
            std::copy_n(view.Data() + row * view.Columns(), view.Columns(), buffer.begin());
         if (fTree.Fill() < 0)
            return false;
      }
      return fTree.Write() > 0;
   }

private:
   struct Row {
      FloatView fView;
      std::vector<float> fBuffer;
   };

   std::vector<Row> fRows;
   TTree fTree;
};

/// Whether the file is whole, and on its way to the disk.
bool WriteTree(const std::string &path, const std::string &name, const NamedColumns_t &columns, std::size_t rows)
{
   const TDirectory::TContext context; // the user's directory is the present one again afterwards
   TFile file(path.c_str(), "recreate");
   if (file.IsZombie())
      return false;
   {
      ColumnTree tree(name, columns);
      if (!tree.Fill(rows))
         return false;
   }
   file.Close();
   return !file.TestBit(TFile::kWriteError);
}

} // namespace

TMatrixF ToMatrix(const FloatView &view)
{
   return Guard("CladTorch::ToMatrix", [&] {
      constexpr std::size_t kMost = std::numeric_limits<int>::max();
      if (view.Rows() > kMost || view.Columns() > kMost || view.Size() > kMost)
         throw std::runtime_error("a TMatrixF cannot hold " + std::to_string(view.Rows()) + " x " +
                                  std::to_string(view.Columns()) + " numbers: take fewer rows");
      return TMatrixF(static_cast<int>(view.Rows()), static_cast<int>(view.Columns()), view.Data());
   });
}

ROOT::RDF::RNode ToFrame(const NamedColumns_t &columns)
{
   return Guard("CladTorch::ToFrame", [&]() -> ROOT::RDF::RNode {
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

namespace {

/// A friend in the tree's own file would be all that is left of it.
void CheckOtherFile(TTree &tree, const std::string &path)
{
   for (const auto &file : ROOT::Internal::TreeUtils::GetFileNamesFromTree(tree)) {
      std::error_code ignored;
      if (std::filesystem::equivalent(file, path, ignored))
         throw std::runtime_error(path + " is a file of the tree '" + std::string(tree.GetName()) +
                                  "' itself: give the friend a file of its own");
   }
}

} // namespace

void WriteFriend(TTree &tree, const std::string &where, const NamedColumns_t &columns, const std::string &name)
{
   Guard("CladTorch::WriteFriend", [&] {
      const auto rows = static_cast<std::size_t>(tree.GetEntries());
      if (columns.empty())
         throw std::runtime_error("a friend without columns: give some");
      CheckNames(columns);
      if (name.empty() || name.find_first_of("/;") != std::string::npos)
         throw std::runtime_error("'" + name + "' is not a valid tree name: give one without / and ;");
      const auto path = FilePath(where);
      CheckRows(columns, rows, "tree '" + std::string(tree.GetName()) + "' has ");
      if (tree.GetCurrentFile() || tree.InheritsFrom(TChain::Class()))
         CheckOtherFile(tree, path);
      auto file = Core::file_new(path);
      if (!WriteTree(std::string(Core::file_path(*file)), name, columns, rows))
         throw std::runtime_error("file " + path + " could not be written, see ROOT's message above: "
                               "check the free disk space and the permissions");
      Core::file_publish(std::move(file));
   });
}

} // namespace CladTorch
