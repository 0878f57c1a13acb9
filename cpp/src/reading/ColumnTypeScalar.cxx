#include "ColumnTypeTable.hxx"

namespace CladTorch {
namespace Internal {

template <class T>
using Scalar = T;

const ColumnType *FindScalarType(const std::string &element)
{
   return FindByElement<Scalar>(element);
}

} // namespace Internal
} // namespace CladTorch
