#include "ColumnType.hxx"

#include <initializer_list>

namespace CladTorch {
namespace Internal {

namespace {
std::string WithoutNamespace(std::string name)
{
   for (const char *prefix : {"std::", "ROOT::VecOps::", "ROOT::"})
      if (name.rfind(prefix, 0) == 0)
         name.erase(0, std::string(prefix).size());
   return name;
}

/// The end of the first argument of a template's list that begins at `start`.
std::size_t EndOfArgument(const std::string &type, std::size_t start)
{
   int depth = 0;
   for (auto at = start; at < type.size(); ++at) {
      if (depth == 0 && (type[at] == ',' || type[at] == '>'))
         return at;
      depth += (type[at] == '<') - (type[at] == '>');
   }
   return type.size();
}

bool IsContainer(const std::string &name)
{
   for (const char *container : {"RVec", "vector", "array", "list", "deque", "set", "multiset", "forward_list"})
      if (name == container)
         return true;
   return false;
}
} // namespace

TypeShape ShapeOf(const std::string &type)
{
   TypeShape shape{{}, type};
   for (;;) {
      const auto open = shape.fElement.find('<');
      const auto container = WithoutNamespace(shape.fElement.substr(0, open));
      if (open == std::string::npos || !IsContainer(container))
         return shape;
      shape.fContainers.push_back(container);
      auto inner = shape.fElement.substr(open + 1, EndOfArgument(shape.fElement, open + 1) - open - 1);
      inner.erase(inner.find_last_not_of(' ') + 1);
      shape.fElement = std::move(inner);
   }
}

const ColumnType *FindColumnType(const std::string &type)
{
   const auto shape = ShapeOf(type);
   if (shape.fContainers.empty())
      return FindScalarType(shape.fElement);
   if (shape.fContainers.size() > 1)
      return nullptr;
   if (shape.fContainers[0] == "RVec")
      return FindRVecType(shape.fElement);
   return shape.fContainers[0] == "vector" ? FindVectorType(shape.fElement) : nullptr;
}

} // namespace Internal
} // namespace CladTorch
