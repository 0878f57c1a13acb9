/// \file stream.C
/// \brief Batches of a stream: the same for every buffer, every event once, the parts apart, errors, training.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TChain.h>
#include <TEntryList.h>
#include <TFile.h>
#include <TROOT.h>
#include <TStopwatch.h>
#include <TSystem.h>
#include <TTree.h>
#include <TVirtualMutex.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Mlp;
using CladTorch::Stream;
using Rows_t = std::vector<float>;

/// Entries first, first + 1, ...: x tells them apart, y is larger for the signal.
void WriteFile(const char *name, int first, int entries, double shift, int bad = -1)
{
   TFile file(name, "recreate");
   TTree tree("t", "");
   tree.SetAutoFlush(700);
   float x = 0, y = 0, z = 0;
   ROOT::RVecF v;
   tree.Branch("x", &x);
   tree.Branch("y", &y);
   tree.Branch("z", &z);
   tree.Branch("v", &v);
   for (int i = 0; i < entries; ++i) {
      x = first + i;
      y = shift + ((i * 7919) % 1000) / 500. - 1;
      z = i == bad ? std::numeric_limits<float>::quiet_NaN() : 1;
      v = ROOT::RVecF(i % 3, x);
      tree.Fill();
   }
   tree.Write();
}

constexpr int kSignal = 23000;
constexpr int kBackground = 5000;

void Write()
{
   WriteFile("signal0.root", 0, 11000, 0.7);
   WriteFile("signal1.root", 11000, 12000, 0.7);
   WriteFile("background.root", 100000, kBackground, -0.7);
   WriteFile("bad.root", 0, 9000, 0, 8500);
}

Stream Make()
{
   auto stream = Dataset({"x", "y - 0"}).Column("v", 2, -1).SetWeight("1 + y * y").Stream();
   return stream.Add("t", "signal*.root", 1).Add("t", "background.root", 0, "y < 0.1").SetWindow(5000);
}

FitOptions Options()
{
   FitOptions options;
   options.fBatchSize = 128;
   options.fSeed = 5;
   options.fVerbose = 0;
   return options;
}

/// Appends the size and all numbers of the next batch.
bool Take(CladTorch::Batches &batches, Rows_t &all)
{
   if (!batches.Next())
      return false;
   all.push_back(batches.Rows());
   for (const auto &part : {batches.Features(), batches.Labels(), batches.Weights()})
      all.insert(all.end(), part.begin(), part.end());
   return true;
}

Rows_t All(CladTorch::Batches batches)
{
   Rows_t all;
   while (Take(batches, all)) {}
   return all;
}

/// The first feature of every event, sorted.
Rows_t Events(CladTorch::Batches batches)
{
   Rows_t events;
   while (batches.Next())
      for (std::size_t i = 0; i < batches.Rows(); ++i)
         events.push_back(batches.Features()(i, 0));
   std::sort(events.begin(), events.end());
   return events;
}

Rows_t TakeAll(Dataset data)
{
   Rows_t events;
   for (std::size_t i = 0; i < data.Rows(); ++i)
      events.push_back(data.Features()(i, 0));
   std::sort(events.begin(), events.end());
   return events;
}

Rows_t CheckBatches()
{
   auto stream = Make();
   CHECK(stream.Entries() == kSignal + kBackground && stream.Width() == 4 && stream.Columns()[1] == "y - 0");
   const auto reference = All(stream.SetBuffer(1).Batches(Options()));
   bool same = true;
   for (const std::uint64_t buffer : {2, 700, 20000, 1000000000})
      same = same && All(stream.SetBuffer(buffer).Batches(Options())) == reference;
   CHECK(same);
   CHECK(All(stream.Batches(Options(), 2)) != reference);

   const auto training = Events(stream.Batches(Options()));
   const auto validation = Events(stream.Batches(Options(), 7, CladTorch::kValidation));
   CHECK(training == Events(stream.Batches(Options(), 3)));
   Rows_t all = training;
   all.insert(all.end(), validation.begin(), validation.end());
   std::sort(all.begin(), all.end());
   Dataset data({"x"});
   CHECK(all == TakeAll(data.Add("t", "signal*.root", 1).Add("t", "background.root", 0, "y < 0.1")));
   CHECK(Near(validation.size(), 0.2 * all.size(), 0.01 * all.size()));

   auto batches = stream.Batches(Options());
   CHECK(batches.Next());
   const auto x = batches.Features();
   bool right = x.Rows() == 128 && x.Columns() == 4;
   for (std::size_t i = 0; i < x.Rows(); ++i) {
      const bool signal = x(i, 0) < 100000;
      const int entry = int(x(i, 0)) - (signal ? (x(i, 0) < 11000 ? 0 : 11000) : 100000);
      right = right && batches.Labels()(i) == signal && x(i, 2) == (entry % 3 > 0 ? x(i, 0) : -1) &&
              batches.Weights()(i) == float(1 + x(i, 1) * x(i, 1));
   }
   CHECK(right);
   const auto first = x.ToRVec();
   std::set<const float *> places;
   for (int i = 0; i < 5; ++i) {
      CHECK(batches.Next() && first[0] != batches.Features()(0, 0));
      places.insert(batches.Features().Data());
   }
   CHECK(ROOT::VecOps::All(first == x.ToRVec())); // still the first batch
   CHECK(places.size() == 2 && places.count(x.Data()) == 0); // and those that nobody looks at take turns
   return reference; // and the thread that reads ahead ends here, in the middle of an epoch
}

