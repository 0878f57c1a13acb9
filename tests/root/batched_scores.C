/// \file batched_scores.C
/// \brief Model::DefineBatched: the bits of Predict() under filters, ranges, several runs, chains and friends; and Define() elsewhere.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include "check.h"

#include <TError.h>

using CladTorch::Dataset;
using CladTorch::Mlp;

constexpr int kFiles = 3;
const int kEntries[kFiles] = {150001, 7, 90000};

std::string Name(int file)
{
   return "batched_" + std::to_string(file) + ".root";
}

/// Files with clusters smaller and larger than a block; the numbers of events continue from file to file.
void Write()
{
   ULong64_t start = 0;
   for (int file = 0; file < kFiles; ++file) {
      ROOT::RDF::RSnapshotOptions options;
      options.fAutoFlush = file == 0 ? 997 : 80000;
      ROOT::RDataFrame(kEntries[file])
         .Define("event", [start](ULong64_t e) { return int(start + e); }, {"rdfentry_"})
         .Define("x", [](int e) { return float(std::sin(e * 0.37)); }, {"event"})
         .Define("n", [](int e) { return e % 7 - 3; }, {"event"})
         .Define("window", [](int e) { return ROOT::RVecF{float(e % 11), float(std::cos(e * 0.7))}; }, {"event"})
         .Define("list", [](int e) { return ROOT::RVecF(e % 4, float(e % 11)); }, {"event"})
         .Snapshot("events", Name(file), {"event", "x", "n", "window", "list"}, options);
      start += kEntries[file];
   }
}

std::vector<std::string> Files()
{
   return {Name(0), Name(1), Name(2)};
}

CladTorch::Model Trained(Dataset events, std::size_t outputs)
{
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   options.fLoss = outputs == 1 ? CladTorch::kAuto : CladTorch::kSoftmaxCrossEntropy;
   Mlp model({events.Width(), 64, 64, outputs});
   model.Fit(events.Add({"events", Files()}, "x > 0"), options);
   return model;
}

std::vector<float> Expected(const CladTorch::Model &model)
{
   return model.Predict(model.NewDataset().Add({"events", Files()}, "x > 0"));
}

/// Calls `define` and passes its screen output on as information.
std::string fSaid;
void Note(int level, Bool_t abort, const char *where, const char *message)
{
   if (level == kInfo)
      fSaid += std::string(where) + ": " + message + "\n";
   else
      DefaultErrorHandler(level, abort, where, message);
}

ROOT::RDF::RNode Batched(const CladTorch::Model &model, ROOT::RDF::RNode frame, const char *reason = "")
{
   fSaid.clear();
   auto *before = SetErrorHandler(Note);
   const auto level = gErrorIgnoreLevel;
   gErrorIgnoreLevel = kInfo;
   auto scored = model.DefineBatched(frame, "score");
   gErrorIgnoreLevel = level;
   SetErrorHandler(before);
   std::cout << fSaid;
   CHECK(*reason ? fSaid.find(reason) != std::string::npos : fSaid.empty());
   return scored;
}

/// Number of scores of the events of `frame` that differ by more than `tolerance` from those expected; checks that it
/// has `count` events.
void Compare(const char *what, ROOT::RDF::RNode frame, const std::vector<float> &expected, std::size_t count, float tolerance = 0)
{
   auto events = frame.Take<int>("event");
   auto scores = frame.Take<float>("score");
   std::size_t wrong = 0, first = 0;
   double largest = 0;
   for (std::size_t i = 0; i < scores->size(); ++i) {
      const double difference = std::fabs((*scores)[i] - expected[(*events)[i]]);
      first = difference > tolerance && wrong == 0 ? i : first;
      wrong += !(difference <= tolerance);
      largest = std::max(largest, difference);
   }
   std::cout << what << ": " << scores->size() << " scores, " << wrong << " differ, first " << first << ", by " << largest << std::endl;
   CHECK(scores->size() == count && wrong == 0);
}

void Served()
{
   const auto model = Trained(Dataset({"x", "n"}), 1);
   const auto expected = Expected(model);
   const std::size_t all = expected.size();
   ROOT::RDataFrame frame("events", Files());
   auto scored = Batched(model, frame);
   Compare("all", scored, expected, all);
   Compare("again", scored, expected, all);
   Compare("filter before", Batched(model, frame.Filter("n == 2")), expected, (all - 6) / 7 + 1);
   Compare("few events", Batched(model, frame.Filter("event % 5003 == 17")), expected, (all - 18) / 5003 + 1);
   Compare("filter behind", scored.Filter("score > 0.5"), expected, std::count_if(expected.begin(), expected.end(), [](float s) { return s > 0.5f; }));
   Compare("range", Batched(model, frame.Range(70000, 160000, 3)), expected, 30000);
   Compare("range behind", scored.Range(100), expected, 100);
   Compare("one event", Batched(model, frame.Filter("event == 150003")), expected, 1);
   TChain plain("events");
   for (const auto &file : Files())
      plain.Add(file.c_str());
   Compare("chain", Batched(model, ROOT::RDataFrame(plain)), expected, all);
   std::unique_ptr<TFile> file(TFile::Open(Name(0).c_str()));
   Compare("tree", Batched(model, ROOT::RDataFrame(*file->Get<TTree>("events"))), expected, kEntries[0]);
   // Two columns at once, and the same frame read by others in between.
   auto both = model.Define(Batched(model, frame), "other");
   auto mean = both.Define("d", "std::fabs(score - other)").Max("d");
   Compare("with another", both, expected, all);
   CHECK(*mean < 1e-6);

   const auto windowed = Trained(Dataset({"n"}).Column("window", 2), 1);
   Compare("an array", Batched(windowed, frame), Expected(windowed), all);
   const auto classes = Trained(Dataset({"x", "n"}), 3);
   const auto three = Expected(classes);
   auto lists = Batched(classes, frame).Take<ROOT::RVecF>("score");
   std::size_t wrong = 0;
   for (std::size_t i = 0; i < all; ++i)
      for (std::size_t k = 0; k < 3; ++k)
         wrong += (*lists)[i][k] != three[3 * i + k];
   CHECK(lists->size() == all && wrong == 0);
}

