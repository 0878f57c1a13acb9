#include "Frame.hxx"

#include <ROOT/RDF/RLoopManager.hxx>
#include <ROOT/RNTupleDS.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RTTreeDS.hxx>
#include <TChain.h>
#include <TChainElement.h>
#include <TClass.h>
#include <TFile.h>
#include <TFriendElement.h>
#include <TKey.h>
#include <TList.h>
#include <TROOT.h>
#include <TTree.h>

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

/// Gives access to the protected members of a node.
struct SourceAccess : ROOT::RDF::RNode {
   explicit SourceAccess(const ROOT::RDF::RNode &node) : ROOT::RDF::RNode(node) {}
   using ROOT::RDF::RNode::GetDataSource;
   using ROOT::RDF::RNode::GetLoopManager;
   using ROOT::RDF::RNode::GetProxiedPtr;
   using ROOT::RDF::RNode::fColRegister;
};

std::string Join(const std::vector<std::string> &names)
{
   std::string text;
   for (const auto &name : names)
      text += (text.empty() ? "'" : ", '") + name + "'";
   return text;
}

int Lower(char letter)
{
   return std::tolower(static_cast<unsigned char>(letter));
}

/// Levenshtein's distance, ignoring case.
std::size_t Distance(const std::string &a, const std::string &b)
{
   std::vector<std::size_t> row(b.size() + 1);
   std::iota(row.begin(), row.end(), 0);
   for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < b.size(); ++j) {
         const bool same = Lower(a[i]) == Lower(b[j]);
         const auto next = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (same ? 0 : 1)});
         diagonal = row[j + 1];
         row[j + 1] = next;
      }
   }
   return row.back();
}

/// The names most similar to `wanted`; the first few if none is similar.
std::vector<std::string> Nearest(const std::string &wanted, std::vector<std::string> names)
{
   constexpr std::size_t kShown = 5;
   std::stable_sort(names.begin(), names.end(), [&](const auto &a, const auto &b) {
      return Distance(wanted, a) < Distance(wanted, b);
   });
   names.resize(std::min(names.size(), kShown));
   return names;
}

bool Holds(const TKey &key, const TClass *base)
{
   const TClass *type = TClass::GetClass(key.GetClassName(), kTRUE, kTRUE);
   return type && type->InheritsFrom(base);
}

bool HoldsTree(const TKey &key)
{
   return std::string(key.GetClassName()) == "ROOT::RNTuple" || Holds(key, TTree::Class());
}

/// Whether the file has a tree or RNTuple at `path`: "tree", "folder/tree", "tree;cycle".
bool HasTree(TDirectory &file, const std::string &path)
{
   const auto slash = path.rfind('/');
   const bool nested = slash != std::string::npos;
   TDirectory *folder = nested ? file.GetDirectory(path.substr(0, slash).c_str()) : &file;
   if (!folder)
      return false;
   const std::string last = nested ? path.substr(slash + 1) : path;
   std::vector<char> name(last.size() + 1);
   Short_t cycle = 0;
   TDirectory::DecodeNameCycle(last.c_str(), name.data(), cycle, name.size());
   constexpr Short_t kNewest = 9999; // DecodeNameCycle's cycle of a name without one
   const TKey *key = folder->GetKey(name.data(), cycle); // or an older one
   return key && (cycle == kNewest || cycle == key->GetCycle()) && HoldsTree(*key);
}

/// Names of the trees and RNTuples of `directory` and its folders, as far as `depth` and `keys` allow: a damaged file
/// can contain folders without end.
void CollectTrees(TDirectory &directory, const std::string &path, int depth, int &keys, std::set<std::string> &names)
{
   for (TObject *object : *directory.GetListOfKeys()) {
      if (--keys < 0)
         return;
      const auto &key = static_cast<const TKey &>(*object);
      const std::string name = path + key.GetName();
      if (HoldsTree(key))
         names.insert(name);
      else if (depth > 1 && Holds(key, TDirectory::Class()))
         if (auto *folder = directory.GetDirectory(key.GetName()))
            CollectTrees(*folder, name + "/", depth - 1, keys, names);
   }
}

