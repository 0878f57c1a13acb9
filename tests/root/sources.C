/// \file sources.C
/// \brief Friends, indexed friends, entry lists, variations: each against the written numbers, with and without
/// threads.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TChain.h>
#include <TEntryList.h>
#include <TFile.h>
#include <TTree.h>

#include <filesystem>

using CladTorch::Dataset;
using Rows_t = std::vector<float>;

constexpr int kFiles = 3;
constexpr int kEntries = 100;

/// File k holds x = 1000 k + entry; its friend y = -x, in clusters of another size; ix holds z = x + 0.5 backwards.
void Write()
{
   for (int k = 0; k < kFiles; ++k) {
      TFile file(Form("main%d.root", k), "recreate");
      TTree tree("t", "");
      tree.SetAutoFlush(40);
      int run = k, event = 0;
      float x = 0;
      tree.Branch("run", &run);
      tree.Branch("event", &event);
      tree.Branch("x", &x);
      for (event = 0; event < kEntries; ++event) {
         x = 1000 * k + event;
         tree.Fill();
      }
      tree.Write();
      TFile friendFile(Form("friend%d.root", k), "recreate");
      TTree other("fr", "");
      other.SetAutoFlush(30);
      float y = 0;
      other.Branch("y", &y);
      other.Branch("x", &y); // the name is taken: fr.x
      for (int i = 0; i < kEntries; ++i) {
         y = -(1000 * k + i);
         other.Fill();
      }
      other.Write();
   }
   TFile file("indexed.root", "recreate");
   TTree tree("ix", "");
   tree.SetAutoFlush(25);
   int run = 0, event = 0;
   float z = 0;
   tree.Branch("run", &run);
   tree.Branch("event", &event);
   tree.Branch("z", &z);
   for (run = kFiles - 1; run >= 0; --run)
      for (event = kEntries - 1; event >= 0; --event) {
         z = 1000 * run + event + 0.5;
         tree.Fill();
      }
   tree.BuildIndex("run", "event");
   tree.Write();
}

/// Whether row i of `data` is {x, f(x)}, with x running over the entries of the given files that `taken` accepts.
template <class F, class G>
bool Holds(const Dataset &data, int first, int last, F f, G taken)
{
   const auto rows = data.Features();
   std::size_t row = 0;
   bool same = true;
   for (int k = first; k <= last; ++k)
      for (int i = 0; i < kEntries; ++i) {
         const float x = 1000 * k + i;
         if (!taken(i))
            continue;
         same = same && row < rows.Rows() && rows(row, 0) == x && rows(row, 1) == f(x);
         ++row;
      }
   return same && row == rows.Rows();
}

bool All(int)
{
   return true;
}

void CheckFriends()
{
   TChain chain("t"), friends("fr"), index("ix");
   chain.Add("main*.root");
   friends.Add("friend*.root");
   chain.AddFriend(&friends);
   const auto minus = [](float x) { return -x; };
   CHECK(Holds(Dataset({"x", "y"}).Add(chain, 1), 0, 2, minus, All));
   CHECK(Holds(Dataset({"x", "fr.x"}).Add(chain, 1), 0, 2, minus, All));
   CHECK(Dataset({"x", "y"}).Add(chain, 1, "y < -1000").Rows() == 2 * kEntries - 1);

   const auto half = [](float x) { return x + 0.5f; };
   index.Add("indexed.root");
   index.BuildIndex("run", "event");
   chain.AddFriend(&index);
   CHECK(Holds(Dataset({"x", "z"}).Add(chain, 1), 0, 2, half, All));
   TFile file("main1.root");
   auto *tree = file.Get<TTree>("t");
   tree->AddFriend("ix", "indexed.root");
   CHECK(Holds(Dataset({"x", "z"}).Add(tree, 1), 1, 1, half, All));
   TChain strange("t");
   strange.Add("main1.root");
   strange.AddFriend("absent", "indexed.root");
   Refuses("a friend that is no tree", [&] { Dataset({"x"}).Add(strange, 1); }, {"friend 'absent' of tree 't'", "indexed.root has no tree 'absent'"});
}

