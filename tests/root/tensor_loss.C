/// \file tensor_loss.C
/// \brief Losses written with LibTorch's operators: compared with the built-in ones, and with LibTorch's autograd.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TRandom3.h>

#include <functional>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Model;
using torch::Tensor;
namespace nn = torch::nn;

using Loss = std::function<Tensor(Tensor, Tensor)>;
constexpr int kWidth = 4;

ROOT::RDF::RNode Frame(int rows)
{
   const auto list = [](ULong64_t entry) {
      TRandom3 random(entry + 1);
      ROOT::RVecF x(kWidth);
      for (auto &value : x)
         value = random.Gaus();
      return x;
   };
   return ROOT::RDataFrame(rows)
      .Define("x", list, {"rdfentry_"})
      .Define("y", "x[0] * x[1] > 0 ? 1 : 0")
      .Define("t", "x[0] + 0.5 * x[1]")
      .Define("k", "int(x[0] > 0) + int(x[1] > 0)")
      .Define("w", "0.5 + (rdfentry_ % 3)");
}

Dataset Events(const CladTorch::Label &label)
{
   Dataset data;
   return data.Column("x", kWidth).SetWeight("w").Add(Frame(500), label);
}

FitOptions Options(int epochs)
{
   FitOptions options;
   options.fEpochs = epochs;
   options.fBatchSize = 64;
   options.fVerbose = 0;
   options.fStandardise = false;
   return options;
}

nn::Sequential Net(int outputs = 1)
{
   torch::manual_seed(3);
   return nn::Sequential(nn::Linear(kWidth, 16), nn::Tanh(), nn::Linear(16, outputs));
}

/// For two fits of the same network: the largest difference of parameters.
double Difference(const std::function<void(Model &)> &first, const std::function<void(Model &)> &second)
{
   Model a(Net(), {kWidth}), b(Net(), {kWidth});
   first(a);
   second(b);
   return (CladTorch::AsTensor(a.Parameters()) - CladTorch::AsTensor(b.Parameters())).abs().max().item<double>();
}

