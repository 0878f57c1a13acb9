#include "RootChecks.hxx"

#include "CheckChainColumn.hxx"
#include "ColumnType.hxx"
#include "Frame.hxx"
#include "TreeColumn.hxx"

#include <TBranchElement.h>
#include <TChain.h>
#include <TChainElement.h>
#include <TClass.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TFriendElement.h>
#include <TLeaf.h>
#include <TStreamerElement.h>
#include <TVirtualStreamerInfo.h>

#include <memory>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

/// Kinds of TBranchElement, as TBranchElement::GetType returns them.
enum EKind { kClones = 3, kCollection = 4, kClonesMember = 31, kCollectionMember = 41 };

/// A damaged file can contain classes without end.
constexpr int kDeepestClass = 16;

bool IsBitset(const std::string &type)
{
   return type.rfind("bitset<", 0) == 0 || type.rfind("std::bitset<", 0) == 0;
}

/// Whether ROOT gives a member of `type` in a list of objects the room of another container, and then frees memory that
/// it has not allocated, or ends the process.
bool FailsInList(const std::string &type)
{
   const auto container = ShapeOf(type).fContainers;
   return IsBitset(type) || type == "string" || type == "std::string" ||
          (!container.empty() && (container[0] == "list" || container[0] == "forward_list"));
}

/// The member whose type `fails`, so that ROOT cannot hold objects of `type` without its library; "" if there is none.
std::string WhyNotWithoutLibrary(TClass &type, bool (*fails)(const std::string &type), int depth = 0)
{
   if (type.HasDictionary())
      return "";
   auto *info = depth < kDeepestClass ? type.GetStreamerInfo() : nullptr;
   if (!info)
      return "the file does not describe class " + std::string(type.GetName());
   for (auto *element : TRangeDynCast<TStreamerElement>(info->GetElements())) {
      if (!element)
         continue;
      const std::string name = element->GetTypeName();
      if (fails(name))
         return "its member '" + std::string(element->GetName()) + "' (" + name + ") needs the library of class " +
                type.GetName();
      auto *inner = element->GetClassPointer();
      const bool object = inner && inner != &type && !inner->GetCollectionProxy() && !element->IsaPointer();
      if (object)
         if (auto reason = WhyNotWithoutLibrary(*inner, fails, depth + 1); !reason.empty())
            return reason;
   }
   return "";
}

/// Whether the branch holds arrays whose length is another member.
bool HasCount(const TBranchElement &branch)
{
   const int type = branch.GetStreamerType();
   constexpr int kFirst = TVirtualStreamerInfo::kOffsetP;
   return type > kFirst && type < kFirst + TVirtualStreamerInfo::kOffsetL;
}

/// Why ROOT cannot read a member of an object of class `type`; "" if it can.
std::string WhyNotObject(TClass *type, bool (*fails)(const std::string &type))
{
   const auto reason = type ? WhyNotWithoutLibrary(*type, fails) : "";
   return reason.empty() ? "" : "members of objects of class " + std::string(type->GetName()) +
                                   " without its dictionary: " + reason;
}

/// The class of the object that `branch` is a part of; null if it is not part of one.
TClass *WholeOf(TBranchElement &branch)
{
   auto *whole = dynamic_cast<TBranchElement *>(branch.GetMother());
   return whole && whole != &branch ? TClass::GetClass(whole->GetClassName(), kTRUE, kTRUE) : nullptr;
}

/// Why ROOT cannot read a member of the objects of a collection; "" if it can.
std::string WhyNotMember(TBranchElement &branch, const TypeShape &shape)
{
   const auto lists = shape.fContainers.size();
   const bool numbers = FindScalarType(shape.fElement) && (lists == 1 || (lists == 2 && shape.fContainers[1] == "array"));
   if (!branch.GetInfo()) // which also finds the member's place
      return "objects of a class that the file does not describe";
   if (!numbers || HasCount(branch))
      return "lists in the objects of a collection";
   const auto *master = branch.GetBranchCount();
   TClass *type = master ? TClass::GetClass(master->GetClonesName(), kTRUE, kTRUE) : nullptr;
   if (!type)
      return "objects of a class that the file does not describe";
   // There TTreeReaderArray uses the member's place in its own class as its place in the object.
   const std::string owner = branch.GetClassName();
   const bool own = owner == type->GetName() || owner == "TObject";
   if (branch.GetType() == kClonesMember && !own && (branch.GetOffset() != 0 || !type->InheritsFrom(owner.c_str())))
      return "members of members, or of a second base class, in a TClonesArray";
   return WhyNotObject(type, branch.GetType() == kCollectionMember ? FailsInList : IsBitset);
}

