/// \file objects_read.C
/// \brief Every column of objects.root has the numbers of `truth`, or is refused by its name, with the classes'
///        dictionaries and without; so has every column of the trees that come with ROOT, whose truth is
///        TTree::GetEntry.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TFile.h>
#include <TKey.h>
#include <TLeaf.h>
#include <TROOT.h>
#include <TSystem.h>
#include <TTree.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

using CladTorch::Dataset;
using Numbers_t = std::vector<double>;

/// The truth about a column; throws if there is none.
using Truth_t = std::function<Numbers_t(const std::string &column)>;

/// A column as one list of numbers; of lists of lists, none of which is negative or longer than 8.
Numbers_t Read(const CladTorch::Source &source, const std::string &column)
{
   try {
      const auto values = CladTorch::Jagged<double>::Read(source, column).Values();
      return {values.begin(), values.end()};
   } catch (const CladTorch::Error &e) {
      if (std::string(e.what()).find("lists of lists") == std::string::npos)
         throw;
   }
   const auto values = Dataset().Column(column, {8, 8}, -1).Add(source, 1).Features();
   Numbers_t numbers;
   std::copy_if(values.begin(), values.end(), std::back_inserter(numbers), [](float value) { return value != -1; });
   return numbers;
}

/// "=": correct, "!": refused by name; otherwise the fault.
std::string Judge(const CladTorch::Source &source, const std::string &column, const Truth_t &truth)
{
   Numbers_t numbers;
   try {
      numbers = Read(source, column);
   } catch (const CladTorch::Error &e) {
      const std::string message = e.what();
      const bool names = message.find("'" + column + "'") != std::string::npos;
      return names ? "!" : "refused without its name: " + message;
   }
   if (column.size() > 6 && column.substr(column.size() - 6) == ".fBits")
      for (auto &bits : numbers) // whether ROOT holds the object on the heap is not in the file
         bits = static_cast<unsigned>(bits) & ~TObject::kIsOnHeap;
   try {
      return numbers == truth(column) ? "=" : "WRONG NUMBERS";
   } catch (const std::exception &e) {
      return std::string("read, and there is no truth: ") + e.what();
   }
}

/// Judges `columns` from `first` on in a process of its own, in which ROOT may crash. \return Its verdicts up to then.
std::vector<std::string> InChild(const std::vector<std::string> &columns, std::size_t first,
                                 const std::function<std::string(const std::string &)> &judge)
{
   int ends[2];
   if (pipe(ends) != 0)
      return {};
   std::fflush(stdout);
   const auto child = fork();
   if (child == 0) {
      for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
         std::signal(signal, SIG_DFL);
      alarm(600);
      gErrorIgnoreLevel = kFatal;
      for (auto i = first; i < columns.size(); ++i) {
         auto verdict = judge(columns[i]);
         std::replace(verdict.begin(), verdict.end(), '\n', ' ');
         verdict += '\n';
         if (write(ends[1], verdict.data(), verdict.size()) < 0)
            break;
      }
      _exit(0);
   }
   close(ends[1]);
   std::string text;
   char buffer[4096];
   for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, count);
   close(ends[0]);
   waitpid(child, nullptr, 0);
   std::istringstream lines(text);
   std::vector<std::string> verdicts;
   for (std::string line; std::getline(lines, line);)
      verdicts.push_back(line);
   return verdicts;
}

struct Tally {
   std::set<std::string> fEqual, fRefused;
   int fWrong = 0;
};

Tally UpdateSettings(const std::string &tree, const std::string &file, const Truth_t &truth)
{
   const CladTorch::Source source(tree, file);
   const auto columns = ROOT::RDataFrame(tree, file).GetColumnNames();
   Tally tally;
   for (std::size_t next = 0; next < columns.size();) {
      auto verdicts = InChild(columns, next, [&](const std::string &column) { return Judge(source, column, truth); });
      if (next + verdicts.size() < columns.size())
         verdicts.push_back("CRASH");
      for (const auto &verdict : verdicts) {
         const auto &column = columns[next++];
         if (verdict == "=") {
            tally.fEqual.insert(column);
         } else if (verdict == "!") {
            tally.fRefused.insert(column);
         } else {
            ++tally.fWrong;
            std::printf("%s of tree %s of %s: %s\n", column.c_str(), tree.c_str(), file.c_str(), verdict.c_str());
         }
      }
   }
   std::printf("%s of %s: %zu equal, %zu refused\n", tree.c_str(), file.c_str(), tally.fEqual.size(),
               tally.fRefused.size());
   return tally;
}

/// The column of the tree `truth` that belongs to one of `t`.
Numbers_t Truth(const std::string &column)
{
   auto name = column.substr(0, column.find('['));
   std::replace(name.begin(), name.end(), '.', '_');
   TFile file("objects.root");
   auto *tree = file.Get<TTree>("truth");
   Numbers_t *list = nullptr, all;
   if (!tree->GetBranch(name.c_str()))
      throw std::runtime_error("no branch " + name);
   tree->SetBranchAddress(name.c_str(), &list);
   for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
      tree->GetEntry(i);
      all.insert(all.end(), list->begin(), list->end());
   }
   tree->ResetBranchAddresses();
   return all;
}

