#include "ColumnType.hxx"

#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {
/// "X" of "prefix<X>" or "prefix<X,...>" (an allocator); "" for any other type.
std::string ElementOf(const std::string &type, const std::string &prefix)
{
   if (type.size() <= prefix.size() + 2 || type.compare(0, prefix.size() + 1, prefix + "<") != 0)
      return "";
   const auto start = prefix.size() + 1;
   return type.substr(start, type.find_first_of(",>", start) - start);
}

const ColumnType *Find(const std::string &type)
{
   for (const char *prefix : {"ROOT::VecOps::RVec", "ROOT::RVec"}) {
      const auto element = ElementOf(type, prefix);
      if (!element.empty())
         return FindRVecType(element);
   }
   for (const char *prefix : {"std::vector", "vector"}) {
      const auto element = ElementOf(type, prefix);
      if (!element.empty())
         return FindVectorType(element);
   }
   return FindScalarType(type);
}
} // namespace

const ColumnType &FindColumnType(const std::string &type, const std::string &column, const std::string &source)
{
   if (const auto *found = Find(type))
      return *found;
   throw std::runtime_error("column '" + column + "' of " + source + " has type " + type +
                            ", which holds no list of numbers: define a column of an arithmetic type or a "
                            "ROOT::RVec of one from it");
}

} // namespace Internal
} // namespace CladTorch
