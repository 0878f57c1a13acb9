/// \file start.C
/// \brief CladTorch's side of `cargo xtask bench start`: `.L libcladtorch.so`, then one epoch on columns of a tree.

#include <TROOT.h>
#include <TString.h>
#include <TSystem.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <sys/resource.h>

void Line(const TString &line)
{
   int error = 0;
   gROOT->ProcessLine(line, &error);
   if (error)
      throw std::runtime_error(line.Data());
}

void start(const char *library, const char *file, int batch, int threads)
{
   const auto begin = std::chrono::steady_clock::now();
   Line(TString::Format(".L %s", library));
   Line("CladTorch::Dataset events;");
   Line(TString::Format("events.Column(\"x\", 28).Add(\"events\", \"%s\", \"y\");", file));
   Line("CladTorch::Mlp model({28, 64, 64, 1});");
   Line(TString::Format("CladTorch::FitOptions options; options.fEpochs = 1; options.fValidation = 0; options.fVerbose = 0;"
                        "options.fBatchSize = %d; options.fThreads = %d;",
                        batch, threads));
   Line("model.Fit(events, options);");
   const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
   rusage usage;
   getrusage(RUSAGE_SELF, &usage);
   std::printf("bench %.6g %.6g\n", seconds.count(), usage.ru_maxrss / 1024.);
}
