/// \file interrupt.C
/// \brief A training that would take hours, for Ctrl-C to end.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

void interrupt()
{
   CladTorch::Dataset data({"x"});
   data.Add(ROOT::RDataFrame(20000).Define("x", [](ULong64_t i) { return float(i % 7); }, {"rdfentry_"}), 1);
   CladTorch::FitOptions options;
   options.fEpochs = 1000000;
   gROOT->SetInterrupt(); // left over from before: not meant for this training
   CladTorch::Mlp model({1, 16, 1});
   const float before = model.Parameters()(0);
   Refuses("an interrupted training", [&] { model.Fit(data, options); }, {"interrupted after epoch", "LastFit"});
   const auto history = model.LastFit();
   CHECK(history.Interrupted() && history.Epochs() > 0 && history.Epochs() < 1000000);
   CHECK(model.Parameters()(0) != before); // it keeps what it has learnt
   Passed();
}