/// What the columns of a friend are, and values that are not finite.
void FriendsAndNumbers()
{
   const auto model = Trained(Dataset({"x", "n"}), 1);
   const auto expected = Expected(model);
   TChain chain("events"), other("marks");
   for (const auto &file : Files())
      chain.Add(file.c_str());
   ROOT::RDataFrame(expected.size()).Define("mark", "int(rdfentry_)").Snapshot("marks", "marks.root", {"mark"});
   other.Add("marks.root");
   chain.AddFriend(&other);
   auto marked = Batched(model, ROOT::RDataFrame(chain));
   Compare("with a friend", marked.Filter("mark % 2 == 1"), expected, expected.size() / 2);

   auto odd = ROOT::RDataFrame(300).Define("event", "int(rdfentry_)").Define("x", "event == 200 ? NAN : 0.01f * event").Define("n", "1");
   odd.Snapshot("events", "odd.root", {"event", "x", "n"});
   ROOT::RDataFrame frame("events", "odd.root");
   auto one = model.Define(frame, "score").Take<float>("score"), batched = Batched(model, frame).Take<float>("score");
   std::size_t same = 0;
   for (std::size_t i = 0; i < 300; ++i)
      same += std::isnan((*one)[i]) ? i == 200 && std::isnan((*batched)[i]) : Near((*one)[i], (*batched)[i], 1e-6);
   CHECK(same == 300);
}

void EventByEvent()
{
   const auto model = Trained(Dataset({"x", "n"}), 1);
   const auto expected = Expected(model);
   ROOT::RDataFrame frame("events", Files());
   const auto close = [&](const char *what, ROOT::RDF::RNode scored, std::size_t count) { Compare(what, scored, expected, count, 1e-6f); };
   close("redefined", Batched(model, frame.Redefine("x", [](float x) { return x; }, {"x"}), "'x' is left to ROOT's reader (defined"), expected.size());
   auto varied = frame.Vary("x", [](float x) { return ROOT::RVecF{x - 1, x + 1}; }, {"x"}, {"down", "up"});
   auto scored = Batched(model, varied, "'x' has variations");
   auto means = ROOT::RDF::Experimental::VariationsFor(scored.Mean<float>("score"));
   CHECK(!Near(means["nominal"], means["x:up"], 1e-4) && !Near(means["nominal"], means["x:down"], 1e-4));
   close("varied", scored, expected.size());
   close("no tree", Batched(model, ROOT::RDataFrame(100).Define("event", "int(rdfentry_)").Define("x", "float(std::sin(event * 0.37))").Define(
                                      "n", "event % 7 - 3"), "no tree"), 100);
   const auto product = Trained(Dataset({"x * n", "n"}), 1);
   Compare("an expression", Batched(product, frame, "'x * n' is an expression"), Expected(product), expected.size(), 1e-6f);
   Mlp objects({2, 1});
   objects.SetColumns({"list", "n"});
   CHECK(Batched(objects, frame, "'list' is a list").GetColumnType("score") == "ROOT::VecOps::RVec<float>");

   TChain chain("events");
   for (const auto &file : Files())
      chain.Add(file.c_str());
   ROOT::RDataFrame later(chain);
   auto early = Batched(model, later);
   Compare("before the list", early, expected, expected.size());
   TEntryList list("list", "", chain.GetName(), Name(0).c_str());
   for (int entry : {5, 9, 1000})
      list.Enter(entry);
   chain.SetEntryList(&list);
   Refuses("an entry list that came later", [&] { early.Sum<float>("score").GetValue(); }, {"entry list", "Define()"});
   close("an entry list", Batched(model, ROOT::RDataFrame(chain), "entry list"), 3);
   chain.SetEntryList(nullptr);

   Refuses("a model without columns", [&] { Mlp({2, 1}).DefineBatched(frame, "score"); }, {"no columns"});
   Refuses("a column that is there", [&] { model.DefineBatched(frame, "x"); }, {"already has a column 'x'"});

   gSystem->CopyFile(Name(2).c_str(), "changed.root", true);
   auto changed = Batched(model, ROOT::RDataFrame("events", "changed.root"));
   gSystem->CopyFile(Name(1).c_str(), "changed.root", true);
   Refuses("a file that changed", [&] { changed.Sum<float>("score").GetValue(); }, {"changed"});

   ROOT::EnableImplicitMT(2);
   close("threads", Batched(model, ROOT::RDataFrame("events", Files()), "several threads"), expected.size());
   ROOT::DisableImplicitMT();
}

void batched_scores()
{
   Write();
   Served();
   FriendsAndNumbers();
   EventByEvent();
   Passed();
}
