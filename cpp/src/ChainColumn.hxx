/// \file ChainColumn.hxx
/// \brief What a column has to be in every file of a chain.

#ifndef CLADTORCH_CHAINCOLUMN
#define CLADTORCH_CHAINCOLUMN

#include <ROOT/RDataFrame.hxx>

#include <string>

class TTree;

namespace CladTorch {
namespace Internal {

/// Throws where `part`, the tree of one `file` of the chain of `frame`, has numbers of another type in `column` than the
/// tree that the chain has loaded: ROOT's data frame reads their bytes as that type. Throws for a missing column, too,
/// unless the user's nodes of `frame` may leave its entries out (FilterAvailable). Columns of friends pass.
void CheckChainColumn(ROOT::RDF::RNode frame, TTree &part, const std::string &column, const std::string &file);

} // namespace Internal
} // namespace CladTorch

#endif
