/// \file described_places.C
/// \brief The place of a tree and operations on its file: merged, cloned, copied, linked, truncated, open for writing,
///        deleted, restricted. Read from its description or by ROOT, it gives the same numbers as a data frame, or both
///        refuse.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"
#include "described.h"

#include <TEntryList.h>
#include <TFile.h>
#include <TFileMerger.h>
#include <TNtupleD.h>
#include <TTree.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

using CladTorch::Dataset;
using CladTorch::Label;
namespace fs = std::filesystem;

void Fill(TTree &tree, int entries, float offset = 0)
{
   float x;
   double y;
   Long64_t l;
   unsigned short us;
   bool b;
   tree.Branch("x", &x);
   tree.Branch("y", &y);
   tree.Branch("l", &l);
   tree.Branch("us", &us);
   tree.Branch("b", &b);
   for (int i = 0; i < entries; ++i) {
      x = i + offset;
      y = 1. / (i + 1);
      l = 1ll << (i % 62);
      us = 65535 - i;
      b = i % 3 == 0;
      tree.Fill();
   }
}

/// A file of this compression with a tree `t`, made by `fill` in it.
void Write(const char *name, const std::function<void(TFile &, TTree &)> &fill, int compression = 101)
{
   TFile file(name, "recreate", "", compression);
   TTree tree("t", "");
   tree.SetAutoFlush(30);
   fill(file, tree);
}

void WritePlain(const char *name, int entries, float offset = 0, int compression = 101)
{
   Write(name, [&](TFile &, TTree &tree) {
      Fill(tree, entries, offset);
      tree.Write();
   }, compression);
}

void Merge(const char *name, bool fast)
{
   TFileMerger merger(false);
   merger.SetFastMethod(fast);
   merger.OutputFile(name);
   merger.AddFile("plain.root");
   merger.AddFile("other.root");
   CHECK(merger.Merge());
}

/// `make` makes a tree of that of plain.root, in the open file `name`.
void Derive(const char *name, const std::function<TTree *(TTree &)> &make)
{
   TFile from("plain.root"), file(name, "recreate");
   make(*from.Get<TTree>("t"))->Write();
}

/// The first `bytes` of plain.root, or all but the last -`bytes`, followed by `more`.
void Cut(const std::string &name, std::intmax_t bytes, const std::string &more = "")
{
   std::ifstream in("plain.root", std::ios::binary);
   std::string all((std::istreambuf_iterator<char>(in)), {});
   std::ofstream(name, std::ios::binary) << all.substr(0, bytes > 0 ? bytes : all.size() + bytes) << more;
}

/// A tree as a user names it, and the columns to read from it.
struct Case {
   std::string fFile;
   bool fWithoutRoot; ///< the expected value
   std::string fTree = "t";
   std::vector<std::string> fColumns = {"x", "y"};
   Label fLabel = "b";
   std::string fWeight = {};
};

