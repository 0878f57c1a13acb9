#include "ColumnFile.hxx"

#include <TDirectory.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace CladTorch {
namespace Internal {

void CheckColumnName(const std::string &name)
{
   const auto isLetter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
   const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
   if (name.empty() || isDigit(name[0]) ||
       !std::all_of(name.begin(), name.end(), [&](char c) { return isLetter(c) || isDigit(c); }))
      throw std::runtime_error("'" + name + "' is not a valid column name: use letters, digits and _, and begin with a " +
                               "letter or _");
}

void CheckOtherFile(const std::vector<std::string> &files, const std::string &path, const std::string &source)
{
   for (const auto &file : files) {
      std::error_code ignored;
      if (std::filesystem::equivalent(file, path, ignored))
         throw std::runtime_error(path + " is a file of " + source + " itself: give the friend a file of its own");
   }
}

ColumnFile::ColumnFile(const std::string &path, const std::string &tree, const std::vector<Column> &columns)
   : fPath(path), fAtomic(Core::file_new(path))
{
   if (tree.empty() || tree.find_first_of("/;") != std::string::npos)
      throw std::runtime_error("'" + tree + "' is not a valid tree name: give one without / and ;");
   const TDirectory::TContext context; // restores the user's current directory
   fFile = std::make_unique<TFile>(std::string(Core::file_path(*fAtomic)).c_str(), "recreate");
   if (fFile->IsZombie())
      Fail();
   fTree = new TTree(tree.c_str(), "made by CladTorch");
   for (const auto &column : columns) {
      fRow.emplace_back(std::max<std::size_t>(column.fLength, 1));
      const auto leaf = column.fName + (column.fLength ? "[" + std::to_string(column.fLength) + "]/F" : "/F");
      if (!fTree->Branch(column.fName.c_str(), fRow.back().data(), leaf.c_str()))
         throw std::runtime_error("'" + column.fName + "' is not a valid branch name");
   }
}

ColumnFile::~ColumnFile()
{
   const TDirectory::TContext context;
   fFile.reset();
}

void ColumnFile::Fail() const
{
   throw std::runtime_error("file " + fPath + " could not be written, see ROOT's message above: check the free disk space and "
                            "the permissions");
}

void ColumnFile::Fill(const std::vector<const float *> &values, std::size_t rows)
{
   for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < fRow.size(); ++i)
         std::copy_n(values[i] + row * fRow[i].size(), fRow[i].size(), fRow[i].begin());
      if (fTree->Fill() < 0)
         Fail();
   }
}

void ColumnFile::Publish()
{
   const TDirectory::TContext context;
   fFile->cd();
   if (fTree->Write() <= 0)
      Fail();
   fFile->Close();
   if (fFile->TestBit(TFile::kWriteError))
      Fail();
   Core::file_publish(std::move(fAtomic));
}

} // namespace Internal
} // namespace CladTorch