/// The fields of an RNTuple that data frames cannot handle, for messages; "" if they cannot be determined.
std::string UnknownFields(const std::string &name, const std::string &file)
{
   std::string fields;
   try {
      const auto reader = ROOT::RNTupleReader::Open(name, file);
      for (const auto &field : reader->GetDescriptor().GetTopLevelFields())
         for (const char *type : {"std::atomic<", "std::bitset<"})
            if (field.GetTypeName().rfind(type, 0) == 0)
               fields += (fields.empty() ? "'" : ", '") + field.GetFieldName() + "' (" + field.GetTypeName() + ")";
   } catch (const std::exception &) {
      return "";
   }
   return fields.empty() ? "" : ": it does not know the type of " + fields + ": write the RNTuple again without";
}

/// Opening a pipe waits for its writer, and may wait for ever.
void CheckRegular(const std::string &name)
{
   struct stat found;
   if (stat(name.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
      throw std::runtime_error(name + " is not a regular file (a folder, a pipe or a device): give a ROOT file");
}

void CheckName(const std::string &files)
{
   struct stat local;
   if (files.find_first_of("#?") != std::string::npos && stat(files.c_str(), &local) == 0)
      throw std::runtime_error("the name of the file " + files + " has a '#' or '?', which ROOT takes for a part of a URL: "
                               "rename the file, or make a link to it");
   // ROOT prints the same, one line for each file of the folder.
   for (auto at = files.find('['); at != std::string::npos; at = files.find('[', at + 1))
      if (files.find(']', at + 1) == std::string::npos)
         throw std::runtime_error("the name of the files " + files + " has a '[' without ']', as a set of letters: " +
                                  "close it, or write ? for one letter");
}

/// Checked before ROOT looks for a file of the tree's name.
void CheckOrder(const std::string &tree, const std::string &files)
{
   struct stat local;
   const auto isFile = [&](const std::string &name) {
      return EndsWith(name, ".root") || name.find("://") != std::string::npos ||
             (stat(name.c_str(), &local) == 0 && S_ISREG(local.st_mode));
   };
   if (isFile(tree) && !isFile(files))
      throw std::runtime_error("'" + tree + "' is a file and '" + files + "' is none: the name of the tree comes first, then " +
                               "the file, (\"" + files + "\", \"" + tree + "\")");
}

/// As in ROOT's chain: nothing is left of a name that begins with a part of a URL.
std::string FileOf(const TObject &element, const std::string &files)
{
   const std::string title = element.GetTitle();
   return title.empty() ? files : title;
}

/// A data frame on `files`, whose fields may have types that it does not support.
ROOT::RDF::RNode MakeFrame(const std::string &name, const std::vector<std::string> &files)
{
   try {
      return ROOT::RDataFrame(name, files); // it does not support globs of RNTuples
   } catch (const std::exception &e) {
      throw std::runtime_error("ROOT's data frame cannot read '" + name + "' of " + files[0] + " (" + e.what() + ")" +
                               UnknownFields(name, files[0]));
   }
}

void CheckFile(const std::string &tree, const std::string &name)
{
   CheckRegular(name);
   const std::unique_ptr<TFile> file(TFile::Open(name.c_str()));
   if (!file || file->IsZombie())
      throw std::runtime_error("file " + name + " cannot be opened as a ROOT file: see ROOT's message above");
   if (HasTree(*file, tree))
      return;
   constexpr int kDepth = 8;
   int keys = 1000;
   std::set<std::string> names;
   CollectTrees(*file, "", kDepth, keys, names);
   const auto nearest = Nearest(tree, {names.begin(), names.end()});
   throw std::runtime_error("file " + name + " has no tree '" + tree + "'; it has " +
                            (names.empty() ? "none" : Join(nearest)) +
                            (nearest.size() < names.size() ? " and others" : ""));
}

} // namespace

bool EndsWith(const std::string &text, const std::string &end)
{
   return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

TTree *TreeOf(const ROOT::RDF::RNode &frame)
{
   auto *source = dynamic_cast<ROOT::Internal::RDF::RTTreeDS *>(SourceAccess(frame).GetDataSource());
   return source ? source->GetTree() : nullptr;
}

bool ReadsRNTuple(const ROOT::RDF::RNode &frame)
{
   return dynamic_cast<ROOT::RDF::RNTupleDS *>(SourceAccess(frame).GetDataSource()) != nullptr;
}

bool ReadsWhole(const ROOT::RDF::RNode &frame)
{
   const SourceAccess access(frame);
   const ROOT::Detail::RDF::RNodeBase *top = access.GetLoopManager();
   // A data frame of a specification, which may restrict the entries, has a chain without a name.
   const TTree *tree = TreeOf(frame);
   return access.GetProxiedPtr().get() == top && tree && *tree->GetName();
}

bool Varies(const ROOT::RDF::RNode &frame, const std::string &column)
{
   return !SourceAccess(frame).fColRegister.GetVariationDeps(column).empty();
}

std::string Describe(const ROOT::RDF::RNode &frame)
{
   TTree *tree = TreeOf(frame);
   if (!tree) {
      auto *source = SourceAccess(frame).GetDataSource();
      return "data frame" + (source ? " (" + source->GetLabel() + ")" : std::string());
   }
   std::string text = "tree '" + std::string(tree->GetName()) + "'";
   if (auto *chain = dynamic_cast<TChain *>(tree)) {
      const auto *files = chain->GetListOfFiles();
      if (files->GetEntries() == 1)
         return text + " of " + files->First()->GetTitle();
      return text + " of " + std::to_string(files->GetEntries()) + " files";
   }
   return text + (tree->GetCurrentFile() ? std::string(" of ") + tree->GetCurrentFile()->GetName() : " in memory");
}

std::string TypeOfColumn(ROOT::RDF::RNode &frame, const std::string &column, const std::string &source)
{
   if (frame.HasColumn(column))
      return frame.GetColumnType(column);
   throw std::runtime_error(source + NoColumn(frame, column));
}

std::string NoColumn(ROOT::RDF::RNode &frame, const std::string &column)
{
   const auto names = frame.GetColumnNames();
   const std::string text = " has no column '" + column + "'; ";
   if (names.empty())
      return text + "it has no columns at all";
   return text + "the nearest of its " + std::to_string(names.size()) + ": " + Join(Nearest(column, names));
}

ROOT::RDF::RNode OpenFiles(const std::string &name, const std::vector<std::string> &files)
{
   if (files.empty())
      throw std::runtime_error("the list of files of tree '" + name + "' is empty: name one at least");
   std::vector<std::string> names;
   for (const auto &each : files) {
      CheckOrder(name, each);
      CheckName(each);
      TChain chain(name.c_str());
      if (chain.Add(each.c_str(), TTree::kMaxEntries) == 0)
         throw std::runtime_error("no file matches " + (each.empty() ? "'' (the name is empty)" : each));
      for (TObject *element : *chain.GetListOfFiles()) {
         names.push_back(FileOf(*element, each));
         CheckFile(name, names.back());
      }
   }
   return MakeFrame(name, names);
}

namespace {

void CheckFiles(const TChain &chain)
{
   for (TObject *element : *chain.GetListOfFiles())
      CheckFile(element->GetName(), element->GetTitle());
}

/// ROOT's data frame crashes on friends that are no trees.
void CheckFriends(TTree &tree)
{
   const auto *friends = tree.GetListOfFriends();
   for (int i = 0; friends && i < friends->GetSize(); ++i) {
      auto &element = static_cast<TFriendElement &>(*friends->At(i));
      if (!element.GetTree())
         throw std::runtime_error("the friend '" + std::string(element.GetName()) + "' of tree '" + tree.GetName() + "' cannot be opened: " +
                                  (*element.GetTitle() ? std::string("file ") + element.GetTitle() : "its file") + " has no tree '" +
                                  element.GetTreeName() + "' (an RNTuple cannot be a friend)");
      if (const auto *chain = dynamic_cast<TChain *>(element.GetTree()))
         CheckFiles(*chain);
   }
}

} // namespace

ROOT::RDF::RNode OpenTree(TTree *tree)
{
   if (!tree)
      throw std::runtime_error("the pointer to the tree is null: the file has no tree of that name, or another class "
                               "was asked for (list the file with TFile::ls)");
   if (auto *chain = dynamic_cast<TChain *>(tree)) {
      if (chain->GetListOfFiles()->IsEmpty())
         throw std::runtime_error("chain '" + std::string(tree->GetName()) +
                               "' has no files: add some with TChain::Add");
      CheckFiles(*chain);
   }
   CheckFriends(*tree);
   return ROOT::RDataFrame(*tree);
}

} // namespace Internal
} // namespace CladTorch