/// The fast reader reads whole clusters, which windows divide; ROOT's reads the pieces.
Stream Pieces(CladTorch::EReader reader, CladTorch::EMixing mixing, const std::string &cut)
{
   auto stream = Dataset({"x", "y"}).SetReader(reader).Stream();
   stream.Add("t", "signal*.root", 1, cut).Add("t", "background.root", 0, cut);
   return stream.SetWindow(300).SetMixing(mixing);
}

void CheckPieces()
{
   for (const char *cut : {"", "y < 0.9"})
      for (const auto mixing : {CladTorch::kProportional, CladTorch::kBalanced}) {
         const auto reference = All(Pieces(CladTorch::kRootReader, mixing, cut).Batches(Options()));
         bool same = true;
         for (const std::uint64_t buffer : {1, 300, 100000})
            same = same && All(Pieces(CladTorch::kAutoReader, mixing, cut).SetBuffer(buffer).Batches(Options())) == reference;
         CHECK(same && reference.size() > 4 * kSignal / 2);
      }
   const auto stream = Pieces(CladTorch::kAutoReader, CladTorch::kProportional, "");
   auto first = stream.Batches(Options(), 1), second = stream.Batches(Options(), 2);
   Rows_t ofFirst, ofSecond;
   for (bool more = true; more;) {
      more = Take(first, ofFirst);
      more = Take(second, ofSecond) || more;
   }
   CHECK(ofFirst == All(stream.Batches(Options(), 1))); // two at once are as one after the other
   CHECK(ofSecond == All(stream.Batches(Options(), 2)) && ofFirst != ofSecond);
}

void CheckMixing()
{
   auto stream = Make().SetMixing(CladTorch::kBalanced);
   double sums[2] = {};
   for (auto batches = stream.Batches(Options()); batches.Next();)
      for (const float label : batches.Labels())
         ++sums[int(label)];
   CHECK(Near(sums[0] / sums[1], 0.9, 0.02)); // what passes the background's cut
   std::printf("background %g, signal %g\n", sums[0], sums[1]);
}

void CheckFrames()
{
   ROOT::RDataFrame frame("t", "signal0.root");
   auto node = frame.Define("w", [](float x) { return x / 2; }, {"x"}).Filter([](float x) { return x >= 100; }, {"x"});
   Stream stream({"x", "w"});
   stream.Add(node, "x > 6000");
   const auto events = Events(stream.Batches(Options(), 1, CladTorch::kTraining));
   CHECK(events.size() > 8000 && events[0] >= 100);
   CHECK(*node.Count() == 11000 - 100); // gives all entries again
   TFile file("background.root");
   auto *tree = file.Get<TTree>("t");
   CHECK(Events(Stream({"x"}).Add(tree, 1).Batches(Options())).size() > 3900);
   TChain chain("t");
   chain.Add("signal1.root");
   CHECK(Events(Stream({"x"}).Add(chain, 1).Batches(Options())).front() >= 11000);
}

/// Files of an RNTuple with several clusters, through ROOT's reader.
void CheckTuples()
{
   ROOT::RDF::RSnapshotOptions options;
   options.fOutputFormat = ROOT::RDF::ESnapshotOutputFormat::kRNTuple;
   options.fApproxZippedClusterSize = 4000;
   for (const char *file : {"0", "1"})
      ROOT::RDataFrame("t", std::string("signal") + file + ".root")
         .Snapshot("t", std::string("tuple") + file + ".root", {"x", "y", "v"}, options);
   const auto make = [](const char *files) {
      return Dataset({"x"}).Column("v", 2, -1).SetWeight("1 + y * y").Stream().Add("t", files, "y", "x > 5").SetWindow(3000);
   };
   const auto sorted = [&](const char *files) { return Events(make(files).Batches(Options())); };
   const auto events = sorted("tuple*.root");
   CHECK(make("tuple*.root").Entries() == kSignal && events.size() > 18000);
   CHECK(events == sorted("signal*.root")); // the same events are for training
   const auto reference = All(make("tuple*.root").Batches(Options()));
   CHECK(reference == All(make("tuple*.root").SetBuffer(1).Batches(Options())));
   auto batches = make("tuple*.root").Batches(Options());
   bool right = true;
   while (batches.Next())
      for (std::size_t i = 0; i < batches.Rows(); ++i) {
         const auto x = batches.Features();
         const int entry = int(x(i, 0)) - (x(i, 0) < 11000 ? 0 : 11000);
         const float y = batches.Labels()(i);
         right = right && x(i, 1) == (entry % 3 > 0 ? x(i, 0) : -1) && batches.Weights()(i) == 1 + y * y;
      }
   CHECK(right);
}