std::string WhyNotElement(TBranchElement &branch, const TypeShape &shape)
{
   switch (branch.GetType()) {
   case kClonesMember:
   case kCollectionMember: return WhyNotMember(branch, shape);
   case kClones:
   case kCollection: return "collections of objects as a whole (but their members, as columns of their own)";
   default: break;
   }
   if (HasCount(branch) && shape.fContainers.empty())
      return "members that are an array with a count";
   if (auto reason = WhyNotObject(WholeOf(branch), IsBitset); !reason.empty())
      return reason;
   const auto inner = shape.fContainers.size() == 2 ? shape.fContainers[1] : "vector";
   return inner == "vector" || inner == "RVec" || inner == "array" ? "" : "lists of " + inner + "s";
}

bool LeavesOffsetsOut(TBranch &branch)
{
   const auto *leaf = static_cast<TLeaf *>(branch.GetListOfLeaves()->First());
   const bool varies = branch.GetEntryOffsetLen() != 0 || (leaf && leaf->GetLeafCount());
   return varies && branch.GetIOFeatures().Test(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap);
}

/// The part of `branch` that ROOT's data frame reads wrongly because of its classes; "" if it reads all correctly.
std::string WhyNotByRoot(TBranch &branch, const std::string &column, const std::string &type)
{
   if (branch.IsA() == TBranchElement::Class())
      return WhyNotElement(static_cast<TBranchElement &>(branch), ShapeOf(type));
   const auto *leaf = static_cast<TLeaf *>(branch.GetListOfLeaves()->First());
   const bool list = !ShapeOf(type).fContainers.empty();
   if (list && branch.GetNleaves() == 1 && leaf && std::string(leaf->GetName()) != branch.GetName())
      return "arrays whose leaf ('" + std::string(leaf->GetName()) + "') has another name than their branch";
   if (leaf && IsTable(*leaf))
      return "arrays of arrays with a count (but the fast reader reads one from a file, as a list: Dataset::Column(\"" +
             column + "\", length))";
   const std::string name = branch.ClassName();
   const auto longer = std::string(branch.GetName()) + "." + (leaf ? leaf->GetName() : "");
   const bool named = column.size() >= longer.size() && column.substr(column.size() - longer.size()) == longer;
   if (named && leaf && leaf->GetLeafCount())
      return "arrays with a count under the names of branch and leaf (but under that of the branch, '" +
             std::string(branch.GetName()) + "')";
   return name == "TBranchSTL" || name == "TBranchClones" ? "branches of class " + name : "";
}

[[noreturn]] void Refuse(const std::string &what, const std::string &column, const std::string &file,
                         const std::string &source)
{
   throw std::runtime_error("column '" + column + "' of " + source + (file.empty() ? "" : " (in " + file + ")") +
                            " is not read: ROOT's data frame does not read " + what +
                            " reliably. Write the numbers into a branch of their own, in a loop over TTree::GetEntry");
}

/// After the last entry of a branch ROOT repeats that entry's values.
void CheckLength(TBranch &branch, const std::string &column, const std::string &file, const std::string &source)
{
   const auto entries = branch.GetEntries(), all = branch.GetTree()->GetEntries();
   if (entries < all)
      throw std::runtime_error("column '" + column + "' of " + source + (file.empty() ? "" : " (in " + file + ")") +
                               " is not read: its branch has " + std::to_string(entries) + " entries, its tree " +
                               std::to_string(all) + ". Write the tree again, with a value for every event");
}

