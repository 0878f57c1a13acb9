/// \file ranks.C
/// \brief A fit by the processes of an MPI job, or by this one alone; and possible failures on a rank.

#include <CladTorch/CladTorch.hxx>

#include <ROOT/RSnapshotOptions.hxx>
#include <TRandom3.h>
#include <TSystem.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

ROOT::RDF::RNode Frame(bool others)
{
   const int first = others ? 5000 : 0;
   auto value = [first](ULong64_t entry) { return float(TRandom3(entry + 1 + first).Gaus()); };
   auto other = [](ULong64_t entry) { return float(TRandom3(entry + 700001).Gaus()); };
   auto isIn = [](float x, float y) { return int(x * x + y * y < 0.8f); };
   return ROOT::RDataFrame(3000).Define("x", value, {"rdfentry_"}).Define("y", other, {"rdfentry_"}).Define("in", isIn, {"x", "y"});
}

/// A checksum of all bits of the parameters.
std::uint64_t Bits(const CladTorch::Model &model)
{
   std::uint64_t hash = 1;
   for (const float parameter : model.Parameters()) {
      std::uint32_t bits;
      std::memcpy(&bits, &parameter, sizeof bits);
      hash = (hash ^ bits) * 0x100000001b3;
   }
   return hash;
}

/// The events as a stream from a tree of several clusters, which each rank has in a file of its own.
CladTorch::Stream Events(ROOT::RDF::RNode frame, int rank, const char *cut = "y < 2.5")
{
   const auto file = "events_" + std::to_string(rank) + ".root";
   ROOT::RDF::RSnapshotOptions how;
   how.fAutoFlush = 700;
   frame.Snapshot("events", file, {"x", "y", "in"}, how);
   return CladTorch::Stream({"x", "y"}).Add("events", file, CladTorch::Label("in"), cut);
}

/// A file of `frame` with clusters of so many entries, which each rank has for itself.
std::string FileOf(ROOT::RDF::RNode frame, int rank, int cluster)
{
   const auto file = "shards_" + std::to_string(rank) + ".root";
   ROOT::RDF::RSnapshotOptions how;
   how.fAutoFlush = cluster;
   frame.Snapshot("events", file, {"x", "y", "in"}, how);
   return file;
}

/// Two sources of it, one with a cut and an expression as label; each rank takes its share of both.
CladTorch::Dataset Shards(const std::string &file, CladTorch::ESharding sharding = CladTorch::kSharded)
{
   CladTorch::Dataset events({"x", "y"});
   events.SetSharding(sharding).Add("events", file, CladTorch::Label("in"));
   return events.Add("events", file, CladTorch::Label("x > 3 ? 1 : in"), "y < 0.5");
}

