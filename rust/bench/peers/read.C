/// \file read.C
/// \brief CladTorch's side of `cargo xtask bench read`: an interpreted macro, as a user would write it.
///
/// The lines it reads are those of read.cxx. `read(threads, true)` uses ROOT's reader behind the same interface.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "checksum.h"
#include "lines.h"

#include <TROOT.h>

#include <string>

CladTorch::Dataset Read(const Values &options, CladTorch::EReader reader)
{
   CladTorch::Dataset data;
   data.SetReader(reader);
   const std::size_t length = std::stoul(options.at("length"));
   for (const auto &column : Cut(options.at("columns"), ','))
      data.Column(column.substr(0, column.find('/')), length);
   data.Add(options.at("tree"), options.at("file"), 0);
   return data;
}

double Check(const Values &, const CladTorch::Dataset &data)
{
   return Checksum(data.Features().Data(), data.Features().Size());
}

void read(int threads, bool byRoot)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   const auto reader = byRoot ? CladTorch::kRootReader : CladTorch::kAutoReader;
   ServeRounds([reader](const Values &options, unsigned long) { return Read(options, reader); }, Check);
}
