/// \file reading_interrupt.C
/// \brief A reading that would take hours, for Ctrl-C to end.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <ROOT/RDataFrame.hxx>

void reading_interrupt()
{
   const auto slow = [](ULong64_t entry) {
      if (entry == 100000) { // past what is prepared
         std::printf("reading now\n");
         std::fflush(stdout);
      }
      return float(entry % 7);
   };
   CladTorch::Dataset data({"x"});
   data.Add(ROOT::RDataFrame(100).Define("x", "float(rdfentry_)"), 0);
   Refuses("an interrupted reading",
           [&] { data.Add(ROOT::RDataFrame(1000000000000).Define("x", slow, {"rdfentry_"}), 1); }, {"interrupted"});
   CHECK(data.Rows() == 100);
   CHECK(data.Add(ROOT::RDataFrame(50).Define("x", "float(rdfentry_)"), 1).Rows() == 150);
   Passed();
}
