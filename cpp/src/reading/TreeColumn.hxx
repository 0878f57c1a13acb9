/// \file TreeColumn.hxx
/// \brief Which branch of a tree a column is.

#ifndef CLADTORCH_TREECOLUMN
#define CLADTORCH_TREECOLUMN

#include <ROOT/RDataFrame.hxx>

#include <string>

class TBranch;
class TTree;

namespace CladTorch {
namespace Internal {

/// The branch that `column` ("branch" or "branch.leaf") reads; null if the tree has none of that name. Throws if
/// several have it, or if ROOT finds another one under it: a silent choice would read the wrong values.
TBranch *BranchOf(TTree &tree, const std::string &column);

/// The same in the tree or, if it has none, in its friends.
TBranch *BranchInFriends(TTree &tree, const std::string &column);

/// The name under which the data frame reads `column`: with its lengths ("tracks.fMass[2]" for "tracks.fMass"), or its
/// full name if ROOT knows it only under that.
std::string NameInFrame(ROOT::RDF::RNode frame, const std::string &column);

/// The tree that a chain has loaded, or its first one if none is; a plain tree itself. Null if there is none.
TTree *LoadedTree(TTree &tree);

/// Whether `column` is computed by the data frame.
bool IsDefined(ROOT::RDF::RNode frame, const std::string &column);

} // namespace Internal
} // namespace CladTorch

#endif
