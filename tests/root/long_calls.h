/// \file long_calls.h
/// \brief Calls that would take minutes to hours, by name, for Ctrl-C to end.

#ifndef CLADTORCH_TEST_LONG_CALLS
#define CLADTORCH_TEST_LONG_CALLS

#include <CladTorch/CladTorch.hxx>

#include <ROOT/RDataFrame.hxx>
#include <TChain.h>
#include <TFile.h>
#include <TTree.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>

/// The sign that the harness waits for.
inline void Now(const std::string &name)
{
   std::printf("NOW %s\n", name.c_str());
   std::fflush(stdout);
}

/// Many times the same file of 20000 events.
inline TChain &ManyFiles(int files)
{
   {
      TFile file("many.root", "recreate");
      TTree tree("t", "");
      float x = 0;
      tree.Branch("x", &x);
      for (int i = 0; i < 20000; ++i) {
         x = i % 7;
         tree.Fill();
      }
      tree.Write();
   }
   static TChain chain("t");
   chain.Reset();
   for (int i = 0; i < files; ++i)
      chain.Add("many.root");
   return chain;
}

inline ROOT::RDF::RNode Endless()
{
   return ROOT::RDataFrame(1000000000000).Define("x", [](ULong64_t entry) { return float(entry % 7); }, {"rdfentry_"});
}

inline CladTorch::Dataset Events(std::size_t rows)
{
   CladTorch::Dataset data({"x"});
   data.Add(ROOT::RDataFrame(rows).Define("x", [](ULong64_t i) { return float(i % 7); }, {"rdfentry_"}), "rdfentry_ % 2");
   return data;
}

inline CladTorch::FitOptions ForEver(CladTorch::EGradient gradient)
{
   CladTorch::FitOptions options;
   options.fEpochs = 1000000;
   options.fGradient = gradient;
   options.fVerbose = 0;
   return options;
}

inline void CallFit(const std::string &name, CladTorch::EGradient gradient)
{
   const auto data = Events(20000);
   Now(name);
   CladTorch::Mlp({1, 16, 1}).Fit(data, ForEver(gradient));
}

inline void Call(const std::string &name)
{
   const std::map<std::string, std::function<void()>> calls{
      {"Add of a tree", [&] { auto &chain = ManyFiles(2000); Now(name); CladTorch::Dataset({"x"}).Add(chain, 1, "x > 1"); }},
      {"Add of a frame", [&] { auto frame = Endless(); Now(name); CladTorch::Dataset({"x"}).Add(frame, 1); }},
      {"Add of an expression", [&] { auto frame = Endless(); Now(name); CladTorch::Dataset({"x * x + 1"}).Add(frame, 1); }},
      {"Jagged::Read", [&] { auto frame = Endless(); Now(name); CladTorch::Jagged<double>::Read(frame, "x", "x > 1"); }},
      {"Fit by Clad", [&] { CallFit(name, CladTorch::kClad); }},
      {"Fit by autograd", [&] { CallFit(name, CladTorch::kAutograd); }},
      {"Fit of a stream", [&] {
          auto stream = CladTorch::Stream({"x"}).Add(ManyFiles(2), "x > 3");
          Now(name);
          CladTorch::Mlp({1, 16, 1}).Fit(stream, ForEver(CladTorch::kClad));
       }},
      {"Predict", [&] {
          const auto data = Events(300000);
          const CladTorch::Mlp model({1, 2048, 2048, 2048, 1});
          Now(name);
          model.Predict(data);
       }},
      {"WriteScores", [&] {
          CladTorch::Mlp model({1, 2048, 2048, 2048, 1});
          model.SetColumns({"x"});
          auto &chain = ManyFiles(20);
          Now(name);
          model.WriteScores(chain, "scores.root");
       }},
      {"CrossValidate", [&] {
          const auto data = Events(20000);
          Now(name);
          CladTorch::Mlp({1, 16, 1}).CrossValidate(data, 3, ForEver(CladTorch::kClad));
       }},
      {"Ensemble::Fit", [&] {
          const auto data = Events(20000);
          CladTorch::Ensemble ensemble({CladTorch::Mlp({1, 16, 1}), CladTorch::Mlp({1, 8, 1})});
          Now(name);
          ensemble.Fit(data, ForEver(CladTorch::kClad));
       }},
      {"RandomSearch::Run", [&] {
          const auto data = Events(20000);
          CladTorch::RandomSearch search(CladTorch::Mlp({1, 16, 1}));
          search.LogUniform("fLearningRate", 1e-5, 1e-3);
          Now(name);
          search.Run(data, 3, ForEver(CladTorch::kClad));
       }},
      {"Importance", [&] {
          const auto data = Events(200000);
          const CladTorch::Mlp model({1, 512, 512, 1});
          Now(name);
          model.Importance(data, 1000);
       }},
      {"Report", [&] {
          const auto data = Events(1000000);
          const CladTorch::Mlp model({1, 512, 512, 1});
          Now(name);
          model.Report("report.pdf", data);
       }},
      {"SearchBounds", [&] {
          namespace Signal = CladTorch::Signal;
          const auto psd = Signal::DetectorPsd(4096, 2048);
          const Signal::MatchedFilter filter(Signal::Chirp(4096, 2048, 15, 45, 1), psd, 2048, 1);
          Now(name);
          Signal::SearchBounds({filter}, 5, 0.5, 1.5, {0.1}, 2000000, 2000000);
       }},
   };
   calls.at(name)();
   std::printf("NOT REACHED\n");
}

#endif
