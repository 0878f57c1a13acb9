/// \file write_scores.C
/// \brief Model::WriteScores against Predict, for chains with uneven clusters and files, expressions, lists and RNTuples.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include "check.h"

constexpr int kFiles = 3;
const int kEntries[kFiles] = {70001, 5, 140000};

std::string Name(int file, const char *kind)
{
   return std::string(kind) + "_" + std::to_string(file) + ".root";
}

ROOT::RDF::RNode Events(int file)
{
   return ROOT::RDataFrame(kEntries[file])
      .Define("x", [file](ULong64_t e) { return float(std::sin(e * 0.37 + file)); }, {"rdfentry_"})
      .Define("n", [](ULong64_t e) { return int(e % 7) - 3; }, {"rdfentry_"})
      .Define("list", [](ULong64_t e) { return ROOT::RVecF(e % 4, float(e % 11)); }, {"rdfentry_"});
}

void Write()
{
   for (int file = 0; file < kFiles; ++file) {
      ROOT::RDF::RSnapshotOptions options;
      options.fAutoFlush = file == 0 ? 997 : 50000;
      Events(file).Snapshot("events", Name(file, "tree"), {"x", "n", "list"}, options);
      options.fOutputFormat = ROOT::RDF::ESnapshotOutputFormat::kRNTuple;
      Events(file).Snapshot("events", Name(file, "ntuple"), {"x", "n", "list"}, options);
   }
}

CladTorch::Model Trained(CladTorch::Dataset &events, std::size_t outputs)
{
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   options.fLoss = outputs == 1 ? CladTorch::kAuto : CladTorch::kSoftmaxCrossEntropy;
   CladTorch::Mlp model({events.Width(), 8, outputs});
   model.Fit(events, options);
   return model;
}

/// Scores of a friend against predictions of the same events.
void Compare(const CladTorch::Model &model, const CladTorch::Dataset &events, const CladTorch::Source &source, const char *path)
{
   model.WriteScores(source, path);
   const auto expected = model.Predict(events);
   TFile file(path);
   auto *tree = file.Get<TTree>("cladtorch");
   CHECK(tree && static_cast<std::size_t>(tree->GetEntries()) == events.Rows());
   std::vector<float> row(model.Outputs());
   tree->SetBranchAddress("score", row.data());
   std::size_t wrong = 0;
   for (std::size_t i = 0; i < events.Rows(); ++i) {
      tree->GetEntry(i);
      for (std::size_t k = 0; k < row.size(); ++k)
         wrong += row[k] != expected[i * row.size() + k];
   }
   CHECK(wrong == 0);
}

void write_scores()
{
   Write();
   for (const char *kind : {"tree", "ntuple"}) {
      const CladTorch::Files files{Name(0, kind), Name(1, kind), Name(2, kind)};
      CladTorch::Dataset plain({"x", "n"}), all({"x", "n * x"});
      all.Column("list", 3, -1).Mask("list");
      for (auto *events : {&plain, &all}) {
         events->Add({"events", files}, "x > 0");
         for (std::size_t outputs : {1, 2})
            Compare(Trained(*events, outputs), *events, {"events", files}, "scores.root");
      }
   }

   CladTorch::Dataset events({"x", "n * x"});
   const CladTorch::Source source("events", Name(0, "tree"));
   events.Add(source, "x > 0");
   const auto model = Trained(events, 1);
   TChain chain("events");
   chain.Add(Name(0, "tree").c_str());
   model.WriteScores(chain, "friend.root", "p", "scores");
   chain.AddFriend("scores", "friend.root");
   CHECK(chain.GetEntries("p > 0.5") > 0 && chain.GetEntries("p >= 0 && p <= 1") == chain.GetEntries());

   Refuses("a filter", [&] { model.WriteScores(source.Filter("x > 0"), "a.root"); }, {"filter", "every entry"});
   Refuses("the tree's own file", [&] { model.WriteScores(source, Name(0, "tree")); }, {"itself"});
   Refuses("a name that is no name", [&] { model.WriteScores(source, "a.root", "my score"); }, {"'my score'"});
   Refuses("a tree without name", [&] { model.WriteScores(source, "a.root", "score", ""); }, {"tree name"});
   Refuses("a folder that does not exist", [&] { model.WriteScores(source, "/nowhere/a.root"); }, {"/nowhere"});
   Refuses("a missing column", [&] { model.WriteScores({"cladtorch", "scores.root"}, "a.root"); }, {"'x'"});
   Refuses("no columns", [&] { CladTorch::Mlp({2, 1}).WriteScores(source, "a.root"); }, {"no columns"});
   model.Save("model.ct");
   auto loaded = CladTorch::Model::Load("model.ct");
   Refuses("an expression of a file", [&] { loaded.WriteScores(source, "a.root"); }, {"'n * x'", "SetColumns"});
   CHECK(gSystem->AccessPathName("a.root"));
   loaded.SetColumns(loaded.Columns());
   Compare(loaded, events, source, "a.root");
   Passed();
}
