/// \file Frame.hxx
/// \brief What CladTorch asks of a data frame node besides its columns.

#ifndef CLADTORCH_FRAME
#define CLADTORCH_FRAME

#include <ROOT/RDataFrame.hxx>

#include <string>
#include <vector>

class TTree;

namespace CladTorch {
namespace Internal {

/// Whether `text` ends with `end`.
bool EndsWith(const std::string &text, const std::string &end);

/// The tree or chain that `frame` reads; null if it reads something else.
TTree *TreeOf(const ROOT::RDF::RNode &frame);

/// Whether `frame` reads an RNTuple.
bool ReadsRNTuple(const ROOT::RDF::RNode &frame);

/// Whether `frame` yields every entry of its tree: there is no filter or range above it.
bool ReadsWhole(const ROOT::RDF::RNode &frame);

/// Whether `column` has systematic variations.
bool Varies(const ROOT::RDF::RNode &frame, const std::string &column);

/// "tree 'sig_tree' of Higgs_data.root", for messages.
std::string Describe(const ROOT::RDF::RNode &frame);

/// The type of a column; throws for a missing one, naming those with similar spelling.
std::string TypeOfColumn(ROOT::RDF::RNode &frame, const std::string &column, const std::string &source);

/// " has no column 'm_bbb'; the nearest of its 28: 'm_bb', ...", to follow the name of the source.
std::string NoColumn(ROOT::RDF::RNode &frame, const std::string &column);

/// Opens the tree or RNTuple `name` of `files` (a name, glob or URL). Throws if a file cannot be opened or has no such
/// tree, and lists the trees that it has.
ROOT::RDF::RNode OpenFiles(const std::string &name, const std::vector<std::string> &files);

/// A data frame on `tree`, which may be in memory. Throws for a null pointer and for a chain without files.
ROOT::RDF::RNode OpenTree(TTree *tree);

} // namespace Internal
} // namespace CladTorch

#endif
