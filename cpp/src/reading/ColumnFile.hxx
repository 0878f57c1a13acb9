/// \file ColumnFile.hxx
/// \brief A new file with a tree of float columns.

#ifndef CLADTORCH_COLUMNFILE
#define CLADTORCH_COLUMNFILE

#include "cladtorch/src/bridge/files.rs.h"
#include "rust/cxx.h"

#include <TFile.h>
#include <TTree.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// Throws unless expressions of data frames and TTree::Draw can use `name` for a column.
void CheckColumnName(const std::string &name);

/// Throws if `path` is one of `files`, which a new file would overwrite. \param source The source of the files.
void CheckOtherFile(const std::vector<std::string> &files, const std::string &path, const std::string &source);

/// Filled block by block. The file appears whole or not at all.
class ColumnFile {
public:
   struct Column {
      std::string fName;
      std::size_t fLength; ///< floats of an array in each entry; 0: a float
   };

   /// \param path As FilePath() gives it.
   ColumnFile(const std::string &path, const std::string &tree, const std::vector<Column> &columns);
   ColumnFile(const ColumnFile &) = delete;
   ~ColumnFile();

   /// Appends `rows` entries. \param values For each column its [rows, length].
   void Fill(const std::vector<const float *> &values, std::size_t rows);
   void Publish();

private:
   [[noreturn]] void Fail() const;

   std::string fPath;
   rust::Box<Core::AtomicFile> fAtomic;
   std::vector<std::vector<float>> fRow; ///< the branches point into it
   std::unique_ptr<TFile> fFile;
   TTree *fTree = nullptr; ///< belongs to the file
};

} // namespace Internal
} // namespace CladTorch

#endif
