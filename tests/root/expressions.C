/// \file expressions.C
/// \brief Members of objects, lists of lists, masks, expressions: as features, labels, weights and cuts, in Fit and back.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TClonesArray.h>
#include <TFile.h>
#include <TTree.h>
#include <TVector3.h>

using CladTorch::Dataset;
using Rows_t = std::vector<float>;

struct Leaves {
   float a;
   int b;
};

/// Entry i: pt = i, jets of length i % 3 that count from 10 i on, lists of lists, an object, two leaves on a branch.
void Write()
{
   TFile file("events.root", "recreate");
   TTree tree("t", "");
   tree.SetAutoFlush(3);
   int n = 0;
   float pt = 0, matrix[2][3];
   Leaves leaves;
   ROOT::RVecF jet;
   std::vector<std::vector<float>> nested;
   TClonesArray tracks("TVector3");
   Float16_t half;
   Double32_t packed;
   tree.Branch("n", &n);
   tree.Branch("pt", &pt);
   tree.Branch("matrix", matrix, "matrix[2][3]/F");
   tree.Branch("leaves", &leaves, "a/F:b/I");
   tree.Branch("jet", &jet);
   tree.Branch("nested", &nested);
   tree.Branch("tracks", &tracks, 32000, 99);
   tree.Branch("half", &half, "half/f[0,16,16]");
   tree.Branch("packed", &packed, "packed/d[0,8,8]");
   for (int i = 0; i < 9; ++i) {
      n = i % 3;
      pt = i;
      leaves = {i + 0.5f, -i};
      jet = ROOT::RVecF(n);
      nested.assign(n, std::vector<float>(i % 4, i));
      tracks.Clear();
      for (int j = 0; j < n; ++j) {
         jet[j] = 10 * i + j;
         new (tracks[j]) TVector3(i, j, 7);
      }
      for (int j = 0; j < 6; ++j)
         matrix[j / 3][j % 3] = 10 * i + j;
      half = packed = 0.25 * i;
      tree.Fill();
   }
   tree.Write();
}

Rows_t Row(const Dataset &data, std::size_t row)
{
   const auto view = data.Features();
   return Rows_t(view.begin() + row * data.Width(), view.begin() + (row + 1) * data.Width());
}

/// Feature, label and weight of every row.
Rows_t TakeRows(const Dataset &data)
{
   Rows_t rows;
   for (std::size_t i = 0; i < data.Rows(); ++i)
      rows.insert(rows.end(), {data.Features()(i, 0), data.Labels()(i), data.Weights()(i)});
   return rows;
}

Dataset Read(Dataset data, const char *cut = "")
{
   return data.Add("t", "events.root", 1, cut);
}

void CheckTypes()
{
   const auto data = Read(Dataset({"leaves.a", "leaves.b", "half", "packed"}));
   CHECK((Row(data, 8) == Rows_t{8.5, -8, 2, 2} && Row(data, 3) == Rows_t{3.5, -3, 0.75, 0.75}));
   const auto lists = Read(Dataset().Column("tracks.fX", 2, -1).Column("tracks.fY", 2, -1).Column("matrix", {2, 3}));
   CHECK((Row(lists, 4) == Rows_t{4, -1, 0, -1, 40, 41, 42, 43, 44, 45}));
   CHECK((Row(lists, 5) == Rows_t{5, 5, 0, 1, 50, 51, 52, 53, 54, 55}));
}

void CheckNested()
{
   const auto twice = [](float pt) { return std::vector<std::vector<int>>(2, {int(pt)}); };
   auto more = ROOT::RDataFrame("t", "events.root").Define("counts", twice, {"pt"});
   Dataset data;
   data.Column("nested", {3, 2}, -9).Column("counts", {1, 2}, 0.5).Mask("nested").Add(more, 1);
   CHECK((data.Columns() == std::vector<std::string>{"nested", "counts", "mask(nested)"}));
   CHECK((Row(data, 0) == Rows_t{-9, -9, -9, -9, -9, -9, 0, 0.5, 0, 0, 0, 0, 0, 0})); // no list
   CHECK((Row(data, 4) == Rows_t{-9, -9, -9, -9, -9, -9, 4, 0.5, 0, 0, 0, 0, 0, 0})); // an empty list
   CHECK((Row(data, 5) == Rows_t{5, -9, 5, -9, -9, -9, 5, 0.5, 1, 0, 1, 0, 0, 0}));
   CHECK((Row(data, 7) == Rows_t{7, 7, -9, -9, -9, -9, 7, 0.5, 1, 1, 0, 0, 0, 0})); // of 3 numbers 2
   const auto array = [](float pt) { return std::array<double, 2>{pt, -pt}; };
   const auto set = [](float pt) { return std::set<int>{int(pt), 3}; };
   auto frame = ROOT::RDataFrame("t", "events.root").Define("array", array, {"pt"}).Define("set", set, {"pt"});
   Dataset others;
   others.Column("array", 3, -1).Column("set", 2, -1).Mask("set").Add(frame, 1);
   CHECK((Row(others, 3) == Rows_t{3, -3, -1, 3, -1, 1, 0}) && (Row(others, 5) == Rows_t{5, -5, -1, 3, 5, 1, 1}));
}

