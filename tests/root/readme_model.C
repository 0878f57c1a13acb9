R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

void readme_model()
{
   // Windows of 128 samples of noise; every other one has a pulse at a random time.
   auto window = [](ULong64_t entry) {
      TRandom3 random(entry + 1);
      ROOT::RVecF samples(128);
      const double arrival = random.Uniform(128);
      for (int i = 0; i < 128; ++i)
         samples[i] = random.Gaus() + (entry % 2) * 3 * std::exp(-std::pow((i - arrival) / 3, 2));
      return samples;
   };
   auto frame = ROOT::RDataFrame(4000).Define("samples", window, {"rdfentry_"}).Define("pulse", "int(rdfentry_ % 2)");
   CladTorch::Dataset windows;
   windows.Column("samples", 128).Add(frame, "pulse");
   auto [test, train] = windows.Split(0.25);

   namespace nn = torch::nn;
   auto net = nn::Sequential(nn::Conv1d(1, 16, 9), nn::ReLU(), nn::MaxPool1d(8), nn::Flatten(), nn::Linear(16 * 15, 1));
   CladTorch::Model model(net, {1, 128}); // the shape of one event
   model.Fit(train);                      // net has the trained weights as well
   model.Print();
   std::cout << "AUC " << model.Auc(test) << std::endl;
}
