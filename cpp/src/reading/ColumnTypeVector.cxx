#include "ColumnTypeTable.hxx"

#include <vector>

namespace CladTorch {
namespace Internal {

template <class T>
using Vector = std::vector<T>;

const ColumnType *FindVectorType(const std::string &element)
{
   return FindByElement<Vector>(element);
}

} // namespace Internal
} // namespace CladTorch
