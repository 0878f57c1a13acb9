/// \file pretrained.C
/// \brief A network from PyTorch: loaded, applied to a tree, fine-tuned with its last layers frozen, and written out again.
///
/// The network (write_network.h) recognises a ring around the origin. In the data the ring is elsewhere: the first
/// layer learns the shift from few events.
///
///     root -l -b -q root_macros/pretrained.C
///     root -l 'root_macros/pretrained.C("output_folder")'
///
/// Data: points drawn from a seed; x and y are plain numbers.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "write_network.h"

#include <TRandom3.h>
#include <TSystem.h>

#include <cmath>
#include <cstdio>
#include <string>

/// Points, and whether they are in a ring around (0.7, 0).
ROOT::RDF::RNode Points(int count, int seed)
{
   const auto draw = [seed](int number) {
      return [seed, number](ULong64_t entry) { return TRandom3(1000000 * seed + 2 * entry + number + 1).Gaus(0, 1.5); };
   };
   const auto inRing = [](double x, double y) {
      const auto radius = (x - 0.7) * (x - 0.7) + y * y;
      return radius > 1 && radius < 4;
   };
   return ROOT::RDataFrame(count).Define("x", draw(0), {"rdfentry_"}).Define("y", draw(1), {"rdfentry_"}).Define("ring", inRing, {"x", "y"});
}

void pretrained(const std::string &folder = "pretrained_out")
{
   gSystem->mkdir(folder.c_str(), true);
   const auto path = [&](const char *name) { return folder + "/" + name; };
   WriteNetwork(path("ring.pt"));

   // The network, for events of shape {2}. It returns logits: the loss says so.
   auto model = CladTorch::Model::LoadTorchScript(path("ring.pt"), {2});
   model.SetColumns({"x", "y"});
   CladTorch::FitOptions options;
   options.fLoss = CladTorch::kBinaryCrossEntropy;
   model.SetOptions(options);
   model.Print();

   // Scores of a tree: one more column.
   model.Define(Points(2000, 3), "score").Snapshot("points", path("points.root"), {"x", "y", "ring", "score"});

   // Fine-tuning: inner and last stay as PyTorch trained them, hidden learns the shift.
   CladTorch::Dataset few({"x", "y"}), test({"x", "y"});
   few.Add(Points(400, 1), "ring");
   test.Add(Points(5000, 2), "ring");
   const auto before = model.Auc(test);
   model.Freeze("inner");
   model.Freeze("last");
   options.fEpochs = 100;
   options.fLearningRate = 0.01;
   options.fVerbose = 0;
   options.fSeed = 1;
   model.Fit(few, options);
   std::printf("AUC on the new ring: %.3f as it came, %.3f fine-tuned\n", before, model.Auc(test));

   // How the logit changes with x and y: the mean slope over the test events.
   const auto gradient = model.Gradient(test);
   double slopes[2] = {0, 0};
   for (std::size_t i = 0; i < gradient.size(); ++i)
      slopes[i % 2] += std::abs(gradient[i]) / test.Rows();
   std::printf("mean |d logit / dx| = %.2f, |d logit / dy| = %.2f\n", slopes[0], slopes[1]);

   // Export: for CladTorch, for PyTorch (load_state_dict), for inference engines, for C++ without any library.
   model.Save(path("ring.ct"));
   model.SaveWeights(path("ring.safetensors"));
   model.ExportOnnx(path("ring.onnx"));
   model.ExportCpp(path("ring.hxx"));
   std::printf("see %s\n", folder.c_str());
}
