/// \file odd_trees.C
/// \brief Trees, files and texts that ROOT's data frame reads wrongly, or not at all: read correctly, or refused by
/// name.

R__LOAD_LIBRARY(libcladtorch)
#include "readers.h"

#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TBasket.h>
#include <TBranch.h>
#include <TChain.h>

#include <sys/stat.h>

#include <atomic>
#include <bitset>
#include <cmath>
#include <filesystem>
#include <fstream>

using CladTorch::Dataset;
using Rows_t = std::vector<float>;

/// Lets a test write a basket of its own.
struct OpenBranch : TBranch {
   using TBranch::WriteBasket;
};

constexpr int kEntries = 60;

/// Numbers, an array with a count and a vector, with a basket without entries after entries 19 and 39 if `empty`, or
/// without the offsets of their entries.
void WriteTree(const char *name, bool empty, bool withoutOffsets)
{
   TFile file(name, "recreate");
   TTree t("t", "");
   t.SetAutoFlush(0);
   if (withoutOffsets) {
      ROOT::TIOFeatures features;
      features.Set(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap);
      t.SetIOFeatures(features);
   }
   float x, some[4];
   int n;
   std::vector<float> list;
   t.Branch("x", &x, "x/F", 1000);
   t.Branch("n", &n, "n/I", 1000);
   t.Branch("some", some, "some[n]/F", 1000);
   t.Branch("list", &list, 1000);
   t.Branch("whole", &x, "whole/F", 1000);
   for (int i = 0; i < kEntries; ++i) {
      x = i;
      n = i % 4;
      for (int k = 0; k < n; ++k)
         some[k] = 10 * i + k;
      list.assign(some, some + n);
      t.Fill();
      if (!empty || (i != 19 && i != 39))
         continue;
      t.FlushBaskets();
      for (auto *branch : TRangeDynCast<TBranch>(t.GetListOfBranches()))
         if (std::string(branch->GetName()) != "whole")
            (branch->*&OpenBranch::WriteBasket)(branch->GetBasket(branch->GetWriteBasket()), branch->GetWriteBasket());
   }
   t.Write();
   CHECK(!empty || t.GetBranch("x")->GetBasketEntry()[1] == t.GetBranch("x")->GetBasketEntry()[2]);
}

Dataset Columns()
{
   return Dataset({"x", "n"}).Column("some", 3, -1).Column("list", 3, -1);
}

/// Whether the rows of Columns() are those that WriteTree wrote.
bool AsWritten(const Dataset &data)
{
   const auto rows = data.Features();
   bool right = rows.Rows() == kEntries;
   for (int i = 0; right && i < kEntries; ++i) {
      right = rows(i, 0) == i && rows(i, 1) == i % 4;
      for (int k = 0; k < 3; ++k)
         for (const int column : {2, 5})
            right = right && rows(i, column + k) == (k < i % 4 ? 10 * i + k : -1);
   }
   return right;
}

/// ROOT gives the first entry after such a basket the numbers of the one before; the fast reader reads it correctly.
void CheckEmptyBaskets()
{
   WriteTree("empty.root", true, false);
   WriteTree("full.root", false, false);
   const CladTorch::Source source("t", "empty.root");
   const auto data = Columns().Add(source, 1);
   CHECK(AsWritten(data));
   CHECK(AsWritten(Columns().SetReader(CladTorch::kFastReader).Add(source, 1)));
   CHECK(Printed(data).find("wrong after a basket without entries: x, n, some, list") != std::string::npos);
   for (const char *column : {"x", "some", "list"}) {
      const auto quoted = "'" + std::string(column) + "'";
      const auto length = quoted == "'x'" ? 0 : 3;
      Refuses("by ROOT's reader",
              [&] { Dataset().Column(column, length).SetReader(CladTorch::kRootReader).Add(source, 1); },
              {quoted.c_str(), "basket without entries"});
      Refuses("as Jagged", [&] { CladTorch::Jagged<float>::Read(source, column); },
              {quoted.c_str(), "basket without entries"});
   }
   Refuses("in a cut", [&] { Dataset({"whole"}).Add(source, 1, "x > 3"); }, {"'x'", "basket without entries"});
   Refuses("in an expression", [&] { Dataset({"x + 1"}).Add(source, 1); }, {"'x'", "basket without entries"});
   TChain chain("t");
   chain.Add("full.root");
   chain.Add("empty.root");
   Refuses("in the second file", [&] { Dataset({"x + 1"}).Add(chain, 1); },
           {"'x'", "empty.root", "basket without entries"});
   CHECK(Dataset({"whole"}).Add(source, 1, "whole > 3").Rows() == kEntries - 4); // a branch without such baskets
   CHECK(AsWritten(Columns().Add({"t", "full.root"}, 1)));
   CHECK(Printed(Columns().Add({"t", "full.root"}, 1)).find("without entries") == std::string::npos);
   CHECK(Dataset({"x + 1"}).Add({"t", "full.root"}, 1).Rows() == kEntries);
}