/// Cuts and weights that are compiled functions.
void CheckFunctions()
{
   const auto cut = [](float x, float y) { return x > 6000 && y < 0.5f; };
   const auto weight = [](float y) { return 1 + y * y; };
   const auto with = [&] {
      return Dataset({"x", "y"}).SetWeight(weight, {"y"}).Stream().Add({"t", "signal*.root"}, 1, cut, {"x", "y"});
   };
   const auto text = Dataset({"x", "y"}).SetWeight("1 + y * y").Stream().Add("t", "signal*.root", 1, "x > 6000 && y < 0.5f");
   CHECK(All(with().Batches(Options())) == All(text.Batches(Options())));
}

void CheckErrors()
{
   const auto read = [](Stream stream) { return [stream] { All(stream.Batches(Options())); }; };
   Refuses("NaN far inside", read(Stream({"x", "z"}).Add("t", "bad.root", 1)), {"'z'", "nan", "entry 8500", "bad.root"});
   CHECK(Events(Stream({"x", "z"}).Add("t", "bad.root", 1, "z == 1").Batches(Options())).size() > 7000);
   Refuses("no source", read(Stream({"x"})), {"without sources"});
   Refuses("no column", [] { Stream(std::vector<std::string>()).Batches(); }, {"without columns"});
   Refuses("missing column", [] { Stream({"xx"}).Add("t", "bad.root", 1); }, {"no column 'xx'", "bad.root"});
   Refuses("bad cut", [] { Stream({"x"}).Add("t", "bad.root", 1, "x >"); }, {"'x >'"});
   Refuses("missing file", [] { Stream({"x"}).Add("t", "nowhere.root", 1); }, {"nowhere.root"});
   Refuses("no tree", [] { Stream({"x"}).Add(ROOT::RDataFrame(5).Define("x", "1.f"), 1); }, {"neither a tree", "Dataset"});
   Refuses("range", [] { Stream({"x"}).Add(ROOT::RDataFrame("t", "bad.root").Range(100), 1); }, {"range", "rdfentry_"});
   CHECK(Events(Stream({"x"}).Add("t", "bad.root", 1, "rdfentry_ < 4000").Batches(Options())).size() > 3000);
   Refuses("bad label", [] { Stream({"x"}).Add("t", "bad.root", std::nan("")); }, {"not a finite number"});
   auto negative = Options();
   negative.fBatchSize = 0;
   Refuses("no batch", [&] { Make().Batches(negative); }, {"fBatchSize"});
   Refuses("epoch 0", [] { Make().Batches(Options(), 0); }, {"epoch 0", "from 1"});
   for (const std::uint64_t entries : {std::uint64_t(1) << 40, std::uint64_t(1) << 63, ~std::uint64_t(0)})
      Refuses("huge window", [&] { Make().SetWindow(entries); }, {("a window of " + std::to_string(entries)).c_str()});
   Refuses("training meets NaN", [] { Mlp({2, 1}).Fit(Stream({"x", "z"}).Add("t", "bad.root", 1), Options()); },
           {"'z'", "entry 8500"});
   Refuses("wrong width", [] { Mlp({3, 1}).Fit(Make(), Options()); }, {"4 numbers", "takes 3"});
   Refuses("labels that are no classes", [] { Mlp({1, 1}).Fit(Stream({"y"}).Add("t", "bad.root", "x"), Options()); },
           {"entry ", "tree 't' of bad.root, label column 'x', has label", "kBinaryCrossEntropy"});

   // a file that vanishes while the stream reads the one before it
   WriteFile("gone0.root", 0, 9000, 0);
   WriteFile("gone1.root", 0, 9000, 0);
   auto options = Options();
   options.fShuffle = false;
   auto batches = Stream({"x"}).Add("t", "gone*.root", 1).SetWindow(1000).SetBuffer(1).Batches(options);
   CHECK(batches.Next());
   gSystem->Unlink("gone1.root");
   Refuses("vanished file", [&] { while (batches.Next()) {} }, {"entries ", "gone"}); // ROOT looks for the next file early
   TFile file("background.root");
   auto *tree = file.Get<TTree>("t");
   TEntryList list("list", "", tree);
   list.Enter(3);
   tree->SetEntryList(&list);
   Refuses("entry list", [&] { Stream({"x"}).Add(tree, 1); }, {"entry list", "cut"});
}