void ranks(const char *given = "fit", int threads = 1)
{
   const TString what = given;
   const int rank = CladTorch::Rank();
   const auto of = std::string(given) + ',' + std::to_string(threads) + ' '; // before results: of this call
   auto frame = Frame(what == "other_events" && rank == 1);
   const auto events = CladTorch::Dataset({"x", "y"}).Add(frame, CladTorch::Label("in"));
   CladTorch::FitOptions options;
   options.fParallel = CladTorch::kMpi;
   options.fEpochs = 4;
   options.fBatchSize = 512;
   options.fThreads = threads;
   if (what == "leaves" && rank == 1)
      return;
   if (what == "silent") {
      gSystem->Setenv("CLADTORCH_MPI_SECONDS", "2");
      if (rank == 1)
         gSystem->Sleep(20000);
   }
   if (what == "throws")
      options.fMetrics = {CladTorch::Metric("mine", [rank](const CladTorch::Evaluation &) -> double {
         if (rank == 1)
            throw std::runtime_error("no figure");
         return 1;
      })};
   if (what == "killed")
      options.fCallback = [](const CladTorch::Epoch &) -> bool { return std::raise(SIGKILL) == 0; };
   if (what == "long") {
      std::ofstream("pid_" + std::to_string(rank)) << gSystem->GetPid();
      options.fCallback = [](const CladTorch::Epoch &) { return gSystem->Sleep(250), false; };
   }
   if (what == "long" || what == "resume_long" || what == "whole_long") {
      options.fEpochs = 40;
      options.fCheckpoint = what == "whole_long" ? "" : "long.ckpt";
   }
   if (what == "begin" || what == "resume")
      options.fCheckpoint = "ranks.ckpt";
   if (what == "begin" || (what == "one_callback" && rank == 0))
      options.fCallback = [](const CladTorch::Epoch &epoch) { return epoch.fNumber == 2; };
   // Every rank starts with its own weights, but those of rank 0 count.
   CladTorch::MlpOptions layers;
   layers.fActivation = CladTorch::kTanh;
   layers.fSeed = 1 + rank;
   layers.fNormalisation = what == "batch_norm" ? CladTorch::kBatchNorm : CladTorch::kNoNormalisation;
   CladTorch::Mlp model({2, 32, 1}, layers);
   CladTorch::History history;
   if (what.BeginsWith("shards")) {
      options.fMetrics = {CladTorch::kAuc};
      const auto file = FileOf(frame, rank, what == "shards_few" ? 4000 : 150);
      if (what == "shards_begin" || what == "shards_resume")
         options.fCheckpoint = "shards.ckpt";
      if (what == "shards_begin")
         options.fCallback = [](const CladTorch::Epoch &epoch) { return epoch.fNumber == 2; };
      if (what == "shards_validated")
         history = model.Fit(Shards(file), Shards(file), options);
      else if (what == "shards_resume")
         history = model.Resume(Shards(file), "shards.ckpt", options);
      else if (what == "shards_mixed")
         history = model.Fit(Shards(file, rank == 1 ? CladTorch::kReplicated : CladTorch::kSharded), options);
      else if (what == "shards_sources")
         history = model.Fit(rank == 1 ? Shards(file).Add("events", file, 0, "y < 0.1") : Shards(file), options);
      else if (what == "shards_kinds")
         history = model.Fit(Shards(file, rank == 1 ? CladTorch::kOwnShard : CladTorch::kSharded), options);
      else if (what == "shards_cuts")
         history = model.Fit(CladTorch::Dataset({"x", "y"}).SetSharding(CladTorch::kSharded).Add("events", file, CladTorch::Label("in"), rank == 1 ? "y < 1" : "y < 2"), options);
      else if (what == "shards_labels")
         history = model.Fit(CladTorch::Dataset({"x", "y"}).SetSharding(CladTorch::kSharded).Add("events", file, CladTorch::Label(rank == 1 ? "1 - in" : "in")), options);
      else if (what == "shards_columns")
         history = model.Fit(CladTorch::Dataset({"x", rank == 1 ? "x * y" : "y"}).SetSharding(CladTorch::kSharded).Add("events", file, CladTorch::Label("in")), options);
      else if (what == "shards_entries")
         history = model.Fit(Shards(rank == 1 ? FileOf(frame.Range(2000), rank, 150) : file), options);
      else if (what == "shards_none")
         history = model.Fit(CladTorch::Dataset({"x", "y"}).SetSharding(CladTorch::kSharded).Add("events", file, 0, "y > 99"), options);
      else if (what == "shards_balanced")
         Shards(file).Balance();
      else if (what == "shards_memory") {
         std::vector<float> numbers, labels;
         for (int i = 0; i < 999; ++i) {
            numbers.insert(numbers.end(), {std::sin(i * 0.7f), std::cos(i * 1.3f)});
            labels.push_back(numbers.back() > 0.1);
         }
         CladTorch::Dataset memory({"x", "y"});
         memory.SetSharding(CladTorch::kSharded).Add(CladTorch::FloatView(numbers).Reshape(2), CladTorch::FloatView(labels));
         history = model.Fit(memory, options);
      } else if (what == "shards_own") { // a block of the entries on each rank but the first, which has none
         const int others = std::max(1, CladTorch::Ranks() - 1), block = CladTorch::Ranks() == 1 ? 0 : rank - 1;
         CladTorch::Dataset own({"x", "y"});
         own.SetSharding(CladTorch::kOwnShard);
         own.Add(frame.Filter(TString::Format("int(rdfentry_) * %d / 3000 == %d", others, block).Data()), CladTorch::Label("in"));
         history = model.Fit(own, options);
      } else if (what == "shards_weighted") { // with a whole validation dataset
         options.fClassWeights = {1, 3};
         CladTorch::Dataset weighted({"x", "y"});
         weighted.SetSharding(CladTorch::kSharded).SetWeight("1 + 0.2 * x").Add("events", file, CladTorch::Label("in"));
         history = model.Fit(weighted, CladTorch::Dataset({"x", "y"}).Add("events", file, CladTorch::Label("in"), "y > 0"), options);
      } else if (what == "shards_targets") {
         options.fMetrics = {CladTorch::kRmse};
         CladTorch::Dataset targets({"x", "y"});
         targets.SetSharding(CladTorch::kSharded).Add("events", file, CladTorch::Label({"x * y", "3 * x + 100"}));
         CladTorch::Mlp regression({2, 16, 2});
         history = regression.Fit(targets, options);
         std::cout << of + "bits: " + std::to_string(Bits(regression)) + "\n" << std::flush;
         if (rank == 0)
            std::cout << TString::Format("%slosses: %.7g\n%sscores: %.7g\n%sauc: %.7g\n", of.c_str(), history.ValidationLoss()[0], of.c_str(),
                                         history.ValidationLoss().back(), of.c_str(), history.Metric("RMSE").back()).Data() << std::flush;
         return;
      } else if (what == "shards_alone")
         history = model.Fit(Shards(file), CladTorch::FitOptions());
      else
         history = model.Fit(Shards(file), options);
      if (rank == 0)
         std::cout << TString::Format("%sauc: %.7g\n", of.c_str(), history.Metric("AUC").back()).Data() << std::flush;
   } else if (what == "several")
      model.CrossValidate(events, 3, options);
   else if (what == "other_validation")
      history = model.Fit(events, CladTorch::Dataset({"x", "y"}).Add(Frame(rank == 1), CladTorch::Label("in")), options);
   else if (what == "stream_whole") { // a step an epoch: the same for any number of ranks
      options.fBatchSize = 4096;
      options.fEpochs = 12;
      options.fLearningRate = 0.03;
      options.fMetrics = {CladTorch::kAuc};
      history = model.Fit(Events(frame, rank), options);
      std::cout << (rank ? "" : TString::Format("%sauc: %.7g\n", of.c_str(), history.Metric("AUC").back()).Data()) << std::flush;
   } else if (what == "stream") {
      options.fBatchSize = 100;
      history = model.Fit(Events(frame, rank).SetWindow(600), options);
   } else if (what == "stream_few") { // some ranks have no validation events, one has nothing to train on
      options.fValidation = 0.001;
      options.fMetrics = {CladTorch::kAccuracy};
      history = model.Fit(Events(frame, rank, "rdfentry_ > 800"), options);
   } else if (what == "damaged") {
      auto stream = Events(frame, rank);
      if (rank == 1)
         std::filesystem::resize_file("events_1.root", std::filesystem::file_size("events_1.root") / 2);
      history = model.Fit(stream.SetWindow(600), options);
   } else if (what == "resume")
      history = model.Resume(events, "ranks.ckpt", options);
   else if (what == "resume_long")
      history = model.Resume(events, "long.ckpt", options);
   else
      history = model.Fit(events, options);
   std::cout << of + "bits: " + std::to_string(Bits(model)) + "\n" << std::flush;
   if (rank)
      return;
   TString losses, scores;
   for (const double loss : history.ValidationLoss())
      losses += TString::Format(" %.7g", loss);
   for (const float x : {-1.f, -0.4f, 0.f, 0.5f, 1.2f})
      scores += TString::Format(" %.7g", model.Functor()({x, x / 2}));
   // In one piece, beside which another rank may write.
   std::cout << (of + "losses:" + losses + "\n" + of + "scores:" + scores + "\n").Data() << std::flush;
}