std::vector<Case> WritePlaces()
{
   WritePlain("plain.root", 100);
   WritePlain("other.root", 50, 1000, 404);
   std::vector<Case> cases{{"plain.root", true, "t", {"x", "y", "l", "us", "b"}, "us", "y"}, {"other.root", true}};
   for (const int codec : {0, 101, 207, 404, 505}) {
      const auto name = "codec" + std::to_string(codec) + ".root";
      WritePlain(name.c_str(), 200, 3, codec);
      cases.push_back({name, true});
   }
   Merge("merged.root", true);
   Merge("merged_slowly.root", false);
   Derive("clone.root", [](TTree &tree) { return tree.CloneTree(-1, "fast"); });
   Derive("clone_sorted.root", [](TTree &tree) { return tree.CloneTree(-1, "fast SortBasketsByEntry"); });
   Derive("clone_slowly.root", [](TTree &tree) { return tree.CloneTree(); });
   Derive("copied.root", [](TTree &tree) { return tree.CopyTree("x > 20 && x < 30"); });
   for (const char *name : {"merged", "merged_slowly", "clone", "clone_sorted", "clone_slowly", "copied"})
      cases.push_back({std::string(name) + ".root", true});
   fs::create_symlink("plain.root", "link.root");
   fs::create_symlink(fs::absolute("link.root"), "link_of_link.root");
   fs::create_hard_link("plain.root", "hard_link.root");
   fs::create_symlink("nowhere.root", "dangling.root");
   fs::create_symlink("circle.root", "circle.root");
   fs::create_directory("folder.root");
   for (const char *name : {"link.root", "link_of_link.root", "hard_link.root", "./plain.root", "folder.root/../plain.root"})
      cases.push_back({name, true});
   for (const char *name : {"dangling.root", "circle.root", "folder.root", "nowhere.root", "", "file:plain.root",
                            "plain.root?filetype=root", "plain.root?x", "plain.root#t", "pl*.root"})
      cases.push_back({name, false});
   for (const char *tree : {"t;1", "t;2", "t ", "/t", "./t", "u", ""})
      cases.push_back({"plain.root", false, tree});
   for (const char *tree : {"a/b/t", "a//b/t", "/a/b/t", "a/b", "a/t"})
      cases.push_back({"folders.root", false, tree});
   Write("folders.root", [](TFile &file, TTree &) {
      file.mkdir("a/b")->cd();
      TTree inner("t", "");
      Fill(inner, 20);
      inner.Write();
      file.mkdir("t");
   });
   cases.push_back({"folders.root", false}); // a folder of the tree's name
   const auto size = static_cast<std::intmax_t>(fs::file_size("plain.root"));
   for (const std::intmax_t bytes : {std::intmax_t(1), std::intmax_t(60), size / 4, size / 2, size - 400, size - 1}) {
      const auto name = "cut" + std::to_string(bytes) + ".root";
      Cut(name, bytes);
      cases.push_back({name, false});
   }
   Cut("longer.root", 0, std::string(1000, 'x'));
   cases.push_back({"longer.root", true});
   return cases;
}

/// Trees that are more than their branches, or less.
std::vector<Case> WriteTrees()
{
   const auto filled = [](const char *name, const std::function<void(TTree &)> &change) {
      Write(name, [&](TFile &, TTree &tree) {
         Fill(tree, 25);
         change(tree);
         tree.Write();
      });
   };
   filled("entries.root", [](TTree &tree) { tree.SetEntries(10); });
   filled("status.root", [](TTree &tree) { tree.SetBranchStatus("x", false); });
   filled("alias.root", [](TTree &tree) { tree.SetAlias("z", "2 * x"); });
   filled("listed.root", [](TTree &tree) {
      tree.Draw(">>chosen", "x > 10", "entrylist");
      tree.SetEntryList(static_cast<TEntryList *>(gDirectory->Get("chosen")));
   });
   Write("circular.root", [](TFile &, TTree &tree) {
      tree.SetCircular(10);
      Fill(tree, 25);
      tree.Write();
   });
   Write("befriended.root", [](TFile &, TTree &tree) {
      Fill(tree, 25);
      TTree other("u", "");
      Fill(other, 25, 7);
      tree.AddFriend(&other);
      tree.Write();
      other.Write();
   });
   Write("own_file.root", [](TFile &, TTree &tree) {
      float x = 1, y = 2;
      tree.Branch("x", &x)->SetFile("own_file_of_x.root");
      tree.Branch("y", &y);
      for (int i = 0; i < 20; ++i, ++x)
         tree.Fill();
      tree.Write();
   });
   Write("ntuple.root", [](TFile &, TTree &) {
      TNtupleD ntuple("t", "", "x:y:b");
      for (int i = 0; i < 500; ++i)
         ntuple.Fill(i, 1. / (i + 1), i % 2);
      ntuple.Write();
   });
   Write("names.root", [](TFile &, TTree &tree) {
      float x = 1;
      for (const char *name : {"x", "a b", "p.q", "br[2]", "_u", "Ünicode", "y;1", "int", "new", "X"})
         tree.Branch(name, &x, "v/F");
      for (int i = 0; i < 5; ++i, ++x)
         tree.Fill();
      tree.Write();
   });
   std::vector<Case> cases{{"own_file.root", false, "t", {"x"}, 1}, {"own_file.root", true, "t", {"y"}, 1},
                           {"entries.root", false}};
   for (const char *name : {"ntuple", "status", "alias", "listed", "circular", "befriended"})
      cases.push_back({std::string(name) + ".root", true});
   for (const char *name : {"x", "a b", "p.q", "br[2]", "br", "_u", "Ünicode", "y;1", "y", "int", "new", "v", "X"})
      cases.push_back({"names.root", false, "t", {name}, 1});
   return cases;
}

