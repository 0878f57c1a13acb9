#include "CheckChainColumn.hxx"

#include "ColumnType.hxx"
#include "TreeColumn.hxx"

#include <ROOT/RDF/Utils.hxx>
#include <TBranch.h>
#include <TDataType.h>
#include <TROOT.h>
#include <TTree.h>

#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

/// The type in memory that ROOT gives to values that are `element` in the file; 0 for non-numeric ones.
int InMemory(const std::string &element)
{
   const TDataType *type = gROOT->GetType(element.c_str());
   switch (const int kind = type ? type->GetType() : 0) {
   case kFloat16_t: return kFloat_t;
   case kDouble32_t: return kDouble_t;
   default: return kind;
   }
}

bool SameInMemory(const std::string &one, const std::string &other)
{
   const auto a = ShapeOf(one), b = ShapeOf(other);
   return a.fContainers == b.fContainers &&
          (a.fElement == b.fElement || (InMemory(a.fElement) && InMemory(a.fElement) == InMemory(b.fElement)));
}

} // namespace

void CheckChainColumn(TTree &loaded, TTree &part, const std::string &column, const std::string &file, bool whole)
{
   const auto *taken = BranchOf(loaded, column);
   if (!taken)
      return;
   const auto *found = BranchOf(part, column);
   if (!found) {
      if (whole)
         throw std::runtime_error("file " + file + " has no column '" + column + "' in its tree '" + part.GetName() +
                                  "', but another one has: leave the file out, or write the column into it");
      return;
   }
   using ROOT::Internal::RDF::GetBranchOrLeafTypeName;
   const auto type = GetBranchOrLeafTypeName(loaded, column), here = GetBranchOrLeafTypeName(part, column);
   if (!SameInMemory(type, here) || taken->IsA() != found->IsA()) // a list as an array of a leaf, or as an object
      throw std::runtime_error("file " + file + " has '" + column + "' as " + here + " (" + found->ClassName() +
                               "), but another one as " + type + " (" + taken->ClassName() +
                               "), and ROOT's data frame would read one as the other: read the files one by one");
}

} // namespace Internal
} // namespace CladTorch
