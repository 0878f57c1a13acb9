/// \file columns.C
/// \brief Every column type and every kind of source, read with and without threads into the same rows.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TChain.h>
#include <TFile.h>
#include <TTree.h>

using CladTorch::Dataset;
using Rows_t = std::vector<float>;

/// All types that a branch may have; entry i holds i in every scalar.
void WriteTypes()
{
   TFile file("types.root", "recreate");
   TTree t("types", "");
   bool o; char b; unsigned char ub; short s; unsigned short us; int i; unsigned int ui; Long64_t l; ULong64_t ul;
   long g; unsigned long ug; float f; double d; Float16_t f16; Double32_t d32;
   float array[3]; bool flags[2]; int n; double some[4];
   std::vector<float> floats; std::vector<bool> bools; std::vector<int> ints;
   ROOT::RVecD doubles; std::array<float, 2> pair;
   t.Branch("o", &o); t.Branch("b", &b, "b/B"); t.Branch("ub", &ub, "ub/b"); t.Branch("s", &s); t.Branch("us", &us);
   t.Branch("i", &i); t.Branch("ui", &ui); t.Branch("l", &l); t.Branch("ul", &ul); t.Branch("g", &g, "g/G");
   t.Branch("ug", &ug, "ug/g"); t.Branch("f", &f); t.Branch("d", &d); t.Branch("f16", &f16, "f16/f");
   t.Branch("d32", &d32, "d32/d"); t.Branch("array", array, "array[3]/F"); t.Branch("flags", flags, "flags[2]/O");
   t.Branch("n", &n); t.Branch("some", some, "some[n]/D"); t.Branch("floats", &floats); t.Branch("bools", &bools);
   t.Branch("ints", &ints); t.Branch("doubles", &doubles); t.Branch("pair", &pair);
   for (int k = 0; k < 5; ++k) {
      o = k % 2; b = ub = s = us = i = ui = l = ul = g = ug = f = d = f16 = d32 = k;
      for (int j = 0; j < 3; ++j)
         array[j] = 10 * k + j;
      flags[0] = k % 2; flags[1] = !flags[0];
      n = k;
      for (int j = 0; j < n; ++j)
         some[j] = 100 * k + j;
      floats.assign(k, k); bools.assign(k, true); ints.assign(k, -k); doubles = ROOT::RVecD(k, 0.5 * k);
      pair = {float(k), float(-k)};
      t.Fill();
   }
   t.Write();
}

Rows_t Read(const Dataset &data)
{
   const auto view = data.Features();
   return Rows_t(view.begin(), view.end());
}

void CheckScalars()
{
   const std::vector<std::string> names{"b", "ub", "s", "us", "i", "ui", "l", "ul", "g", "ug", "f", "d", "f16", "d32"};
   Dataset data(names);
   data.Add("types", "types.root", 1);
   CHECK(data.Rows() == 5 && data.Width() == names.size());
   bool same = true;
   for (std::size_t row = 0; row < 5; ++row)
      for (std::size_t column = 0; column < names.size(); ++column)
         same = same && data.Features()(row, column) == row;
   CHECK(same);
   Dataset flags({"o"});
   flags.Add("types", "types.root", 1);
   CHECK((Read(flags) == Rows_t{0, 1, 0, 1, 0}));
}

void CheckArrays()
{
   Dataset data;
   data.Column("array", 3).Column("some", 2, -1).Column("flags", 2).Column("floats", 3, 9);
   data.Column("bools", 1).Column("ints", 2).Column("doubles", 1, -2).Column("pair", 2);
   data.Add("types", "types.root", 1);
   CHECK(data.Width() == 16);
   const auto x = data.Features();
   const auto row = [&](std::size_t i) { return Rows_t(x.Data() + 16 * i, x.Data() + 16 * (i + 1)); };
   CHECK((row(0) == Rows_t{0, 1, 2, -1, -1, 0, 1, 9, 9, 9, 0, 0, 0, -2, 0, 0}));
   CHECK((row(1) == Rows_t{10, 11, 12, 100, -1, 1, 0, 1, 9, 9, 1, -1, 0, 0.5, 1, -1}));
   CHECK((row(4) == Rows_t{40, 41, 42, 400, 401, 0, 1, 4, 4, 4, 1, -4, -4, 2, 4, -4}));
}

void CheckDefined()
{
   ROOT::RDataFrame frame("types", "types.root");
   auto node = frame.Define("vector", [](float f) { return std::vector<double>{f, -f}; }, {"f"})
                  .Define("rvec", [](float f) { return ROOT::RVecI{int(f), 7}; }, {"f"})
                  .Define("twice", "2 * f")
                  .Filter([](float f) { return f != 2; }, {"f"});
   Dataset data({"twice"});
   data.Column("vector", 2).Column("rvec", 2).Add(node, 1, "f > 0");
   CHECK((Read(data) == Rows_t{2, 1, -1, 1, 7, 6, 3, -3, 3, 7, 8, 4, -4, 4, 7}));
   CHECK(node.GetNRuns() == 1); // one event loop for all columns
   CHECK(*node.Count() == 4); // the node still works

   Dataset empty({"x"});
   empty.Add(ROOT::RDataFrame(3).Define("x", "float(rdfentry_)"), 1);
   CHECK((Read(empty) == Rows_t{0, 1, 2}));
}