void CheckTraining()
{
   const auto stream = Stream({"y"}).Add("t", "signal*.root", 1).Add("t", "background.root", 0).SetWindow(4000);
   Dataset data({"y"});
   data.Add("t", "signal*.root", 1).Add("t", "background.root", 0);
   auto options = Options();
   options.fEpochs = 3;
   Mlp one({1, 8, 1}), two({1, 8, 1}), resident({1, 8, 1});
   const auto history = one.Fit(stream, options);
   two.Fit(Stream(stream).SetBuffer(1), options);
   resident.Fit(data, options);
   CHECK(history.Epochs() == 3 && history.TrainLoss()[2] < history.TrainLoss()[0]);
   CHECK(std::equal(one.Parameters().begin(), one.Parameters().end(), two.Parameters().begin()));
   CHECK(one.Columns() == data.Columns());
   std::printf("AUC of the stream %.4f, of the dataset %.4f; validation loss %.4f\n", one.Auc(data), resident.Auc(data),
               history.ValidationLoss()[2]);
   CHECK(one.Auc(data) > 0.9 && Near(one.Auc(data), resident.Auc(data), 0.002));
   CHECK(Near(history.ValidationLoss()[2], history.TrainLoss()[2], 0.06)); // taken while it falls

   // LibTorch has its own copy of the rows: of every window anew, and of the validation events. The other back end
   // takes the same steps on the same batches.
   auto reference = options;
   reference.fGradient = CladTorch::kAutograd;
   Mlp three({1, 8, 1});
   const auto same = three.Fit(stream, reference);
   for (std::size_t epoch = 0; epoch < 3; ++epoch)
      CHECK(Near(same.TrainLoss()[epoch], history.TrainLoss()[epoch], 1e-4) &&
            Near(same.ValidationLoss()[epoch], history.ValidationLoss()[epoch], 1e-4));

   // A window that is smaller than a batch makes as many steps as a wide one: as much is learnt.
   options.fBatchSize = 4000;
   options.fLearningRate = 0.01;
   const auto loss = [&](std::uint64_t window) {
      Mlp model({1, 8, 1});
      return model.Fit(Stream(stream).SetWindow(window), options).TrainLoss()[2];
   };
   const double narrow = loss(500), wide = loss(20000);
   options.fBatchSize = 400;
   std::printf("loss of batches of 4000 from windows of 500 and 20000: %.4f, %.4f; of 400: %.4f\n", narrow, wide, loss(20000));
   CHECK(Near(narrow, wide, 0.05));
}

void CheckStart()
{
   TStopwatch watch;
   auto batches = Stream({"x", "y"}).Add("t", "signal*.root", 1).Add("t", "background.root", 0).Batches(Options());
   CHECK(batches.Next());
   std::printf("first batch after %.3f s\n", watch.RealTime());
}

/// Unplanned ends of the reading: ROOT's lock is held, the files are closed.
void CheckEnds()
{
   auto locked = std::make_unique<CladTorch::Batches>(Make().SetBuffer(100000).Batches(Options()));
   {
      R__LOCKGUARD(gROOTMutex); // as where cling destroys a variable
      locked.reset();
   }
   auto closed = Make().Batches(Options());
   CHECK(closed.Next());
   gROOT->CloseFiles();
   Refuses("closed files", [&] { while (closed.Next()) {} }, {"closed its files"});
   CHECK(gROOT->GetListOfFiles()->IsEmpty());
}

void stream()
{
   Write();
   const auto serial = CheckBatches();
   CheckPieces();
   CheckMixing();
   CheckFrames();
   CheckTuples();
   CheckFunctions();
   CheckErrors();
   CheckTraining();
   CheckStart();
   ROOT::EnableImplicitMT(4);
   CheckTraining(); // on the same events in the same order
   const auto fast = [] { return Stream({"x", "y"}).Add("t", "signal*.root", 1); };
   Refuses("a cut on several threads", [&] { All(Make().Batches(Options())); }, {"one thread", "DisableImplicitMT"});
   const auto threads = All(fast().Batches(Options()));
   Refuses("data frame for several threads", [] { Stream({"x"}).Add(ROOT::RDataFrame("t", "signal0.root"), 1); },
           {"several threads", "EnableImplicitMT"});
   ROOT::DisableImplicitMT();
   CHECK(threads == All(fast().Batches(Options())));
   const auto slow = Dataset({"x", "y"}).SetReader(CladTorch::kRootReader).Stream().Add("t", "signal*.root", 1);
   CHECK(threads == All(slow.Batches(Options()))); // both readers
   CHECK(CheckBatches() == serial);
   CheckEnds();
   static auto left = Make().SetBuffer(100000).Batches(Options()); // still reading when the session ends
   CHECK(left.Next());
   Passed();
}