bool EndsWith(const std::string &text, const std::string &end)
{
   return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The same, and the members of TObject, which were never set.
Numbers_t TruthOfObjects(const std::string &column)
{
   for (const std::string member : {".fUniqueID", ".fBits"})
      if (EndsWith(column, member)) {
         const auto bits = member == ".fBits" ? TObject::kNotDeleted : 0;
         return Numbers_t(Truth(column.substr(0, column.size() - member.size()) + ".id").size(), bits);
      }
   return Truth(column);
}

void CheckObjects()
{
   const auto tally = UpdateSettings("t", "objects.root", TruthOfObjects);
   CHECK(tally.fWrong == 0);
   for (const char *column : {"vNumber.id", "vNumber.m", "vFlag.m", "vFixed.m[3]", "vMatrix.m[2][2]", "vInts.id",
                              "vObject.m.a", "cNumber.m", "cFixed.m[3]", "cInts.id", "counts.n", "derived.id",
                              "sNumber.m", "sFixed.m[3]", "sInts.m", "sBits.m", "sDeep.m", "sSet.m", "sList.m",
                              "sObject.m.a", "sObjects.m.b", "Event.run", "run", "Event.values[4]", "deep", "list"})
      Check(tally.fEqual.count(column), column, __FILE__, __LINE__);
   for (const char *column : {"vInts.m", "vBits.m", "vSet.m", "cInts.m", "cObject.m.a", "derived.b", "counts.m", "sets",
                              "sSets.m", "uNumber", "vNumber", "sObjects.m"})
      Check(tally.fRefused.count(column), column, __FILE__, __LINE__);
   CHECK(Read({"t", "objects.root"}, "vFixed.m") == Truth("vFixed.m[3]")); // without the lengths
   CHECK(Read({"t", "objects.root"}, "values") == Truth("values"));
   const CladTorch::Source source("t", "objects.root");
   Refuses("lists in objects", [&] { Dataset().Column("vInts.m", {2, 3}).Add(source, 1); },
           {"'vInts.m'", "lists in the objects of a collection", "TTree::GetEntry"});
   Refuses("the same, flat", [&] { Dataset().Column("vInts.m", 3).Add(source, 1); },
           {"'vInts.m'", "lists in the objects"});
   Refuses("in a cut", [&] { Dataset({"run"}).Add(source, 1, "Sum$(vInts.m[0]) > 3"); },
           {"'vInts.m'", "lists in the objects"});
   Refuses("in an expression", [&] { Dataset({"Length$(vInts.m) + run"}).Add(source, 1); },
           {"'vInts.m'", "lists in the objects"});
   Refuses("a member of a member", [&] { Dataset().Column("cObject.m.a", 2).Add(source, 1); },
           {"'cObject.m.a'", "TClonesArray"});
}

/// A column by TTree::GetEntry and TLeaf::GetValue; objects by TTree::Draw.
Numbers_t ByGetEntry(const std::string &tree, const std::string &name, const std::string &column)
{
   TFile file(name.c_str());
   auto *t = file.Get<TTree>(tree.c_str());
   auto *branch = t->GetBranch(column.c_str());
   const auto dot = column.rfind('.');
   TLeaf *leaf = branch ? static_cast<TLeaf *>(branch->GetListOfLeaves()->First()) : nullptr;
   if (!branch && dot != std::string::npos && (branch = t->GetBranch(column.substr(0, dot).c_str())))
      leaf = branch->GetLeaf(column.substr(dot + 1).c_str());
   Numbers_t numbers;
   if (!leaf || branch->IsA() != TBranch::Class()) {
      t->SetEstimate(10000000);
      const auto count = t->Draw(column.c_str(), "", "goff");
      numbers.assign(t->GetV1(), t->GetV1() + std::max<Long64_t>(count, 0));
      return numbers;
   }
   for (Long64_t i = 0; i < t->GetEntries(); ++i) {
      t->GetEntry(i);
      for (int k = 0; k < leaf->GetLen(); ++k)
         numbers.push_back(leaf->GetValue(k));
   }
   return numbers;
}

void CheckTutorials()
{
   std::size_t equal = 0;
   int wrong = 0;
   for (const auto &entry : std::filesystem::recursive_directory_iterator(TROOT::GetTutorialDir().Data())) {
      const auto name = entry.path().string();
      if (entry.path().extension() != ".root")
         continue;
      TFile file(name.c_str());
      std::set<std::string> trees;
      for (auto *key : TRangeDynCast<TKey>(file.GetListOfKeys()))
         if (key && (std::string(key->GetClassName()) == "TTree" || std::string(key->GetClassName()) == "TNtuple"))
            trees.insert(key->GetName());
      for (const auto &tree : trees) {
         const auto truth = [&](const std::string &column) { return ByGetEntry(tree, name, column); };
         const auto tally = UpdateSettings(tree, name, truth);
         equal += tally.fEqual.size();
         wrong += tally.fWrong;
      }
   }
   CHECK(wrong == 0 && equal > 100);
}

void objects_read(const char *library = "")
{
   if (*library)
      CHECK(gSystem->Load(library) == 0);
   CheckObjects();
   if (!*library)
      CheckTutorials();
   Passed();
}