void CheckExpressions()
{
   const std::vector<std::string> names{"pt/1000", "Sum$(jet)", "Length$(jet) * 2", "std::sqrt(pt)", "n == 2 ? jet[1] : -1",
                                        "leaves.a - leaves.b", "Sum$(jet > 20)", "pt > 3"};
   const auto data = Read(Dataset(names));
   CHECK(data.Columns() == names);
   CHECK((Row(data, 5) == Rows_t{0.005f, 101, 4, std::sqrt(5.f), 51, 10.5, 2, 1}));
   CHECK((Row(data, 0) == Rows_t{0, 0, 0, 0, -1, 0.5, 0, 0}));
   const auto lists = Read(Dataset().Column("2 * jet", 2, -1).Mask("2 * jet").Column("nested[1]", 2, -1), "n == 2");
   CHECK(lists.Rows() == 3 && (Row(lists, 1) == Rows_t{100, 102, 1, 1, 5, -1}));

   Dataset labelled({"jet[0]", "Max$(jet)", "Min$(jet)"});
   labelled.SetWeight("1 - pt").Add("t", "events.root", "n == 2", "Length$(jet) > 0 && jet[0] >= 20");
   CHECK(labelled.Rows() == 5 && (Row(labelled, 0) == Rows_t{20, 21, 20}) && (Row(labelled, 1) == Rows_t{40, 40, 40}));
   CHECK(labelled.Labels()(0) == 1 && labelled.Labels()(1) == 0 && labelled.Weights()(1) == -3);
}

/// Expressions that are columns themselves leave these as they are for what is read behind them.
void CheckColumnsStay()
{
   const auto frame = ROOT::RDataFrame(4).Define("v", "ROOT::RVecF{1, 2, float(rdfentry_)}").Define("w", "v * 10").Define("first", "rdfentry_ < 2");
   Dataset data;
   data.Column("first ? v : w", 3).Column("(v)", 3).Column("v", 3).Column("w", 3);
   data.Add(frame, "Sum$(v)", "Sum(v) > 0 && v[0] == 1");
   CHECK(data.Rows() == 4);
   CHECK((Row(data, 1) == Rows_t{1, 2, 1, 1, 2, 1, 1, 2, 1, 10, 20, 10}) && (Row(data, 3) == Rows_t{10, 20, 30, 1, 2, 3, 1, 2, 3, 10, 20, 30}));
   CHECK(data.Labels()(3) == 6);
}

void CheckRefusals()
{
   const auto read = [](Dataset data, const char *cut = "") { return [=] { Read(data, cut); }; };
   Refuses("index past the end", read(Dataset({"jet[1]"})), {"'jet[1]'", "entry 0", "events.root", "Length$(jet) > 1"});
   Refuses("negative index", read(Dataset({"jet[n - 4]"}), "pt > 4"), {"'jet[-2]'", "entry 5", "2 numbers"});
   Refuses("index in a cut", read(Dataset({"pt"}), "jet[0] > 1"), {"'jet[0]'", "entry 0", "'jet[0] > 1'"});
   Refuses("largest of none", read(Dataset({"Max$(jet)"})), {"Max$", "events.root"});
   Refuses("no such name", read(Dataset({"ptt/1000"})), {"'ptt/1000'", "expression", "events.root"});
   Refuses("no expression", read(Dataset({"pt /"})), {"'pt /'", "expression"});
   Refuses("open bracket", read(Dataset({"jet[0"})), {"'jet[0'", "lacks a ']'"});
   Refuses("power", read(Dataset({"pt^2"})), {"'pt^2'", "std::pow"});
   for (const char *text : {"pt; n", "pt, n", "pt // n", "pt /* n */"})
      Refuses("more than one expression", read(Dataset({text})), {text, "contains '"});
   Refuses("brackets of another expression", read(Dataset({"pt), (n"})), {"'pt), (n'", "closes a bracket that it does not open"});
   Refuses("statements", read(Dataset({"[](float x) { return x; }(pt)"})), {"contains 'return'", "gInterpreter->Declare"});
   // Without a value, and the expressions behind it are read as before.
   Refuses("no value", read(Dataset({"gRandom->SetSeed(1)"})), {"'gRandom->SetSeed(1)'", "expression"});
   CHECK(Read(Dataset({"2 * pt", "std::max<float>(pt, 3)"}), "n == 2").Rows() > 0);
   Refuses("other functions of Draw", read(Dataset({"Alt$(jet[0], 1)"})), {"Alt$", "Sum$, Min$, Max$ and Length$"});
   Refuses("a list as a scalar", read(Dataset({"2 * jet"})), {"'2 * jet'", "Column(\"2 * jet\", length)"});
   Refuses("no number", read(Dataset({"std::string(\"a\")"})), {"std::string", "arithmetic"});
   Refuses("lists of lists without a shape", read(Dataset().Column("nested", 3)), {"'nested'", "{lists, numbers}"});
   Refuses("a scalar with a shape", read(Dataset().Column("pt", {2, 2})), {"'pt'", "scalar"});
   Refuses("an empty shape", [] { Dataset().Column("nested", {0, 2}); }, {"'nested'", "0 lists of 2"});
   Refuses("a huge shape", [] { Dataset().Column("nested", {std::size_t(1) << 40, std::size_t(1) << 40}); },
           {"'nested'", "give a shape"});
   Refuses("mask of nothing", [] { Dataset({"pt"}).Mask("jet"); }, {"'jet'", "mask"});
   Refuses("mask of a scalar", [] { Dataset({"pt"}).Mask("pt"); }, {"no list column 'pt'"});
   Refuses("mask twice", [] { Dataset().Column("jet", 2).Mask("jet").Mask("jet"); }, {"\"mask(jet)\" is listed twice"});
}