Tensor CrossEntropy(Tensor z, Tensor y)
{
   return nn::functional::binary_cross_entropy_with_logits(z, y, nn::functional::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
}

/// Each event's, or the mean of all, or an equivalent form.
void CheckAsBuiltIn(const Dataset &data)
{
   const auto builtIn = [&](Model &model) { model.Fit(data, Options(3)); };
   const auto with = [&](Loss loss) { return [&data, loss](Model &model) { model.Fit(data, Options(3), loss); }; };
   CHECK(Difference(builtIn, with(CrossEntropy)) < 1e-5);
   CHECK(Difference(builtIn, with([](Tensor z, Tensor y) { return CrossEntropy(z, y).squeeze(1); })) < 1e-5);
   CHECK(Difference(builtIn, with([](Tensor z, Tensor y) { return CrossEntropy(z, y).mean(); })) < 1e-4);
   CHECK(Difference(builtIn, with([](Tensor z, Tensor y) { return torch::softplus(z) - y * z; })) < 1e-4);
   CHECK(Difference(builtIn, with([](Tensor z, Tensor y) { return torch::softplus(z) - 0.9 * y * z; })) > 1e-3);
}

/// One step of SGD on all events moves the parameters by the rate times the gradient of LibTorch's autograd of the weighted
/// mean loss. \param wrong Another loss for LibTorch.
double GradientDifference(const Dataset &data, int outputs, Loss loss, Loss wrong = nullptr)
{
   auto net = Net(outputs);
   const auto x = CladTorch::AsTensor(data.Features()).view({-1, kWidth});
   const auto y = CladTorch::AsTensor(data.Labels()).clone().view({x.size(0), -1});
   const auto w = CladTorch::AsTensor(data.Weights()).clone();
   const auto losses = (wrong ? wrong : loss)(net->forward(x), y).flatten();
   (losses * w).sum().div(w.sum()).backward();
   std::vector<Tensor> gradients, before;
   for (const auto &parameter : net->parameters()) {
      gradients.push_back(parameter.grad().flatten().clone());
      before.push_back(parameter.detach().flatten().clone());
   }
   Model model(net, {kWidth});
   auto options = Options(1);
   options.fBatchSize = data.Rows();
   options.fValidation = 0;
   options.fShuffle = false;
   options.fOptimiser = CladTorch::kSGD;
   options.fMomentum = 0;
   options.fLearningRate = 0.5;
   options.fSchedule = CladTorch::kConstant;
   model.Fit(data, options, loss);
   const Tensor moved = (torch::cat(before) - CladTorch::AsTensor(model.Parameters())) / 0.5, expected = torch::cat(gradients);
   return ((moved - expected).abs().max() / expected.abs().max()).item<double>();
}

void CheckGradients(const Dataset &classes, const Dataset &values, const Dataset &pairs)
{
   const auto scale = torch::full({1}, 0.7);
   const Loss focal = [](Tensor z, Tensor y) {
      const auto p = torch::sigmoid(z), right = p * y + (1 - p) * (1 - y);
      return -(1 - right).pow(2) * torch::log(right + 1e-6);
   };
   const Loss power = [scale](Tensor z, Tensor y) { return ((z - y) * scale).abs().pow(1.5).squeeze(1); };
   // Mean and logarithm of the variance of one value.
   const Loss gaussian = [](Tensor z, Tensor y) {
      const auto mean = z.narrow(1, 0, 1), log = z.narrow(1, 1, 1);
      return 0.5 * (log + (y - mean).square() * torch::exp(-log));
   };
   const Loss sum = [](Tensor z, Tensor y) { return (z - y).square().sum(1); };
   CHECK(GradientDifference(classes, 1, focal) < 1e-4);
   CHECK(GradientDifference(values, 1, power) < 1e-4);
   CHECK(GradientDifference(values, 2, gaussian) < 1e-4);
   CHECK(GradientDifference(pairs, 2, sum) < 1e-4);
   CHECK(GradientDifference(values, 1, power, [](Tensor z, Tensor y) { return (z - y).abs().pow(1.5); }) > 1e-2);
}

/// Class numbers: LibTorch's losses that take integers get them as rows of 0 and 1.
void CheckClassNumbers()
{
   const auto classes = Events("k");
   namespace F = nn::functional;
   const auto none = [] { return F::CrossEntropyFuncOptions().reduction(torch::kNone); };
   const auto integers = [](Tensor y) { return y.squeeze(1).to(torch::kLong); };
   const auto weight = torch::tensor({1.f, 2.f, 0.5f});
   const Loss plain = [none](Tensor z, Tensor y) { return F::cross_entropy(z, y, none()); };
   const Loss squeezed = [none](Tensor z, Tensor y) { return F::cross_entropy(z, y.squeeze(1), none().label_smoothing(0.1)); };
   const Loss weighted = [none, weight](Tensor z, Tensor y) { return F::cross_entropy(z, y, none().weight(weight)); };
   const Loss compared = [](Tensor z, Tensor y) { return -(torch::log_softmax(z, 1) * (y == torch::arange(3))).sum(1); };
   const Loss theirs = [=](Tensor z, Tensor y) { return F::cross_entropy(z, integers(y), none()); };
   CHECK(GradientDifference(classes, 3, plain, theirs) < 1e-4);
   CHECK(GradientDifference(classes, 3, compared, theirs) < 1e-4);
   CHECK(GradientDifference(classes, 3, squeezed, [=](Tensor z, Tensor y) {
      return F::cross_entropy(z, integers(y), none().label_smoothing(0.1));
   }) < 1e-4);
   CHECK(GradientDifference(classes, 3, weighted, [=](Tensor z, Tensor y) {
      return F::cross_entropy(z, integers(y), none().weight(weight));
   }) < 1e-4);
   CHECK(GradientDifference(classes, 3, weighted, theirs) > 1e-2);
   CladTorch::Mlp own({kWidth, 8, 3}), builtIn({kWidth, 8, 3});
   const auto history = own.Fit(classes, Options(2), [](Tensor z, Tensor y) { return F::cross_entropy(z, y); });
   CHECK(Near(history.TrainLoss().back(), builtIn.Fit(classes, Options(2)).TrainLoss().back(), 1e-5));

   const auto refuses = [&](const char *what, const Dataset &data, Loss loss, std::initializer_list<const char *> parts) {
      Refuses(what, [&] { Model(Net(3), {kWidth}).Fit(data, Options(1), loss); }, parts);
   };
   refuses("a class too many", Events("k + 1"), plain, {"label 3", "class numbers from 0 to 2"});
   refuses("half a class", Events("k * 0.5"), plain, {"label 0.5", "class numbers from 0 to 2"});
   // Labels as integers, too: a kernel drops their fractions.
   CHECK(GradientDifference(classes, 3, theirs) < 1e-4);
   CHECK(Near(CladTorch::Mlp({kWidth, 8, 3}).Fit(classes, Options(2), theirs).TrainLoss().back(), history.TrainLoss().back(), 1e-5));
   refuses("rows of classes without a word", classes, [](Tensor z, Tensor y) { return -(z.log_softmax(1) * y).sum(1); },
           {"say which", "torch::arange(3)"});
   refuses("the same, focal", classes, [](Tensor z, Tensor y) { return -(y * (1 - z.softmax(1)).square() * z.log_softmax(1)).sum(1); },
           {"say which"});
   const Loss rows = [](Tensor z, Tensor y) { return -(z.log_softmax(1) * (y.flatten().unsqueeze(1) == torch::arange(3)).to(torch::kFloat)).sum(1); };
   CHECK(GradientDifference(classes, 3, rows, theirs) < 1e-4);
   refuses("sums of integers", classes, [=](Tensor z, Tensor y) { return F::cross_entropy(z, integers(y) * 2 - integers(y), none()); },
           {"integers", "cross_entropy(outputs, labels)", "torch::arange(C)"});
   refuses("a class by its number", classes, [](Tensor z, Tensor y) { return z.gather(1, y).neg(); }, {"[events, 1]", "[events, 3] of 0 and 1"});
   Refuses("class numbers for one output", [&] { Model(Net(1), {kWidth}).Fit(classes, Options(1), [](Tensor z, Tensor y) {
      return z.gather(1, y);
   }); }, {"labels [events, 1]"});
}

/// An Mlp, a network that LibTorch runs, a model from a file, a stream.
void CheckModels(const Dataset &values)
{
   const Loss power = [](Tensor z, Tensor y) { return (z - y).abs().pow(1.5); };
   const auto learns = [&](Model model) {
      const auto history = model.Fit(values, Options(15), power);
      std::printf("losses %g to %g\n", history.TrainLoss().front(), history.TrainLoss().back());
      return history.TrainLoss().back() < 0.5 * history.TrainLoss().front();
   };
   CHECK(learns(CladTorch::Mlp({kWidth, 16, 1})));
   CHECK(learns(Model(nn::Sequential(nn::Functional([](Tensor x) { return x.cumsum(1); }), nn::Linear(kWidth, 16), nn::Tanh(), nn::Linear(16, 1)), {kWidth})));
   Model model(Net(), {kWidth});
   model.Fit(values, Options(1), power);
   model.Save("model.ct");
   auto loaded = Model::Load("model.ct");
   CHECK(loaded.Predict(values) == model.Predict(values) && loaded.Predict(values) == loaded.Logits(values));
   loaded.Fit(values, Options(2), power);
   model.Fit(values, Options(2), power);
   CHECK(loaded.Predict(values) == model.Predict(values));
   Refuses("its options without the loss", [&] { model.Fit(values, model.Options()); }, {"do not hold that loss"});
   Frame(2000).Snapshot("events", "loss_events.root", {"x", "t", "w"});
   Dataset columns;
   auto stream = columns.Column("x", kWidth).Stream();
   stream.Add("events", "loss_events.root", CladTorch::Label("t"));
   Model streamed(Net(), {kWidth});
   const auto history = streamed.Fit(stream, Options(8), power);
   CHECK(history.TrainLoss().back() < 0.5 * history.TrainLoss().front());
   // Any number of threads gives the same bits.
   const auto fit = [&](int threads) {
      Model one(Net(), {kWidth});
      auto options = Options(2);
      options.fThreads = threads;
      one.Fit(values, options, power);
      return std::vector<float>(one.Parameters().begin(), one.Parameters().end());
   };
   CHECK(fit(1) == fit(2));
}

/// Losses on logits: the model predicts and is judged as after the corresponding fLoss.
void CheckLogits(const Dataset &two, const Dataset &three, const Dataset &pairs)
{
   namespace F = nn::functional;
   auto logits = Options(4);
   logits.fLogits = true;
   logits.fMetrics = {CladTorch::kAuc};
   auto plain = logits;
   plain.fLogits = false;
   // With a dataset of its own for the validation loss.
   CladTorch::Mlp judged({kWidth, 8, 1}), alike({kWidth, 8, 1});
   const auto of = [](const CladTorch::History &history) { return history.ValidationLoss().back(); };
   CHECK(Near(of(judged.Fit(two, two, Options(2), CrossEntropy)), of(alike.Fit(two, two, Options(2))), 1e-5));
   CladTorch::Mlp own({kWidth, 8, 1}), builtIn({kWidth, 8, 1}), values({kWidth, 8, 1});
   const auto history = own.Fit(two, logits, CrossEntropy);
   auto usual = plain;
   const auto expected = builtIn.Fit(two, usual);
   CHECK(Near(history.Metric("AUC").back(), expected.Metric("AUC").back(), 1e-4) && own.Options().fLogits);
   const auto isClose = [](const auto &a, const auto &b) {
      return torch::allclose(CladTorch::AsTensor(a), CladTorch::AsTensor(b), 1e-3, 1e-4);
   };
   CHECK(isClose(own.Predict(two), builtIn.Predict(two)) && isClose(own.Logits(two), builtIn.Logits(two)));
   CHECK(Near(own.Evaluate(two).Auc(), builtIn.Evaluate(two).Auc(), 1e-4));
   CHECK(Near(own.Evaluate(two).Accuracy(), builtIn.Evaluate(two).Accuracy(), 1e-2));
   own.Save("logits.ct");
   const auto loaded = Model::Load("logits.ct");
   CHECK(loaded.Predict(two) == own.Predict(two) && loaded.Options().fLogits);
   plain.fMetrics.clear();
   values.Fit(two, plain, CrossEntropy);
   CHECK(isClose(values.Predict(two), own.Logits(two)) && !values.Options().fLogits);
   Refuses("figures of classes of values", [&] { values.Evaluate(two).Auc(); }, {"regression"});

   logits.fMetrics = {CladTorch::kAccuracy};
   logits.fClassWeights = {1, 2, 1};
   CladTorch::Mlp ofThree({kWidth, 8, 3}), builtInOfThree({kWidth, 8, 3});
   const auto accuracy = ofThree.Fit(three, logits, [](Tensor z, Tensor y) { return F::cross_entropy(z, y); }).Metric("accuracy");
   logits.fLogits = false;
   CHECK(Near(accuracy.back(), builtInOfThree.Fit(three, logits).Metric("accuracy").back(), 1e-2));
   CHECK(isClose(ofThree.Predict(three), builtInOfThree.Predict(three)));
   Refuses("no loss of one's own", [&] {
      auto options = Options(1);
      options.fLogits = true;
      CladTorch::Mlp({kWidth, 1}).Fit(two, options);
   }, {"fLogits without a loss of your own"});
   Refuses("labels that the loss does not smooth", [&] {
      auto options = Options(1);
      options.fLogits = true;
      options.fLabelSmoothing = 0.1;
      CladTorch::Mlp({kWidth, 1}).Fit(two, options, CrossEntropy);
   }, {"fLabelSmoothing beside"});
   const auto refuses = [](const char *what, const Dataset &data, int outputs, std::initializer_list<const char *> parts) {
      auto options = Options(1);
      options.fLogits = true;
      Refuses(what, [&] { Model(Net(outputs), {kWidth}).Fit(data, options, [](Tensor z, Tensor y) { return (z - y).square().sum(1); }); }, parts);
   };
   refuses("values as labels", Events(CladTorch::Label("t")), 1, {"fLogits takes labels from 0 to 1", "leave it out"});
   refuses("several targets", pairs, 2, {"fLogits needs one label"});
}

void CheckMistakes(const Dataset &classes, const Dataset &pairs)
{
   const auto refuses = [&](const char *what, Loss loss, std::initializer_list<const char *> parts) {
      Refuses(what, [&] { Model(Net(), {kWidth}).Fit(classes, Options(1), loss); }, parts);
   };
   refuses("a sum", [](Tensor z, Tensor y) { return (z - y).square().sum(); }, {"not the mean", "but their sum", "mean()"});
   refuses("events that mix", [](Tensor z, Tensor y) { return (z - z.mean()).square() + y; }, {"mixes the events"});
   refuses("labels that mix", [](Tensor z, Tensor y) { return (z - y.mean()).square(); }, {"mixes the events"});
   refuses("nearly a mean", [](Tensor z, Tensor y) { return (1 + 1e-4 * (z - y).square().mean()).sqrt(); }, {"not the mean"});
   refuses("a small term that mixes", [](Tensor z, Tensor y) { return (z - y).abs().mean() + 1e-3 * z.var(0, false).sum(); },
           {"not the mean"});
   refuses("a large constant", [](Tensor z, Tensor y) { return 1e4 + (z - y).square().sum(); }, {"not the mean"});
   refuses("events by their place", [](Tensor z, Tensor y) {
      auto losses = (z - y).square();
      losses.slice(0, 0, 1).mul_(1000);
      return losses;
   }, {"place"});
   refuses("another shape", [](Tensor z, Tensor y) { return torch::cat({z, y}, 1); }, {"[7, 2] for 7 events"});
   refuses("no kernel", [](Tensor z, Tensor y) { return (z - y).cumsum(1); }, {"aten::cumsum", "kernel"});
   refuses("random numbers", [](Tensor z, Tensor y) { return z - y + torch::rand_like(z); }, {"loss"});
   refuses("an exception", [](Tensor z, Tensor y) { return z.view({7, 9, 11}); }, {"the loss throws", "[events, 1]"});
   const auto w = torch::ones({1}, torch::requires_grad());
   refuses("parameters of its own", [w](Tensor z, Tensor y) { return (z - y * w).square(); }, {"require a gradient", "detach()"});
   Refuses("two losses", [&] {
      auto options = Options(1);
      options.fLossFunction = "double loss(double z, double y) { return z - y; }";
      Model(Net(), {kWidth}).Fit(classes, options, CrossEntropy);
   }, {"beside fLossFunction"});
   Refuses("autograd", [&] {
      auto options = Options(1);
      options.fGradient = CladTorch::kAutograd;
      Model(Net(), {kWidth}).Fit(classes, options, CrossEntropy);
   }, {"kAutograd"});
   Refuses("too many targets", [&] {
      Model(Net(), {kWidth}).Fit(pairs, Options(1), [](Tensor z, Tensor y) { return (z - y.sum(1, true)).square(); });
   }, {"2 targets"});
}

void tensor_loss()
{
   const auto classes = Events("y"), values = Events(CladTorch::Label("t")), pairs = Events({"t", "y"});
   CheckAsBuiltIn(classes);
   CheckGradients(classes, values, pairs);
   CheckClassNumbers();
   CheckModels(values);
   CheckLogits(classes, Events("k"), pairs);
   CheckMistakes(classes, pairs);
   Passed();
}
