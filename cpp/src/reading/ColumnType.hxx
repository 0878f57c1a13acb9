/// \file ColumnType.hxx
/// \brief What can be done with a column of a known C++ type without the interpreter.

#ifndef CLADTORCH_COLUMNTYPE
#define CLADTORCH_COLUMNTYPE

#include "Collector.hxx"

#include <ROOT/RDataFrame.hxx>
#include <ROOT/RVec.hxx>

#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The values of one column for one event and, through `fPrevious`, those of the columns before it.
///
/// Mlp::Define lets each column's link point to the previous one, so that a row is complete when the last column is
/// known. A link lives in its data frame node, so each systematic variation of a column has its own links.
struct RowLink {
   const RowLink *fPrevious = nullptr;
   ROOT::RVecF fValues; ///< as long as the column, or one for each object of the event
};

/// Functions compiled for one column type.
struct ColumnType {
   bool fScalar;
   /// Books an action that writes each event's values to `collector`.
   ROOT::RDF::RResultPtr<Collector> (*fBook)(ROOT::RDF::RNode &frame, std::shared_ptr<Collector> collector,
                                                const ColumnTarget &target);
   /// Defines the column `link` of type RowLink that follows the column `previous`.
   ROOT::RDF::RNode (*fDefine)(ROOT::RDF::RNode &frame, const std::string &link, const std::string &previous,
                               const ColumnTarget &target);
};

/// The spelling of a type, taken apart: `vector<array<int,3> >` is two containers around an `int`.
struct TypeShape {
   std::vector<std::string> fContainers; ///< from the outside in, without their namespaces
   std::string fElement;
};
TypeShape ShapeOf(const std::string &type);

/// The functions for a type as `GetColumnType` names it; null if there are none.
const ColumnType *FindColumnType(const std::string &type);

/// The functions by the name of an arithmetic type; null for any other. There is one function for each shape of column,
/// so that the many instantiations are spread over several files.
const ColumnType *FindScalarType(const std::string &element);
const ColumnType *FindRVecType(const std::string &element);
const ColumnType *FindVectorType(const std::string &element);

} // namespace Internal
} // namespace CladTorch

#endif