/// The same rows in the dataset and in a data frame to which the model is applied, also after a trip through a file.
void CheckModel()
{
   auto data = Read(Dataset({"pt/10", "Sum$(jet)"}).Column("nested", {2, 2}, -1).Mask("nested").Column("jet", 2, -3));
   CladTorch::FitOptions options;
   options.fVerbose = 0;
   options.fEpochs = 1;
   CladTorch::Mlp model({12, 4, 1}, CladTorch::kTanh);
   model.Fit(data, options);
   model.Save("model.ct");
   const auto loaded = CladTorch::Mlp::Load("model.ct");
   CHECK(loaded.Columns() == data.Columns());
   const auto predicted = model.Predict(data);
   auto scores = *loaded.Define(ROOT::RDataFrame("t", "events.root"), "score", loaded.Columns()).Take<float>("score");
   auto expected = predicted;
   std::sort(scores.begin(), scores.end()); // threads deliver in any order
   std::sort(expected.begin(), expected.end());
   CHECK(scores.size() == 9);
   for (std::size_t i = 0; i < scores.size(); ++i)
      CHECK(Near(scores[i], expected[i], 1e-6));
   CHECK(scores.front() < scores.back());
}

bool IsFar(float pt, int n)
{
   return pt > 2 && n != 1;
}

/// Cuts and weights that are functions, of every kind of callable, on every kind of source.
void CheckFunctions()
{
   const float shift = 0.5;
   const auto weight = [shift](float pt) { return pt - shift; };
   const auto text = Dataset({"pt"}).SetWeight("pt - 0.5f").Add("t", "events.root", "n", "pt > 2 && n != 1");
   CHECK((TakeRows(text) == Rows_t{3, 0, 2.5, 5, 2, 4.5, 6, 0, 5.5, 8, 2, 7.5}));
   const std::function<bool(float, int)> cut = IsFar;
   TFile file("events.root");
   for (const CladTorch::Source &source :
        {CladTorch::Source("t", "events.root"), CladTorch::Source(file.Get<TTree>("t")),
         CladTorch::Source(ROOT::RDataFrame("t", "events.root").Filter("pt < 100"))}) {
      auto data = Dataset({"pt"}).SetWeight(weight, {"pt"});
      CHECK(TakeRows(data.Add(source, "n", cut, {"pt", "n"})) == TakeRows(text));
      CHECK(data.Add(source, 1, IsFar, {"pt", "n"}).Rows() == 8 && data.Labels()(7) == 1);
      CHECK(data.SetWeight("").Add(source, 1).Weights()(9) == 1);
   }
   Dataset data({"pt"});
   data.SetWeight([](float pt) { return pt > 6 ? std::nanf("") : 1.f; }, {"pt"});
   Refuses("NaN from a function", [&] { data.Add("t", "events.root", 1); }, {"weight column 'weight(pt)'", "nan in entry 7"});
   Refuses("column of a cut", [&] { data.Add({"t", "events.root"}, 1, IsFar, {"pt", "nn"}); }, {"nn"});
   Refuses("column of a weight", [&] { data.SetWeight(weight, {"pp"}).Add("t", "events.root", 1); }, {"pp"});
   Refuses("nothing passes", [] { Dataset({"pt"}).Add({"t", "events.root"}, 1, [](float) { return false; }, {"pt"}); },
           {"no events"});
   CHECK(data.Rows() == 0);
}

void CheckAll()
{
   CheckTypes();
   CheckNested();
   CheckExpressions();
   CheckFunctions();
   CheckModel();
}

void expressions()
{
   Write();
   CheckAll();
   CheckColumnsStay();
   CheckRefusals();
   ROOT::EnableImplicitMT(4);
   CheckAll();
   Passed();
}