void CheckOffsets()
{
   WriteTree("offsets.root", false, true);
   const CladTorch::Source source("t", "offsets.root");
   CHECK(Dataset({"x", "n"}).Column("list", 3, -1).Add(source, 1).Features()(59, 0) == 59);
   for (const auto reader : {CladTorch::kAutoReader, CladTorch::kRootReader})
      Refuses("offsets left out", [&] { Dataset().Column("some", 3).SetReader(reader).Add(source, 1); },
              {"'some'", "omit the offsets of their entries", "TTree::GetEntry"});
   Refuses("as Jagged", [&] { CladTorch::Jagged<float>::Read(source, "some"); }, {"'some'", "offsets"});
   Refuses("in a cut", [&] { Dataset({"x"}).Add(source, 1, "Sum$(some) > 3"); }, {"'some'", "offsets"});
   TChain chain("t");
   chain.Add("full.root");
   chain.Add("offsets.root");
   Refuses("in the second file", [&] { Dataset().Column("some", 3).Add(chain, 1); },
           {"'some'", "offsets.root", "offsets"});
}

void CheckNames()
{
   {
      TFile file("names.root", "recreate");
      TTree t("t", ""), twice("twice", "");
      float one = 1, two = 2, array[3] = {1, 2, 3}, matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
      int n = 2;
      t.Branch("n", &n);
      t.Branch("2x3Mat", matrix, "[2][3]/F");
      t.Branch("Photon_E", array, "Photons_E[n]/F");
      t.Branch("pt", &one, "value/F");
      t.Fill();
      t.Write();
      twice.Branch("x", &one);
      twice.Branch("x", &two);
      twice.Branch("y", &two);
      twice.Fill();
      twice.Write();
   }
   const auto row = [](const Dataset &data) { return Rows_t(data.Features().begin(), data.Features().end()); };
   CHECK((row(Dataset({"pt"}).Column("2x3Mat", 6).Column("Photon_E", 3, -1).Add({"t", "names.root"}, 1)) ==
          Rows_t{1, 1, 2, 3, 4, 5, 6, 1, 2, -1}));
   CHECK(CladTorch::Jagged<float>::Read({"t", "names.root"}, "pt").Values()(0) == 1);
   for (const char *column : {"2x3Mat", "Photon_E"})
      Refuses(column, [&] { CladTorch::Jagged<float>::Read({"t", "names.root"}, column); },
              {column, "another name than their branch"});
   for (const auto reader : {CladTorch::kAutoReader, CladTorch::kRootReader, CladTorch::kFastReader})
      Refuses("two of a name", [&] { Dataset({"x"}).SetReader(reader).Add({"twice", "names.root"}, 1); },
              {"2 branches are called 'x'", "different names"});
   Refuses("in a cut", [&] { Dataset({"y"}).Add({"twice", "names.root"}, 1, "x > 1"); }, {"2 branches are called 'x'"});
   CHECK(Dataset({"y"}).Add({"twice", "names.root"}, 1).Features()(0) == 2);
}

/// Files that are not regular, or whose names mean something else to ROOT.
void CheckFiles()
{
   CHECK(mkfifo("pipe.root", 0600) == 0);
   TChain chain("t");
   chain.Add("pipe.root");
   Refuses("a pipe", [] { Dataset({"x"}).Add("t", "pipe.root", 1); }, {"pipe.root", "not a regular file"});
   Refuses("a pipe in a chain", [&] { Dataset({"x"}).Add(chain, 1); }, {"pipe.root", "not a regular file"});
   Refuses("a folder", [] { Dataset({"x"}).Add("t", ".", 1); }, {"not a regular file"});
   for (const std::string name : {"#hash?q=1.root", "part#2.root", "what?.root"}) {
      std::filesystem::copy_file("full.root", name);
      Refuses("a part of a URL", [&] { Dataset({"x"}).Add("t", name, 1); }, {name.c_str(), "rename the file"});
   }
}

struct Odd {
   int number;
};

/// Exceptions of the user's code that are not std::exceptions.
void CheckThrown()
{
   const CladTorch::Source source("t", "full.root");
   const auto thrower = [](const std::string &what) { return "x > 50 ? throw " + what + " : x > 3"; };
   Refuses("a number in a cut", [&] { Dataset({"x"}).Add(source, 1, thrower("1")); },
           {"the number 1", "by the cut", "throw 1"});
   Refuses("a text in a cut", [&] { Dataset({"x"}).Add(source, 1, thrower("\"too big\"")); },
           {"'too big'", "by the cut"});
   Refuses("a number in an expression", [&] { Dataset({thrower("7l")}).Add(source, 1); },
           {"long", "one of the expressions"});
   const auto cut = [](float x) { return x > 50 ? throw Odd{1} : true; };
   Refuses("an object", [&] { Dataset({"x"}).Add(source, 1, cut, {"x"}); }, {"Odd", "function of the data frame"});
   CHECK(Dataset({"x"}).Add(source, 1, "x > 3").Rows() == kEntries - 4); // the session goes on
}

/// Fields that data frames do not support.
void CheckTuples()
{
   {
      auto model = ROOT::RNTupleModel::Create();
      *model->MakeField<float>("x") = 3;
      model->MakeField<std::atomic<int>>("counter");
      model->MakeField<std::bitset<9>>("flags");
      auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "tuple", "tuple.root");
      writer->Fill();
   }
   try {
      CHECK(Dataset({"x"}).Add("tuple", "tuple.root", 1).Features()(0) == 3);
   } catch (const CladTorch::Error &e) {
      const std::string text = e.what();
      CHECK(text.find("'counter' (std::atomic<") != std::string::npos);
      CHECK(text.find("'flags' (std::bitset<9>)") != std::string::npos);
   }
}

void odd_trees()
{
   CheckEmptyBaskets();
   CheckOffsets();
   CheckNames();
   CheckFiles();
   CheckThrown();
   CheckTuples();
   Dataset({"x", "n"}).Add("t", "full.root", "n"); // warned about
   Passed();
}
