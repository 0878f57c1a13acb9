/// \file ranks.C
/// \brief A fit by the processes of an MPI job, or by this one alone; and what can go wrong on a rank.

R__LOAD_LIBRARY(libcladtorch)
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
   return ROOT::RDataFrame(3000).Define("x", value, {"rdfentry_"}).Define("y", other, {"rdfentry_"}).Define("in", "int(x * x + y * y < 0.8)");
}

/// Of all bits of the parameters.
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

void ranks(const char *given = "fit", int threads = 1)
{
   const TString what = given;
   const int rank = CladTorch::Rank();
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
      options.fCallback = [](const CladTorch::Epoch &) { return gSystem->Sleep(50), false; };
   }
   if (what == "long" || what == "resume_long" || what == "whole_long") {
      options.fEpochs = 40;
      options.fCheckpoint = what == "whole_long" ? "" : "long.ckpt";
   }
   if (what == "begin" || what == "resume")
      options.fCheckpoint = "ranks.ckpt";
   if (what == "begin" || (what == "one_callback" && rank == 0))
      options.fCallback = [](const CladTorch::Epoch &epoch) { return epoch.fNumber == 2; };
   // Every rank starts with weights of its own, of which those of rank 0 count.
   CladTorch::MlpOptions layers;
   layers.fActivation = CladTorch::kTanh;
   layers.fSeed = 1 + rank;
   layers.fNormalisation = what == "batch_norm" ? CladTorch::kBatchNorm : CladTorch::kNoNormalisation;
   CladTorch::Mlp model({2, 32, 1}, layers);
   CladTorch::History history;
   if (what == "several")
      model.CrossValidate(events, 3, options);
   else if (what == "other_validation")
      history = model.Fit(events, CladTorch::Dataset({"x", "y"}).Add(Frame(rank == 1), CladTorch::Label("in")), options);
   else if (what == "stream_whole") { // a step an epoch: the same for any number of ranks
      options.fBatchSize = 4096;
      options.fEpochs = 12;
      options.fLearningRate = 0.03;
      options.fMetrics = {CladTorch::kAuc};
      history = model.Fit(Events(frame, rank), options);
      std::cout << (rank ? "" : TString::Format("auc: %.7g\n", history.Metric("AUC").back()).Data()) << std::flush;
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
   std::cout << "bits: " + std::to_string(Bits(model)) + "\n" << std::flush;
   if (rank)
      return;
   TString losses, scores;
   for (const double loss : history.ValidationLoss())
      losses += TString::Format(" %.7g", loss);
   for (const float x : {-1.f, -0.4f, 0.f, 0.5f, 1.2f})
      scores += TString::Format(" %.7g", model.Functor()({x, x / 2}));
   std::cout << "losses:" << losses << std::endl << "scores:" << scores << std::endl;
}
