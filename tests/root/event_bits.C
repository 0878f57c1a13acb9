/// \file event_bits.C
/// \brief Predictions of an event have the same bits alone, among others, and by Functor(), for any layers.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

#include "check.h"

namespace nn = torch::nn;

constexpr std::size_t kWidth = 264;

/// The first `rows` events, with `targets` targets.
CladTorch::Dataset Events(std::size_t rows, std::size_t targets)
{
   std::vector<float> features, labels;
   for (std::size_t i = 0; i < rows * kWidth; ++i)
      features.push_back(std::sin(i * 0.37f) * 2 + 0.3f);
   for (std::size_t i = 0; i < rows * targets; ++i)
      labels.push_back(std::cos(i * 1.7f));
   CladTorch::Dataset events;
   events.Column("x", kWidth);
   return events.Add(CladTorch::FloatView(features).Reshape(kWidth), CladTorch::FloatView(labels).Reshape(targets));
}

void Compare(const char *name, CladTorch::Model model)
{
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   options.fLoss = CladTorch::kMeanSquaredError;
   const auto targets = model.Outputs();
   const auto events = Events(300, targets);
   model.Fit(events, options);
   const auto all = model.Predict(events);
   const auto features = events.Features();
   int others = 0;
   if (targets == 1) {
      const auto score = model.Functor();
      for (std::size_t row = 0; row < 40; ++row)
         others += score(ROOT::RVecF(features.Data() + row * kWidth, features.Data() + (row + 1) * kWidth)) != all[row];
   }
   for (const std::size_t rows : {1, 2, 3, 8, 17, 64}) {
      const auto some = model.Predict(Events(rows, targets));
      for (std::size_t i = 0; i < rows * targets; ++i)
         others += some[i] != all[i];
   }
   if (others)
      std::cout << name << ": " << others << " scores have other bits" << std::endl;
   CHECK(others == 0);
}

void event_bits()
{
   using namespace nn;
   const auto model = [](auto net, const std::vector<std::size_t> &shape) { return CladTorch::Model(net, shape); };
   Compare("ReLU, Linear to 1", model(Sequential(ReLU(), Linear(264, 1)), {264}));
   Compare("ReLU, Linear to 3", model(Sequential(ReLU(), Linear(264, 3)), {264}));
   Compare("Tanh, Linear to 40", model(Sequential(Tanh(), Linear(264, 40)), {264}));
   Compare("Flatten, Linear to 1", model(Sequential(Flatten(), Linear(264, 1)), {2, 132}));
   Compare("Conv1d, Linear to 1", model(Sequential(Conv1d(2, 4, 3), ReLU(), Flatten(), Linear(520, 1)), {2, 132}));
   Compare("Conv1d, Linear to 16 and 2", model(Sequential(Conv1d(2, 4, 3), ReLU(), Flatten(), Linear(520, 16), ReLU(), Linear(16, 2)), {2, 132}));
   Compare("Conv2d, MaxPool2d, Linear to 1", model(Sequential(Conv2d(2, 4, 3), MaxPool2d(2), Flatten(), Linear(80, 1)), {2, 12, 11}));
   Compare("LayerNorm, Linear to 5", model(Sequential(LayerNorm(LayerNormOptions({264})), Linear(264, 5)), {264}));
   Compare("Linear of particles", model(Sequential(Linear(12, 20), ReLU(), Flatten(), Linear(440, 1)), {22, 12}));
   Passed();
}