void CheckEntryLists()
{
   const auto same = [](float x) { return x; };
   const auto third = [](int i) { return i % 20 == 3; };
   TChain chain("t");
   chain.Add("main*.root");
   chain.Draw(">>chosen", "event % 20 == 3", "entrylist");
   auto *list = static_cast<TEntryList *>(gDirectory->Get("chosen"));
   chain.SetEntryList(list);
   CHECK(list->GetN() == 15);
   CHECK(Holds(Dataset({"x", "x + 0"}).Add(chain, 1), 0, 2, same, third));
   CHECK(Dataset({"x"}).Add(chain, 1, "x > 1000").Rows() == 10);

   TFile file("main2.root");
   auto *tree = file.Get<TTree>("t");
   TEntryList few("few", "", tree);
   for (int entry : {3, 23, 43, 63, 83})
      few.Enter(entry);
   tree->SetEntryList(&few);
   CHECK(Holds(Dataset({"x", "x + 0"}).Add(tree, 1), 2, 2, same, third));
   ROOT::RDataFrame frame(chain);
   if (ROOT::IsImplicitMTEnabled()) // ROOT would give 5 of the 15
      Refuses("entry list on several threads", [&] { Dataset({"x"}).Add(frame, 1); },
              {"tree 't'", "entry list", "EnableImplicitMT"});
   else
      CHECK(Dataset({"x"}).Add(frame, 1).Rows() == 15);
   chain.SetEntryList(nullptr);
}

void CheckVariations()
{
   ROOT::RDataFrame frame("t", "main0.root");
   auto varied = frame.Define("w", "x + 1").Vary("w", "ROOT::RVecD{w * 2, w * 3}", 2);
   CHECK(Holds(Dataset({"x", "w"}).Add(varied, 1, "w > 0"), 0, 0, [](float x) { return x + 1; }, All));
}

void CheckCallables()
{
   ROOT::RDataFrame frame("t", "main0.root");
   const auto isGood = [](float x) { return x >= 10; };
   const auto weight = [](float x) { return 5 - x; };
   Dataset data({"x"});
   data.SetWeight("w").Add(frame.Filter(isGood, {"x"}).Define("w", weight, {"x"}), 1);
   CHECK(data.Rows() == kEntries - 10 && data.Weights()(0) == -5 && data.Weights()(1) == -6); // negative, and kept
   Refuses("weight that is no number",
           [&] { Dataset({"x"}).SetWeight([](float) { return std::string(); }, {"x"}).Add(frame, 1); }, {"'weight(x)'", "string"});
}

std::size_t Count(const Dataset &data)
{
   return data.Rows();
}

/// One pass over the events of a stream, none of which is left for validation.
std::size_t Count(const CladTorch::Stream &stream)
{
   std::size_t rows = 0;
   CladTorch::FitOptions options;
   options.fValidation = 0;
   for (auto batches = stream.Batches(options); batches.Next();)
      rows += batches.Rows();
   return rows;
}

/// Cuts of the source itself, as text and as functions, one after the other.
void CheckFilters()
{
   const CladTorch::Source source("t", "main1.root");
   const auto even = [](int event) { return event % 2 == 0; };
   const auto few = source.Filter("x >= 1010").Filter("").Filter(even, {"event"}).Filter("Sum$(x) < 1090");
   const auto isTaken = [](int i) { return i >= 10 && i % 2 == 0 && i < 90; };
   CHECK(Holds(Dataset({"x", "x + 0"}).Add(few, 1), 1, 1, [](float x) { return x; }, isTaken));
   CHECK(Dataset({"x"}).Add(few, 1, "x > 1050").Rows() == 19 && Dataset({"x"}).Add(source, 1).Rows() == kEntries);
   if (!ROOT::IsImplicitMTEnabled())
      CHECK(Count(CladTorch::Stream({"x"}).Add(few, 1)) == 40);
   Refuses("cut on a missing column", [&] { Dataset({"x"}).Add(source.Filter("nosuch > 1"), 1); }, {"nosuch > 1"});
   Refuses("cut that is none", [&] { Dataset({"x"}).Add(source.Filter("x^2"), 1); }, {"main1.root", "'x^2'", "std::pow"});
   Refuses("a power of Python", [&] { Dataset({"x**2"}).Add(source, 1); }, {"'x**2'", "std::pow"});
}

