/// \file stream_memory.C
/// \brief Training on a chain of 224 MB of floats: the memory it takes.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TFile.h>
#include <TTree.h>

#include <fstream>

constexpr int kFeatures = 28;
constexpr int kEntries = 500000;

void Write(const char *name)
{
   TFile file(name, "recreate", "", 0);
   TTree tree("t", "");
   float x[kFeatures];
   tree.Branch("x", x, Form("x[%d]/F", kFeatures));
   for (int i = 0; i < kEntries; ++i) {
      for (int j = 0; j < kFeatures; ++j)
         x[j] = (i * (j + 1)) % 1000;
      tree.Fill();
   }
   tree.Write();
}

/// Megabytes of a line of /proc/self/status.
double Memory(const std::string &key)
{
   std::ifstream status("/proc/self/status");
   for (std::string word; status >> word;)
      if (word == key) {
         double kilobytes = 0;
         status >> kilobytes;
         return kilobytes / 1024;
      }
   return 0;
}

void stream_memory()
{
   for (const char *name : {"a0.root", "a1.root", "b0.root", "b1.root"})
      Write(name);
   CladTorch::Mlp model({kFeatures, 32, 1});
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   CladTorch::Dataset columns;
   columns.Column("x", kFeatures);
   { // what ROOT, LibTorch and the model need once and for all
      ROOT::RDataFrame few("t", "a0.root");
      model.Fit(CladTorch::Dataset(columns).Add(few.Range(1000), 1).Add(few.Range(1000), 0), options);
   }
   const double before = Memory("VmRSS:");
   std::ofstream("/proc/self/clear_refs") << 5; // the peak starts anew
   const auto history = model.Fit(columns.Stream().Add("t", "a*.root", 1).Add("t", "b*.root", 0), options);
   const double peak = Memory("VmHWM:") - before;
   std::printf("peak memory %.0f MB above the model's, for %.0f MB of features, in %.1f s\n", peak,
               4e-6 * kFeatures * 4 * kEntries, history.Seconds()[0]);
   CHECK(peak > 0 && peak < 150);
   Passed();
}
