/// \file RootChecks.hxx
/// \brief What ROOT's data frame reads wrongly from trees, or ends the process over.

#ifndef CLADTORCH_ROOTCHECKS
#define CLADTORCH_ROOTCHECKS

#include <ROOT/RDataFrame.hxx>

#include <set>
#include <string>

class TBranch;
class TLeaf;

namespace CladTorch {
namespace Internal {

/// Whether a basket before the last entry has no entries. ROOT's reader gives the entry after it the values of the
/// entry before; the fast reader reads it correctly.
bool HasEmptyBasket(TBranch &branch);

/// Whether the leaf holds `a[n][3]`: arrays of a fixed length, whose number is in another leaf.
bool IsTable(const TLeaf &leaf);

/// Throws if ROOT's data frame would read one of `columns` wrongly, or end the process: because of its class, in the
/// first tree; because of its type or the layout of its baskets, in the tree of every file. Columns that are not
/// branches of a tree pass.
void CheckColumns(ROOT::RDF::RNode frame, const std::set<std::string> &columns, const std::string &source);

} // namespace Internal
} // namespace CladTorch

#endif
