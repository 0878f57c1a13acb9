#include "TreeColumn.hxx"

#include "Frame.hxx"

#include <TBranch.h>
#include <TChain.h>
#include <TFriendElement.h>
#include <TLeaf.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

/// A damaged file can contain branches or friends without end.
constexpr int kDeepestBranch = 16;

std::string FullName(TBranch &branch)
{
   return branch.GetFullName().Data();
}

std::string WithoutLengths(const std::string &name)
{
   return name.substr(0, name.find('['));
}

void CollectCalled(const TObjArray &branches, const std::string &name, int depth, std::vector<TBranch *> &found)
{
   for (auto *branch : TRangeDynCast<TBranch>(branches)) {
      if (!branch)
         continue;
      const std::string own = branch->GetName(); // the full name ends with it
      if (name == own || (EndsWith(name, own) && name == FullName(*branch)))
         found.push_back(branch);
      if (depth < kDeepestBranch)
         CollectCalled(*branch->GetListOfBranches(), name, depth + 1, found);
   }
}

/// The branches called `name`: only those with that full name, if there are any.
std::vector<TBranch *> Called(TTree &tree, const std::string &name)
{
   std::vector<TBranch *> found;
   CollectCalled(*tree.GetListOfBranches(), name, 0, found);
   std::vector<TBranch *> fully;
   std::copy_if(found.begin(), found.end(), std::back_inserter(fully),
                [&](TBranch *branch) { return name == FullName(*branch); });
   return fully.empty() ? found : fully;
}

[[noreturn]] void RefuseName(const std::string &name, const std::vector<TBranch *> &called, TBranch *taken)
{
   std::set<std::string> names;
   for (auto *branch : called)
      names.insert(FullName(*branch));
   std::string list;
   for (const auto &each : names)
      list += (list.empty() ? "'" : ", '") + each + "'";
   if (called.size() == 1)
      throw std::runtime_error("'" + name + "' is the branch " + list + ", but ROOT finds " +
                               (taken ? "the branch '" + FullName(*taken) + "'" : "none") +
                               " under that name: write the tree again with different names");
   throw std::runtime_error(std::to_string(called.size()) + " branches are called '" + name + "'" +
                            (names.size() < called.size()
                                ? ": write the tree again with different names"
                                : ": name one of " + list));
}

/// "jets" for "jets.jets", the only leaf of a branch of its name; `column` itself for all others.
std::string WithoutOnlyLeaf(TTree &tree, const std::string &column)
{
   const auto dot = column.rfind('.');
   if (dot == std::string::npos || column.substr(0, dot) != column.substr(dot + 1))
      return column;
   const auto name = column.substr(0, dot);
   TBranch *branch = tree.GetBranch(name.c_str());
   const auto *leaves = branch && name == branch->GetName() ? branch->GetListOfLeaves() : nullptr;
   return leaves && leaves->GetEntries() == 1 && name == leaves->First()->GetName() ? name : column;
}

TBranch *SearchFriends(TTree &tree, const std::string &column, int depth)
{
   if (auto *branch = BranchOf(tree, column))
      return branch;
   const auto *friends = depth < kDeepestBranch ? tree.GetListOfFriends() : nullptr;
   for (int i = 0; friends && i < friends->GetSize(); ++i) {
      auto &element = static_cast<TFriendElement &>(*friends->At(i));
      auto *other = element.GetTree() ? LoadedTree(*element.GetTree()) : nullptr;
      if (!other)
         continue;
      const std::string prefix = std::string(element.GetName()) + ".";
      const bool named = column.compare(0, prefix.size(), prefix) == 0;
      if (auto *branch = SearchFriends(*other, named ? column.substr(prefix.size()) : column, depth + 1))
         return branch;
   }
   return nullptr;
}

} // namespace

TBranch *BranchOf(TTree &tree, const std::string &column)
{
   const auto dot = column.rfind('.');
   for (const auto &name : {column, dot == std::string::npos ? std::string() : column.substr(0, dot)}) {
      const auto called = name.empty() ? std::vector<TBranch *>() : Called(tree, name);
      if (called.empty())
         continue;
      const bool leaf = name != column;
      if (leaf && std::none_of(called.begin(), called.end(), [&](TBranch *branch) {
             return branch->GetListOfLeaves()->FindObject(column.substr(dot + 1).c_str());
          }))
         continue;
      TBranch *taken = tree.GetBranch(name.c_str());
      if (called.size() > 1 || taken != called[0])
         RefuseName(name, called, taken);
      return taken;
   }
   return nullptr;
}

TBranch *BranchInFriends(TTree &tree, const std::string &column)
{
   return SearchFriends(tree, column, 0);
}

std::string NameInFrame(ROOT::RDF::RNode frame, const std::string &column)
{
   TTree *tree = TreeOf(frame);
   tree = tree && !IsDefined(frame, column) ? LoadedTree(*tree) : nullptr;
   // Under the longer name ROOT's reader takes the count of an array from arbitrary memory.
   if (const auto name = tree ? WithoutOnlyLeaf(*tree, column) : column; name != column && frame.HasColumn(name))
      return name;
   if (!tree || (frame.HasColumn(column) && column.find('[') == std::string::npos))
      return column;
   std::set<std::string> names;
   for (const auto &name : frame.GetColumnNames()) {
      const bool same = name == column || WithoutLengths(name) == column;
      for (auto *branch : same ? Called(*tree, name) : std::vector<TBranch *>())
         names.insert(FullName(*branch));
   }
   return names.size() == 1 && frame.HasColumn(*names.begin()) ? *names.begin() : column;
}

TTree *LoadedTree(TTree &tree)
{
   if (tree.InheritsFrom(TChain::Class()) && !tree.GetTree())
      tree.LoadTree(0);
   return tree.GetTree();
}

bool IsDefined(ROOT::RDF::RNode frame, const std::string &column)
{
   const auto defined = frame.GetDefinedColumnNames();
   return std::find(defined.begin(), defined.end(), column) != defined.end();
}

} // namespace Internal
} // namespace CladTorch
