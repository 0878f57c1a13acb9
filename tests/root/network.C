/// \file network.C
/// \brief A file on a server that is killed while it is read: an error, and the session continues.
///
/// `network("root://…", "events.root", PID)`: the server's file, the same one here, and the server's process.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"
#include "two_columns.h"

#include <TSystem.h>

#include <algorithm>
#include <csignal>
#include <string>

using CladTorch::Dataset;

constexpr int kEntries = 3000000;

/// 24 MB, more than ROOT reads ahead.
void write_remote(const char *name)
{
   WriteTwoColumns(name, kEntries, 100000);
}

void network(const char *url, const char *local, int server)
{
   Dataset remote({"x", "y"}), here({"x", "y"});
   remote.Add("t", url, 1);
   here.Add("t", local, 1);
   const auto a = remote.Features(), b = here.Features();
   CHECK(a.Rows() == kEntries && std::equal(a.begin(), a.end(), b.begin()));
   remote.Print();

   CladTorch::FitOptions options;
   options.fShuffle = false;
   auto batches = CladTorch::Stream({"x", "y"}).Add("t", url, 1).SetBuffer(1).Batches(options);
   CHECK(batches.Next());
   ROOT::RDataFrame frame("t", url);
   CHECK(*frame.Range(10).Count() == 10);
   kill(server, SIGKILL);
   Refuses("killed while a stream reads", [&] { while (batches.Next()) {} }, {"entries ", "events.root"});
   Refuses("killed under a data frame", [&] { remote.Add(frame, 0); }, {"events.root"});
   Refuses("killed before", [&] { remote.Add("t", url, 0); }, {"events.root", "cannot be opened"});
   CHECK(remote.Rows() == kEntries);
   CHECK(Dataset({"x"}).Add("t", local, 1).Rows() == kEntries);
   Refuses("a server that is not there", [&] { remote.Add("t", "http://127.0.0.1:9/none.root", 0); },
           {"http://127.0.0.1:9/none.root", "cannot be opened"});
   Passed();
}
