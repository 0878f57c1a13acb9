#include "BranchLayout.hxx"

#include "TreeColumn.hxx"

#include <TBranchElement.h>
#include <TDataType.h>
#include <TFile.h>
#include <TLeafB.h>
#include <TLeafD.h>
#include <TLeafF.h>
#include <TLeafG.h>
#include <TLeafI.h>
#include <TLeafL.h>
#include <TLeafO.h>
#include <TLeafS.h>
#include <TROOT.h>
#include <TTree.h>

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace CladTorch {
namespace Internal {

namespace {

using Core::Element;
using Core::Shape;

/// The type of a leaf's values, if it is supported. Classes are compared exactly: a derived leaf may write something
/// else.
std::optional<Element> ElementOf(const TLeaf &leaf)
{
   const TClass *type = leaf.IsA();
   const auto by = [&](Element plain, Element isUnsigned) { return leaf.IsUnsigned() ? isUnsigned : plain; };
   if (type == TLeafF::Class())
      return Element::F32;
   if (type == TLeafD::Class())
      return Element::F64;
   if (type == TLeafI::Class())
      return by(Element::I32, Element::U32);
   if (type == TLeafS::Class())
      return by(Element::I16, Element::U16);
   if (type == TLeafB::Class())
      return by(Element::I8, Element::U8);
   if (type == TLeafO::Class())
      return Element::Bool;
   if (type == TLeafL::Class() || type == TLeafG::Class())
      return by(Element::I64, Element::U64);
   return std::nullopt;
}

/// The same for the elements of a vector, by the name of their type.
std::optional<Element> ElementOf(const std::string &name)
{
   const TDataType *type = gROOT->GetType(name.c_str());
   switch (type ? type->GetType() : 0) {
   case kBool_t: return Element::Bool;
   case kChar_t: return Element::I8;
   case kUChar_t: return Element::U8;
   case kShort_t: return Element::I16;
   case kUShort_t: return Element::U16;
   case kInt_t: return Element::I32;
   case kUInt_t: return Element::U32;
   case kLong_t:
   case kLong64_t: return Element::I64;
   case kULong_t:
   case kULong64_t: return Element::U64;
   case kFloat_t: return Element::F32;
   case kDouble_t: return Element::F64;
   default: return std::nullopt;
   }
}

/// "float" of "vector<float>" or "ROOT::VecOps::RVec<float>"; "" for any other class.
std::string VectorElement(const std::string &name)
{
   for (const std::string prefix : {"vector<", "ROOT::VecOps::RVec<"})
      if (name.compare(0, prefix.size(), prefix) == 0 && name.back() == '>')
         return name.substr(prefix.size(), name.size() - prefix.size() - 1);
   return "";
}

/// A column's branch and leaf, by the names that a data frame gives them: "branch" or "branch.leaf".
TLeaf *FindLeaf(TTree &tree, const std::string &name)
{
   const auto plain = [&](const std::string &branchName) {
      TBranch *branch = tree.GetBranch(branchName.c_str());
      return branch && branch->GetTree() == &tree && branchName == branch->GetName() ? branch : nullptr;
   };
   if (TBranch *branch = plain(name))
      return branch->GetNleaves() == 1 ? static_cast<TLeaf *>(branch->GetListOfLeaves()->First()) : nullptr;
   const auto dot = name.rfind('.');
   if (dot == std::string::npos)
      return nullptr;
   TBranch *branch = plain(name.substr(0, dot));
   return branch ? static_cast<TLeaf *>(branch->GetListOfLeaves()->FindObject(name.substr(dot + 1).c_str())) : nullptr;
}

/// A branch whose leaves all have a fixed length; `leaf` is one of them.
std::string DescribeFixed(TBranch &branch, const TLeaf &leaf, Core::LeafSpec &spec)
{
   std::size_t length = 0;
   for (auto *each : TRangeDynCast<TLeaf>(branch.GetListOfLeaves())) {
      if (!each || !ElementOf(*each) || each->GetLeafCount())
         return "a leaf of its branch has no fixed length";
      if (each == &leaf)
         spec.offset = length;
      length += static_cast<std::size_t>(each->GetLenType()) * each->GetLenStatic();
   }
   if (branch.GetEntryOffsetLen() != 0)
      return "entries of one length, but with a list of offsets";
   spec.shape = Shape::Fixed;
   spec.entry_length = length;
   spec.length = leaf.GetLenStatic();
   return "";
}

std::string DescribeLeaf(TBranch &branch, const TLeaf &leaf, Core::LeafSpec &spec)
{
   const auto element = ElementOf(leaf);
   if (!element)
      return std::string("leaves of class ") + leaf.ClassName() + " need ROOT";
   spec.element = *element;
   if (!leaf.GetLeafCount())
      return DescribeFixed(branch, leaf, spec);
   if (branch.GetNleaves() != 1 || leaf.GetLenStatic() < 1 || branch.GetEntryOffsetLen() == 0)
      return "an array of an unusual layout";
   spec.shape = Shape::Array;
   return "";
}

std::string DescribeVector(const TBranchElement &branch, Core::LeafSpec &spec)
{
   constexpr int kUnsplit = 0;
   const auto element = ElementOf(VectorElement(branch.GetClassName()));
   if (!element || branch.GetType() != kUnsplit || branch.GetID() >= 0 ||
       branch.GetMother() != &branch || branch.GetNleaves() != 1 || branch.GetEntryOffsetLen() == 0)
      return std::string("members and objects of class ") + branch.GetClassName() + " need ROOT";
   spec.element = *element;
   spec.shape = Shape::Vector;
   return "";
}

std::string SpecOfLeaf(TBranch &branch, const TLeaf &leaf, Core::LeafSpec &spec)
{
   if (branch.IsA() == TBranch::Class())
      return DescribeLeaf(branch, leaf, spec);
   if (branch.IsA() == TBranchElement::Class())
      return DescribeVector(static_cast<TBranchElement &>(branch), spec);
   return std::string("branches of class ") + branch.ClassName() + " need ROOT";
}

/// Whether the file that ROOT has open is the one that its name refers to.
bool IsUnderItsName(const TFile &file)
{
   struct stat open, named;
   return fstat(file.GetFd(), &open) == 0 && stat(file.GetName(), &named) == 0 && open.st_dev == named.st_dev &&
          open.st_ino == named.st_ino;
}

/// Whether all of the branch's entries lie in baskets of the tree's own file.
std::string CheckBaskets(TBranch &branch)
{
   if (*branch.GetFileName())
      return "its branch has a file of its own";
   if (branch.GetIOFeatures().Test(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap))
      return "its baskets omit the offsets of their entries";
   if (branch.GetEntries() != branch.GetTree()->GetEntries() || branch.GetFirstEntry() != 0)
      return "its branch has fewer or more entries than the tree";
   const int baskets = branch.GetWriteBasket();
   if (baskets < 0 || baskets >= branch.GetMaxBaskets()) // ROOT allocates room for one more
      return "its branch has an impossible number of baskets";
   for (int i = 0; i < baskets; ++i)
      if (branch.GetBasketSeek(i) <= 0 || branch.GetBasketBytes()[i] <= 0)
         return "a basket of its branch does not lie in the file";
   if (branch.GetEntries() > 0 && (baskets == 0 || branch.GetBasketEntry()[baskets] != branch.GetEntries()))
      return "its last basket lies inside the tree";
   return "";
}

Core::ColumnPart PartOf(const ColumnTarget &target)
{
   switch (target.fPart) {
   case ColumnTarget::kLabel: return Core::ColumnPart::Label;
   case ColumnTarget::kWeight: return Core::ColumnPart::Weight;
   default: return Core::ColumnPart::Features;
   }
}

} // namespace

std::string WhyNotFast(const TFile *file, TTree &tree)
{
   constexpr int kOldestVersion = 30402; // before it, a basket did not record whether it is compressed
   if (!file)
      return "the tree lives in memory";
   if (file->IsA() != TFile::Class())
      return std::string("files of class ") + file->ClassName() + " are read by ROOT";
   if (file->IsWritable())
      return "the file is being written";
   if (!IsUnderItsName(*file))
      return "the file has been renamed, replaced or removed";
   if (file->GetArchive())
      return "the file lies in an archive";
   if (file->GetVersion() % 1000000 < kOldestVersion)
      return "the file was written by a ROOT before 3.04";
   if (tree.GetEntryList())
      return "the tree has an entry list";
   return "";
}

Core::TargetSpec ToSpec(const ColumnTarget &target)
{
   return {target.fName, PartOf(target), target.fOffset, target.fLength, target.fPad, target.fScalar};
}

std::string AddToLayout(Core::TreeFile &layout, TTree &tree, const ColumnTarget &target)
{
   BranchOf(tree, target.fColumn); // throws if several branches have that name
   TLeaf *leaf = FindLeaf(tree, target.fColumn);
   if (!leaf)
      return "it is not a branch of the tree itself with exactly one leaf";
   TBranch &branch = *leaf->GetBranch();
   Core::LeafSpec spec{};
   auto reason = SpecOfLeaf(branch, *leaf, spec);
   if (reason.empty() && target.fScalar && (spec.shape != Shape::Fixed || spec.length != 1))
      reason = "it has several numbers an event";
   if (reason.empty())
      reason = CheckBaskets(branch);
   if (!reason.empty())
      return reason;
   spec.target = ToSpec(target);
   const auto baskets = static_cast<std::size_t>(branch.GetWriteBasket());
   std::vector<std::int64_t> seeks(baskets), firsts(baskets);
   for (std::size_t i = 0; i < baskets; ++i) {
      seeks[i] = branch.GetBasketSeek(static_cast<int>(i));
      firsts[i] = branch.GetBasketEntry()[i];
   }
   const rust::Slice<const std::int32_t> bytes(branch.GetBasketBytes(), baskets);
   Core::tree_file_add(layout, spec, {seeks.data(), baskets}, bytes, {firsts.data(), baskets});
   return "";
}

} // namespace Internal
} // namespace CladTorch
