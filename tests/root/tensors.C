/// \file tensors.C
/// \brief Columns as float32, float64 and int64, padded or not; class balance.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TFile.h>
#include <TTree.h>

#include <limits>

using CladTorch::Dataset;
using CladTorch::Jagged;

const ULong64_t kLargest = std::numeric_limits<Long64_t>::max();
constexpr int kEntries = 1000;

void Write()
{
   TFile file("events.root", "recreate");
   TTree tree("t", "");
   tree.SetAutoFlush(70);
   Long64_t run = 0;
   ULong64_t id = 0;
   double time = 0;
   bool flag = false;
   std::vector<double> list;
   tree.Branch("run", &run);
   tree.Branch("id", &id);
   tree.Branch("time", &time);
   tree.Branch("flag", &flag);
   tree.Branch("list", &list);
   for (int i = 0; i < kEntries; ++i) {
      run = 9007199254740993 * (i % 2 ? 1 : -1) + i; // beyond 2^53
      id = i == 999 ? kLargest + 1 : kLargest;
      time = 1e9 + i / 1024.;
      flag = i % 2;
      list.assign(i % 4, time);
      tree.Fill();
   }
   tree.Write();
}

CladTorch::Source Events()
{
   return {"t", "events.root"};
}

void CheckExact()
{
   const auto run = Jagged<std::int64_t>::Read(Events(), "run").Values();
   const auto time = Jagged<double>::Read(Events(), "time").Values();
   const auto id = Jagged<std::int64_t>::Read(Events(), "id", "id <= 9223372036854775807ull && run != 0").Values();
   const auto flag = Jagged<std::int64_t>::Read(Events(), "flag").Values();
   const Jagged<Long64_t> asROOT = Jagged<Long64_t>::Read(Events(), "run");
   CHECK(asROOT[1][0] == run(1) && asROOT.Padded(2, -1)(1, 0) == run(1) && asROOT.Padded(2, -1)(1, 1) == -1);
   bool same = run.Size() == kEntries && time.Size() == kEntries && time.Rank() == 1;
   for (int i = 0; i < kEntries; ++i)
      same = same && run(i) == 9007199254740993 * (i % 2 ? 1 : -1) + i && time(i) == 1e9 + i / 1024. && flag(i) == i % 2;
   CHECK(same);
   CHECK(id(0) == std::int64_t(kLargest));
   CHECK(Jagged<float>::Read(Events(), "time").Values()(1) == 1e9f); // rounds
   CHECK(std::isnan(Jagged<double>::Read(Events(), "std::nan(\"\")").Values()(0)));
}

void CheckJagged()
{
   const auto jagged = Jagged<double>::Read(Events(), "list");
   bool same = jagged.Rows() == kEntries && jagged.Offsets().Size() == kEntries + 1 && jagged.Offsets()(0) == 0;
   for (int i = 0; same && i < kEntries; ++i)
      same = ROOT::VecOps::All(jagged[i] == 1e9 + i / 1024.) && jagged[i].size() == std::size_t(i % 4);
   CHECK(same);
   CHECK(jagged.Values().Size() == std::size_t(jagged.Offsets()(kEntries)) && jagged.Values().Size() == 1500);
   const auto padded = jagged.Padded(2, -1);
   CHECK(padded.Rows() == kEntries && padded.Columns() == 2 && padded(0, 0) == -1 && padded(1, 1) == -1);
   CHECK(padded(7, 1) == 1e9 + 7 / 1024. && padded(5, 0) == 1e9 + 5 / 1024. && padded(5, 1) == -1);
   const auto some = Jagged<float>::Read(ROOT::RDataFrame("t", "events.root").Filter("list.size() > 1"), "2 * list", "run > 0");
   CHECK(some.Rows() == 250 && some.Values().Size() == 750);
   const auto scalar = Jagged<double>::Read(Events(), "time").Offsets();
   CHECK(scalar(kEntries) == kEntries && scalar(17) == 17);
   CHECK(jagged.Values().ToRVec().size() == 1500 && jagged.Values().ToRVec()[3] == jagged.Values()(3));
}

