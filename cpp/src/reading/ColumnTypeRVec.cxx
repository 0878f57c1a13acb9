#include "ColumnTypeTable.hxx"

namespace CladTorch {
namespace Internal {

const ColumnType *FindRVecType(const std::string &element)
{
   return FindByElement<ROOT::RVec>(element);
}

} // namespace Internal
} // namespace CladTorch
