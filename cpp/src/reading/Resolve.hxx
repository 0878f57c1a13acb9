/// \file Resolve.hxx
/// \brief From what a user calls a column to what a data frame can read.

#ifndef CLADTORCH_RESOLVE
#define CLADTORCH_RESOLVE

#include "ColumnType.hxx"

#include <ROOT/RDataFrame.hxx>

#include <string>

namespace CladTorch {
namespace Internal {

/// Finds the functions for the column that `target` reads. If there is no such column, the text is an expression (see
/// Dataset); if its type needs the interpreter (std::array, lists of lists), it is converted. Both become columns of
/// `frame`, and `target.fColumn` the name of the one to read. Throws for a column that is missing or of another kind.
const ColumnType &Resolve(ROOT::RDF::RNode &frame, ColumnTarget &target, const std::string &source);

} // namespace Internal
} // namespace CladTorch

#endif