/// Throws for what ROOT would read wrongly because of the baskets, which differ from file to file.
void CheckBaskets(TTree &tree, const std::set<std::string> &columns, const std::string &file, const std::string &source)
{
   for (const auto &column : columns) {
      auto *branch = BranchInFriends(tree, column);
      if (!branch)
         continue;
      CheckLength(*branch, column, file, source);
      if (HasEmptyBasket(*branch))
         Refuse("entries after a basket without entries", column, file, source);
      if (LeavesOffsetsOut(*branch))
         Refuse("arrays with a count in baskets that omit the offsets of their entries", column, file, source);
   }
}

bool HasSeveralFiles(TTree &tree)
{
   auto *chain = dynamic_cast<TChain *>(&tree);
   return chain && chain->GetListOfFiles()->GetEntries() > 1;
}

/// \param whole Whether every entry is read.
void CheckFiles(TChain &chain, const std::set<std::string> &columns, bool whole, const std::string &source)
{
   TTree *loaded = LoadedTree(chain);
   for (auto *element : TRangeDynCast<TChainElement>(chain.GetListOfFiles())) {
      const std::unique_ptr<TFile> file(element ? TFile::Open(element->GetTitle()) : nullptr);
      auto *part = file ? file->Get<TTree>(element->GetName()) : nullptr;
      if (!part || !loaded)
         continue;
      for (const auto &column : columns)
         CheckChainColumn(*loaded, *part, column, element->GetTitle(), whole);
      CheckBaskets(*part, columns, element->GetTitle(), source);
   }
}

/// Checks the chains among the friends of `tree`; `loaded` is the tree that it has loaded.
void CheckFriends(TTree &tree, TTree &loaded, const std::set<std::string> &columns, bool whole, const std::string &source)
{
   const auto *friends = tree.GetListOfFriends();
   for (int i = 0; friends && i < friends->GetSize(); ++i) {
      auto &element = static_cast<TFriendElement &>(*friends->At(i));
      if (!element.GetTree() || !HasSeveralFiles(*element.GetTree()))
         continue;
      const std::string prefix = std::string(element.GetName()) + ".";
      std::set<std::string> names;
      for (const auto &column : columns)
         if (!BranchOf(loaded, column))
            names.insert(column.compare(0, prefix.size(), prefix) == 0 ? column.substr(prefix.size()) : column);
      CheckFiles(static_cast<TChain &>(*element.GetTree()), names, whole, source);
   }
}

} // namespace

bool HasEmptyBasket(TBranch &branch)
{
   const auto *firsts = branch.GetBasketEntry();
   for (int i = 0; firsts && i < branch.GetWriteBasket() && i + 1 < branch.GetMaxBaskets(); ++i)
      if (firsts[i] == firsts[i + 1] && firsts[i] < branch.GetEntries())
         return true;
   return false;
}

bool IsTable(const TLeaf &leaf)
{
   return leaf.GetLeafCount() && leaf.GetLenStatic() > 1;
}

void CheckColumns(ROOT::RDF::RNode frame, const std::set<std::string> &columns, const std::string &source)
{
   TTree *tree = TreeOf(frame);
   TTree *first = tree ? LoadedTree(*tree) : nullptr;
   std::set<std::string> read;
   for (const auto &column : columns)
      if (!IsDefined(frame, column))
         read.insert(column);
   if (!first || read.empty())
      return;
   for (const auto &column : read)
      if (auto *branch = BranchInFriends(*first, column))
         if (const auto reason = WhyNotByRoot(*branch, column, frame.GetColumnType(column)); !reason.empty())
            Refuse(reason, column, "", source);
   const TDirectory::TContext context;
   if (HasSeveralFiles(*tree))
      CheckFiles(static_cast<TChain &>(*tree), read, ReadsWhole(frame), source);
   else
      CheckBaskets(*first, read, "", source);
   CheckFriends(*tree, *first, read, ReadsWhole(frame), source);
}

} // namespace Internal
} // namespace CladTorch
