/// \file stream_interrupt.C
/// \brief A training on a stream that would take hours, for Ctrl-C to end.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TFile.h>
#include <TTree.h>

void stream_interrupt()
{
   {
      TFile file("events.root", "recreate");
      TTree tree("t", "");
      float x = 0;
      tree.Branch("x", &x);
      for (int i = 0; i < 20000; ++i) {
         x = i % 7;
         tree.Fill();
      }
      tree.Write();
   }
   CladTorch::FitOptions options;
   options.fEpochs = 1000000;
   CladTorch::Mlp model({1, 16, 1});
   const float before = model.Parameters()(0);
   Refuses("an interrupted training", [&] { model.Fit(CladTorch::Stream({"x"}).Add("t", "events.root", 1), options); }, {"interrupted after epoch", "LastFit"});
   const auto history = model.LastFit();
   CHECK(history.Interrupted() && history.Epochs() > 0 && history.Epochs() < 1000000);
   CHECK(model.Parameters()(0) != before);
   Passed();
}
