/// \file batches.C
/// \brief CladTorch's side of the cases `batches/` of `cargo xtask bench read`: one epoch of a Stream.
///
///     case file=F tree=T columns=f0/F,f1/F length=0 batch=1024

R__LOAD_LIBRARY(libcladtorch)
#pragma cling optimize(3) // the checksum, which NumPy has compiled too
#include <CladTorch/CladTorch.hxx>
#include "checksum.h"
#include "lines.h"

#include <TROOT.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

struct Epoch {
   double fFirst = 0; // s from the start to the first batch
   std::uint64_t fSum = 0;
};

Epoch Walk(const Values &options, unsigned long seed)
{
   const auto start = std::chrono::steady_clock::now();
   std::vector<std::string> names;
   for (const auto &column : Cut(options.at("columns"), ','))
      names.push_back(column.substr(0, column.find('/')));
   CladTorch::Stream stream(names);
   stream.Add(options.at("tree"), options.at("file"), 0);
   CladTorch::FitOptions fit;
   fit.fBatchSize = std::stoul(options.at("batch"));
   fit.fSeed = seed;
   fit.fValidation = 0;
   Epoch epoch;
   for (auto batches = stream.Batches(fit); batches.Next();) {
      if (epoch.fFirst == 0)
         epoch.fFirst = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const auto x = batches.Features();
      epoch.fSum += RowsChecksum(x.Data(), x.Rows(), x.Columns());
   }
   return epoch;
}

void batches(int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   ServeRounds(Walk, [](const Values &, const Epoch &epoch) { return Folded(epoch.fSum); },
               [](const Epoch &epoch) { return " first=" + Digits(epoch.fFirst); });
}