/// Labels and weights of every kind.
std::vector<Case> Labels()
{
   const auto two = Label(std::vector<std::string>{"y", "l"});
   std::vector<Case> cases{{"plain.root", true, "t", {"x"}, two, "us"}, {"merged.root", true, "t", {"x"}, two}};
   for (const auto &label : {Label(1), Label(-2.5), Label("x")})
      cases.push_back({"plain.root", true, "t", {"x"}, label, "b"});
   for (const auto &label : {Label(""), Label(std::nan("")), Label("nope"), Label(std::vector<std::string>{}),
                             Label(std::vector<std::string>{"y", "y"}), Label(std::vector<std::string>{"y", "2 * x"})})
      cases.push_back({"plain.root", false, "t", {"x"}, label});
   cases.push_back({"plain.root", false, "t", {"x"}, 1, "nope"});
   cases.push_back({"plain.root", false, "t", {"x"}, 1, "x + 1"});
   return cases;
}

template <class S>
Outcome Read(const Case &each, const S &makeSource)
{
   return OutcomeOf([&] { return Dataset(each.fColumns).SetWeight(each.fWeight).Add(makeSource(), each.fLabel); });
}

void Compare(const std::vector<Case> &cases)
{
   int wrong = 0, direct = 0;
   for (const auto &each : cases) {
      const auto described = Read(each, [&] { return CladTorch::Source(each.fTree, each.fFile); });
      const auto byRoot = Read(each, [&] { return ROOT::RDataFrame(each.fTree, each.fFile); });
      direct += described.fWithoutRoot && described.fText.empty();
      const bool expected = each.fWithoutRoot == (described.fWithoutRoot && described.fText.empty());
      if (expected && described.SameNumbers(byRoot))
         continue;
      ++wrong;
      std::printf("WRONG %s of %s, columns %s...: %zu numbers %s'%s', by ROOT %zu '%s'\n", each.fTree.c_str(),
                  each.fFile.c_str(), each.fColumns[0].c_str(), described.fNumbers.size(),
                  described.fWithoutRoot ? "without ROOT " : "", described.fText.c_str(), byRoot.fNumbers.size(),
                  byRoot.fText.c_str());
   }
   std::printf("%zu places, %d without ROOT\n", cases.size(), direct);
   CHECK(wrong == 0);
}

/// A file that is being written, and deleted objects.
void CompareChanging()
{
   const Case each{"changing.root", false};
   {
      TFile file("changing.root", "recreate");
      TTree tree("t", "");
      Fill(tree, 10);
      tree.AutoSave();
      Compare({each});
      tree.Write();
      Compare({each});
   }
   Compare({each}); // closed
   WritePlain("changing.root", 30, 5); // another one in its place
   Compare({{"changing.root", true}});
   TFile("changing.root", "update").Delete("t;*");
   Compare({each});
}

void described_places()
{
   gErrorIgnoreLevel = kFatal; // of many refusals
   auto cases = WritePlaces();
   for (const auto &more : {WriteTrees(), Labels()})
      cases.insert(cases.end(), more.begin(), more.end());
   Compare(cases);
   CompareChanging();
   ROOT::EnableImplicitMT(4);
   Compare(cases);
   Passed();
}