/// Trees in folders, and one of several cycles of a name.
void CheckPaths()
{
   {
      TFile file("paths.root", "recreate");
      float x = 0;
      const auto write = [&x](int entries) {
         TTree tree("t", "");
         tree.Branch("x", &x);
         for (int i = 0; i < entries; ++i)
            tree.Fill();
         tree.Write();
      };
      write(3);
      write(4);
      file.mkdir("a")->mkdir("b")->cd();
      write(5);
   }
   const auto rows = [](const char *tree) { return Dataset({"x"}).Add(tree, "paths.root", 1).Rows(); };
   CHECK(rows("t") == 4 && rows("t;1") == 3 && rows("t;2") == 4);
   CHECK(rows("a/b/t") == 5 && rows("a/b/t;1") == 5);
}

void CheckLabelsAndWeights()
{
   Dataset data({"f"});
   data.Add("types", "types.root", 1, "f > 2");
   data.SetWeight("d").Add("types", "types.root", "o", "f < 3");
   data.SetWeight("").Add("types", "types.root", 0.5, "f == 0");
   CHECK((Read(data) == Rows_t{3, 4, 0, 1, 2, 0}));
   CHECK((Rows_t(data.Labels().begin(), data.Labels().end()) == Rows_t{1, 1, 0, 1, 0, 0.5}));
   CHECK((Rows_t(data.Weights().begin(), data.Weights().end()) == Rows_t{1, 1, 0, 1, 2, 1}));
}

void WriteParts(const char *name, int first, int entries)
{
   TFile file(name, "recreate");
   TTree tree("events", "");
   tree.SetAutoFlush(100); // many clusters, hence many tasks
   float x = 0;
   ROOT::RVecF v;
   tree.Branch("x", &x);
   tree.Branch("v", &v);
   for (int i = 0; i < entries; ++i) {
      x = first + i;
      v = ROOT::RVecF(i % 4, x);
      tree.Fill();
   }
   tree.Write();
}

void WriteTuple()
{
   ROOT::RDF::RSnapshotOptions options;
   options.fOutputFormat = ROOT::RDF::ESnapshotOutputFormat::kRNTuple;
   ROOT::RDataFrame(2000).Define("x", "int(rdfentry_)").Define("v", "ROOT::RVecD(rdfentry_ % 3, 0.25)")
      .Snapshot("tuple", "tuple.root", {"x", "v"}, options);
}

/// The same events from every kind of source, as one long list of numbers.
Rows_t FromAllSources()
{
   TChain chain("events");
   for (const char *name : {"part_c.root", "part_a.root", "part_b.root"}) // not in the order of the names
      chain.Add(name);
   TFile file("part_a.root");
   auto *tree = file.Get<TTree>("events");
   TTree memory("memory", "");
   memory.SetDirectory(nullptr);
   float x = 0;
   ROOT::RVecF v(1);
   memory.Branch("x", &x);
   memory.Branch("v", &v);
   for (x = 0; x < 500; ++x)
      memory.Fill();

   Dataset data({"x"});
   data.Column("v", 2, -1);
   data.Add(chain, 1).Add(tree, 0).Add(memory, 1).Add("events", "part_*.root", 0, "x >= 5");
   data.Add(ROOT::RDataFrame(chain).Filter("x < 2000"), 1);
   data.Add(ROOT::RDataFrame(1000).Define("x", "double(rdfentry_)").Define("v", "ROOT::RVecI{}"), 0);
   data.Add("tuple", "tuple.root", 1);
   auto rows = Read(data);
   rows.insert(rows.end(), data.Labels().begin(), data.Labels().end());
   return rows;
}

void CheckThreads()
{
   WriteParts("part_a.root", 0, 1700);
   WriteParts("part_b.root", 5000, 300);
   WriteParts("part_c.root", 9000, 901);
   WriteTuple();
   const auto serial = FromAllSources();
   CHECK(serial.size() > 4 * 10000);
   CHECK(serial[0] == 9000 && serial[3 * 901] == 0 && serial[3 * (901 + 1700)] == 5000);
   ROOT::EnableImplicitMT(4);
   const auto threads = ROOT::GetThreadPoolSize();
   bool same = true;
   for (int i = 0; i < 5; ++i)
      same = same && FromAllSources() == serial;
   CHECK(same);
   CHECK(ROOT::GetThreadPoolSize() == threads); // set back after the tree in memory
   CheckScalars();
   CheckArrays();
   CheckLabelsAndWeights();
   ROOT::DisableImplicitMT();
}

void CheckCopies()
{
   Dataset one({"f"});
   one.Add("types", "types.root", 1);
   Dataset two = one;
   const auto view = one.Features();
   CHECK(two.Features().Data() == view.Data()); // shared while equal
   one.Add("types", "types.root", 0);
   CHECK(one.Rows() == 10 && two.Rows() == 5);
   const Dataset three = std::move(one);
   CHECK(one.Rows() == 10 && three.Rows() == 10); // a move is a copy
   CHECK(view.Rows() == 5 && view(4) == 4); // views outlive the change
   CHECK(one.Features()(9) == 4);
   auto parts = one.Split(0.7, 3);
   CHECK(parts.first.Rows() == 7 && parts.second.Rows() == 3);
}

void columns()
{
   WriteTypes();
   CheckScalars();
   CheckArrays();
   CheckDefined();
   CheckPaths();
   CheckLabelsAndWeights();
   CheckThreads();
   CheckCopies();
   Passed();
}
