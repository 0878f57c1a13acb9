/// \file CheckChainColumn.hxx
/// \brief What a column has to be in every file of a chain.

#ifndef CLADTORCH_CHECKCHAINCOLUMN
#define CLADTORCH_CHECKCHAINCOLUMN

#include <string>

class TTree;

namespace CladTorch {
namespace Internal {

/// Throws if `part`, the tree of one `file` of a chain, has values of another type in `column` than `loaded`, the tree
/// that the chain has loaded: ROOT's data frame reads their bytes as that type. Throws for a missing column, too, if
/// the `whole` chain is read; if not, the user's own nodes may leave its entries out (FilterAvailable).
void CheckChainColumn(TTree &loaded, TTree &part, const std::string &column, const std::string &file, bool whole);

} // namespace Internal
} // namespace CladTorch

#endif
