/// \file first_step.h
/// \brief The shortest way from columns to a trained step, used after each way of loading the plugin.

#include <TTree.h>

#include <chrono>
#include <cstdio>

double Now()
{
   return 1e-9 * std::chrono::steady_clock::now().time_since_epoch().count();
}

/// Trains 64 events for one step and prints the wall time since `start` (s), the moment of `since`.
void FirstStep(double start, const char *since)
{
   TTree tree("events", "");
   tree.SetDirectory(nullptr);
   float x = 0, y = 0;
   tree.Branch("x", &x);
   tree.Branch("y", &y);
   for (int i = 0; i < 64; ++i) {
      x = i;
      y = i % 2;
      tree.Fill();
   }
   CladTorch::Dataset data({"x", "y"});
   data.Add(tree, "y");
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fBatchSize = 64;
   options.fVerbose = 0;
   CladTorch::Mlp model({2, 8, 1});
   const auto history = model.Fit(data, options);
   std::printf("from %s to the first trained step: %.2f s, loss %.4f\n", since, Now() - start,
                history.TrainLoss()[0]);
   if (history.Epochs() == 1 && history.TrainLoss()[0] > 0)
      std::printf("ALL CHECKS PASSED\n");
}
