/// \file stream_memory.C
/// \brief Training on a long chain of files of 56 MB: its memory does not depend on the length.
///
/// `stream_memory(10)` trains on 10 GB. The files of a class are one file on disk, under many names.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TFile.h>
#include <TTree.h>

#include <filesystem>
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

/// The first file of a class under the names of `files` files.
void WriteClass(const std::string &name, int files)
{
   Write((name + "0.root").c_str());
   for (int i = 1; i < files; ++i)
      std::filesystem::create_hard_link(name + "0.root", name + std::to_string(i) + ".root");
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

void stream_memory(double gigabytes = 1)
{
   constexpr double kFile = 4e-9 * kFeatures * kEntries; // GB
   const int files = std::ceil(gigabytes / (2 * kFile)); // of a class
   for (const char *name : {"a", "b"})
      WriteClass(name, files);
   CladTorch::Mlp model({kFeatures, 32, 1});
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   CladTorch::Dataset columns;
   columns.Column("x", kFeatures);
   { // the one-time memory of ROOT, LibTorch and the model
      ROOT::RDataFrame few("t", "a0.root");
      model.Fit(CladTorch::Dataset(columns).Add(few.Range(1000), 1).Add(few.Range(1000), 0), options);
   }
   const double before = Memory("VmRSS:");
   std::ofstream("/proc/self/clear_refs") << 5; // restarts the peak
   const auto history = model.Fit(columns.Stream().Add("t", "a*.root", 1).Add("t", "b*.root", 0), options);
   const double peak = Memory("VmHWM:") - before;
   std::printf("peak memory %.0f MB above the model's, for %.0f MB of features, in %.1f s\n", peak,
               1000 * kFile * 2 * files, history.Seconds()[0]);
   CHECK(peak > 0 && peak < 250); // half of what a chain of 10 GB may take, for any length
   Passed();
}
