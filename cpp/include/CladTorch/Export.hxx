/// \file CladTorch/Export.hxx
/// \brief Tensors and predictions back to ROOT: matrices, data frames, friend trees.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_EXPORT
#define CLADTORCH_EXPORT

#include <CladTorch/View.hxx>

#include <ROOT/RDataFrame.hxx>
#include <TMatrixF.h>

#include <map>
#include <string>

class TTree;

namespace CladTorch {

/// Columns by their names: N numbers each, or N rows of numbers. `{{"score", model.Predict(data)}}`, and of several
/// outputs `{{"scores", FloatView(model.Predict(data)).Reshape(model.Outputs())}}`: as a list they would be N x C
/// numbers. In Python Predict() gives rows, and columns may be arrays and lists.
using NamedColumns_t = std::map<std::string, FloatView>;

/// [rows, columns], a copy; a list becomes one column. Throws for more rows or columns than an `int` can count.
TMatrixF ToMatrix(const FloatView &view);

/// A data frame of N entries: a `float` column for a list, an `RVec<float>` column for rows of numbers. The numbers are
/// shared, not copied. Throws for columns of different lengths and for names that are not C++ identifiers.
ROOT::RDF::RNode ToFrame(const NamedColumns_t &columns);

/// Writes a tree `name` to the new file `path`, entry by entry beside `tree`; make it a friend with
/// `tree.AddFriend("cladtorch", path)`.
///
/// ~~~{.cpp}
/// CladTorch::Dataset all(model.Columns());
/// all.Add(tree, 0);                                    // every entry: no cut
/// CladTorch::WriteFriend(tree, "scores.root", {{"score", model.Predict(all)}});
/// ~~~
///
/// A list becomes a branch of `float`, rows of numbers one of `float[columns]`. The file appears whole or not at all,
/// in place of an older one, whose mode and owner it keeps. Throws unless every column has one row per entry of the
/// tree and a name that expressions can use (letters, digits and _), and if the file cannot be written or Model::Save()
/// would refuse its path.
void WriteFriend(TTree &tree, const std::string &path, const NamedColumns_t &columns,
                 const std::string &name = "cladtorch");

} // namespace CladTorch

#endif