/// A list of files, in the order in which they are given.
void CheckFiles()
{
   const auto same = [](float x) { return x; };
   const std::string last = "main2.root";
   const std::vector<std::string> names{"main1.root", last};
   const Dataset data({"x", "x + 0"});
   CHECK(Holds(Dataset(data).Add("t", {"main1.root", "main2.root"}, 1), 1, 2, same, All));
   CHECK(Holds(Dataset(data).Add("t", {"main1.root", last}, "run"), 1, 2, same, All));
   CHECK(Holds(Dataset(data).Add("t", names, {"x", "run"}), 1, 2, same, All));
   CHECK(Holds(Dataset(data).Add("t", {"main1.root"}, 1, "x >= 0"), 1, 1, same, All));
   CHECK(Holds(Dataset(data).Add({"t", {"main0.root", "main[12].root"}}, 1), 0, 2, same, All));
   CHECK(Holds(Dataset(data).Add("t", {"main1.root", "main2.root"}, 1, [](float) { return true; }, {"x"}), 1, 2, same, All));
   CHECK(Holds(Dataset(data).Add("t", std::filesystem::path("main1.root"), 1), 1, 1, same, All));
   const auto turned = Dataset({"x"}).Add("t", {"main2.root", "main1.root"}, 1).Features();
   CHECK(turned(0) == 2000 && turned(kEntries) == 1000);
   if (!ROOT::IsImplicitMTEnabled())
      CHECK(Count(CladTorch::Stream({"x"}).Add("t", {"main1.root", "main2.root"}, 1)) == 2 * kEntries);
   Refuses("no file", [] { Dataset({"x"}).Add("t", std::vector<std::string>(), 1); }, {"list of files", "'t'", "empty"});
   Refuses("one missing", [] { Dataset({"x"}).Add("t", {"main1.root", "nowhere.root"}, 1); }, {"nowhere.root"});
}

/// Every way to write a tree, its file, a label and a cut, with a dataset and a stream.
template <class Events>
void CheckForms(Events all, Events some)
{
   const std::string tree = "t", file = "main1.root", column = "run", expression = "x > 1089";
   const char *name = "t";
   const auto cut = [](float x) { return x > 1089; };
   all.Add("t", "main1.root", 1).Add(tree, file, column).Add({"t", "main1.root"}, 1).Add({tree, file}, "run");
   all.Add({name, "main1.root"}, 1).Add(CladTorch::Source("t", "main1.root"), column);
   some.Add("t", "main1.root", 1, "x > 1089").Add({"t", "main1.root"}, "run", "x > 1089").Add({tree, file}, column, expression);
   some.Add({"t", "main1.root"}, 1, expression).Add({"t", file}, "run", "x > 1089");
   some.Add("t", "main1.root", 1, cut, {"x"}).Add(tree, file, "run", cut, {"x"});
   some.Add({"t", "main1.root"}, "run", cut, {"x"}).Add({tree, file}, 1, cut, {"x"});
   CHECK(Count(all) == 6 * kEntries);
   CHECK(Count(some) == 9 * 10);
}

void CheckAll()
{
   CheckForms(Dataset({"x"}), Dataset({"x"}));
   if (!ROOT::IsImplicitMTEnabled()) // ROOT reads functions for a stream on one thread only
      CheckForms(CladTorch::Stream({"x"}), CladTorch::Stream({"x"}));
   Dataset targets({"x"});
   targets.Add({"t", "main1.root"}, {"2 * x", "run"}, "x > 1089").Add("t", "main1.root", {"2 * x", "run"});
   CHECK(targets.Rows() == kEntries + 10 && targets.Targets().size() == 2);
   CheckFriends();
   CheckEntryLists();
   CheckVariations();
   CheckCallables();
   CheckFilters();
   CheckFiles();
   const auto url = "file://" + std::string(gSystem->WorkingDirectory()) + "/main1.root";
   CHECK(Dataset({"x"}).Add("t", url, 1).Features()(0) == 1000);
}

void sources()
{
   Write();
   CheckAll();
   ROOT::EnableImplicitMT(4);
   const auto threads = ROOT::GetThreadPoolSize();
   CheckAll();
   CHECK(ROOT::GetThreadPoolSize() == threads); // set back after the entry lists
   Passed();
}