void CheckErrors()
{
   Refuses("unsigned beyond int64", [] { Jagged<std::int64_t>::Read(Events(), "id"); },
           {"'id'", "9223372036854775808", "entry 999", "events.root", "as double"});
   Refuses("integer beyond 2^53", [] { Jagged<double>::Read(Events(), "run"); },
           {"'run'", "-9007199254740993", "entry 0", "501 events", "std::int64_t"});
   Refuses("fraction", [] { Jagged<std::int64_t>::Read(Events(), "time"); }, {"'time'", "1000000000.000976", "entry 1 "});
   Refuses("infinity", [] { Jagged<std::int64_t>::Read(Events(), "flag ? 1. / 0 : 0"); }, {"inf", "entry 1 "});
   Refuses("missing column", [] { Jagged<double>::Read(Events(), "tim"); }, {"no column 'tim'", "'time'"});
   Refuses("no event", [] { Jagged<double>::Read(Events(), "time", "run == 0"); }, {"no event", "run == 0"});
   Refuses("missing file", [] { Jagged<double>::Read({"t", "nowhere.root"}, "time"); }, {"nowhere.root"});
   using Offsets_t = std::vector<std::int64_t>;
   const struct {
      Offsets_t fOffsets;
      const char *fReason;
   } bad[] = {{{}, "no offsets"},
              {{1, 2}, "the first offset is 1"},
              {{-1, 2}, "the first offset is -1"},
              {{0, 2, 1, 2}, "offset 2 (1) is less than the one before (2)"},
              {{0, -1}, "offset 1 (-1) is less"},
              {{0, 3}, "the last offset is 3, but there are 2 values"},
              {{0, 5000000000}, "the last offset is 5000000000"}};
   for (const auto &each : bad)
      Refuses(each.fReason, [&] { Jagged<double>(std::vector<double>{1, 2}, each.fOffsets); }, {each.fReason});
   for (const auto &good : {Offsets_t{0}, Offsets_t{0, 0}, Offsets_t{0, 1, 1, 2}})
      CHECK(Jagged<double>(std::vector<double>{1, 2}, good).Rows() == good.size() - 1);
   Refuses("no memory", [] { CladTorch::FloatView(nullptr, 3, 2, nullptr); }, {"3 rows of 2", "null pointer"});
   const float number = 0;
   Refuses("too much of it", [&] { CladTorch::FloatView(&number, std::size_t(1) << 40, std::size_t(1) << 40, nullptr); },
           {"longer than any memory"});
   CHECK(CladTorch::FloatView(nullptr, 0, 2, nullptr).Size() == 0);
   Refuses("length 0", [] { Jagged<double>::Read(Events(), "list").Padded(0); }, {"length 0"});
   for (const auto length : {std::size_t(1) << 60, std::size_t(1000000000000000), std::size_t(10000000000)})
      Refuses("huge length", [&] { Jagged<double>::Read(Events(), "list").Padded(length); }, {"1000 events", "memory"});
}

/// Three classes, one with negative weights among its own.
void CheckBalance()
{
   auto frame = ROOT::RDataFrame(300).Define("w", "rdfentry_ % 10 == 0 ? -0.5 : 1.0").Define("x", "float(rdfentry_)");
   Dataset data({"x"});
   data.SetWeight("w").Add(frame, 0, "x < 200").Add(frame, 1, "x >= 200 && x < 290").Add(frame, 2, "x >= 290");
   const Dataset before = data;
   data.Balance();
   double sums[3] = {}, total = 0;
   for (std::size_t i = 0; i < data.Rows(); ++i) {
      sums[int(data.Labels()(i))] += data.Weights()(i);
      total += before.Weights()(i);
   }
   CHECK(Near(sums[0], total / 3, 1e-3) && Near(sums[1], total / 3, 1e-3) && Near(sums[2], total / 3, 1e-3));
   CHECK(data.Weights()(0) < 0 && before.Weights()(0) == -0.5); // the copy keeps its own
   Dataset odd({"x"});
   odd.SetWeight("-1").Add(frame, 1);
   Refuses("class without weight", [&] { odd.Balance(); }, {"label 1 sum to -300"});
   Refuses("regression", [&] { Dataset({"x"}).Add(ROOT::RDataFrame(3000).Define("x", "rdfentry_"), "x").Balance(); },
           {"more than 1000 different"});
   CHECK(odd.Weights()(0) == -1);
}

void tensors()
{
   Write();
   CheckExact();
   CheckJagged();
   CheckErrors();
   CheckBalance();
   ROOT::EnableImplicitMT(4);
   CheckExact();
   CheckJagged();
   CheckErrors();
   Passed();
}
