/// \file saved_models_read.C
/// \brief The models of saved_models_write.C in a session without LibTorch's headers and without the networks' source.

R__LOAD_LIBRARY(libcladtorch)
#include "saved_models.h"
#include "with_clad.h"

#include <TGraph.h>

#include <memory>

using CladTorch::Model;

void CheckUses(const Model &model, const CladTorch::Dataset &data)
{
   auto scored = model.Define(Frame(450), "score").Define("f", model.Functor(), {"x"});
   const auto scores = scored.Take<float>("score").GetValue(), frozen = scored.Take<float>("f").GetValue();
   CHECK(scores == frozen && scores.size() == 450);
   const auto predicted = model.Predict(data);
   double largest = 0;
   for (std::size_t i = 0; i < scores.size(); ++i)
      largest = std::max<double>(largest, std::fabs(scores[i] - predicted[i]));
   CHECK(largest < 1e-5);
   const std::unique_ptr<TGraph> roc(model.Roc(data));
   CHECK(roc->GetN() > 2 && model.Columns() == std::vector<std::string>{"x"} && model.Options().fEpochs == 2);
   model.Print();
}

void CheckMistakes()
{
   Refuses("an Mlp", [] { CladTorch::Mlp::Load("linear.ct"); }, {"linear.ct", "holds a Sequential, not an Mlp", "Model::Load"});
   if (HasClad("an activation for a network without"))
      Refuses("an activation", [] { Model::Load("linear.ct", "double activation(double x) { return x; }"); }, {"linear.ct", "no activation"});
   Refuses("autograd", [] {
      auto options = Options(1);
      options.fGradient = CladTorch::kAutograd;
      Model::Load("linear.ct").Fit(Events(), options);
   }, {"Sequential", "read from a file", "kClad"});
   CladTorch::Mlp({kWidth, 4, 1}).Save("mlp.ct");
   CHECK(Model::Load("mlp.ct").Parameters().Size() == kWidth * 4 + 4 + 4 + 1);
}

void saved_models_read()
{
   const auto data = Events();
   for (const auto &name : kNetworks) {
      std::printf("%s\n", name.c_str());
      auto model = Model::Load(name + ".ct");
      CHECK(Numbers(model, data) == Read(name + ".before"));
      model.Save("again.ct");
      if (model.Outputs() == 1)
         CheckUses(model, data);
      model.Fit(data, Options(2));
      CHECK(Numbers(model, data) == Read(name + ".after"));
      auto again = Model::Load("again.ct");
      again.Fit(data, Options(2));
      CHECK(Numbers(again, data) == Read(name + ".after"));
   }
   CheckMistakes();
   Passed();
}
