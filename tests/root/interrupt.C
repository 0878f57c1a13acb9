/// \file interrupt.C
/// \brief A training on a dataset or a stream that would take hours, for Ctrl-C to end.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"
#include "long_calls.h"

template <class T>
void CheckInterrupted(const T &events)
{
   auto options = ForEver(CladTorch::kClad);
   options.fVerbose = 1;
   options.fMetrics = {CladTorch::kAuc}; // which may be where Ctrl-C is noticed
   gROOT->SetInterrupt(); // left over from before: not meant for this training
   CladTorch::Mlp model({1, 16, 1});
   const float before = model.Parameters()(0);
   Refuses("an interrupted training", [&] { model.Fit(events, options); }, {"interrupted after epoch", "LastFit"});
   const auto history = model.LastFit();
   CHECK(history.Interrupted() && history.Epochs() > 0 && history.Epochs() < 1000000);
   CHECK(model.Parameters()(0) != before); // it keeps what it has learned
}

void interrupt(bool stream = false)
{
   if (stream)
      CheckInterrupted(CladTorch::Stream({"x"}).Add(ManyFiles(1), "x > 3"));
   else
      CheckInterrupted(Events(20000));
   Passed();
}
