/// \file model.C
/// \brief Any network as a model: what an Mlp can do, for modules and functions of LibTorch.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TGraph.h>
#include <TRandom3.h>

#include <cmath>
#include <functional>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Model;
using torch::Tensor;
namespace nn = torch::nn;

FitOptions Options(int epochs, int threads = 1)
{
   FitOptions options;
   options.fEpochs = epochs;
   options.fBatchSize = 64;
   options.fThreads = threads;
   options.fVerbose = 0;
   options.fSchedule = CladTorch::kConstant;
   return options;
}

/// Rows of `width` normal numbers; label 1 where the product of the first two is positive.
ROOT::RDF::RNode Frame(int rows, int width)
{
   const auto list = [width](ULong64_t entry) {
      TRandom3 random(entry + 1);
      ROOT::RVecF x(width);
      for (auto &value : x)
         value = random.Gaus();
      return x;
   };
   return ROOT::RDataFrame(rows).Define("x", list, {"rdfentry_"}).Define("y", [](const ROOT::RVecF &x) { return x[0] * x[1] > 0 ? 1 : 0; }, {"x"});
}

Dataset Events(int rows, int width)
{
   Dataset data;
   return data.Column("x", width).Add(Frame(rows, width), "y");
}

nn::Sequential Perceptron()
{
   return nn::Sequential(nn::Linear(4, 32), nn::ReLU(), nn::Linear(32, 1));
}

/// Residual, with batch normalisation and dropout.
struct ResidualImpl : nn::Module {
   nn::Linear fIn{4, 32}, fInner{32, 32}, fOut{32, 1};
   nn::BatchNorm1d fNorm{32};
   nn::Dropout fDropout{0.2};

   ResidualImpl()
   {
      register_module("in", fIn);
      register_module("norm", fNorm);
      register_module("inner", fInner);
      register_module("dropout", fDropout);
      register_module("out", fOut);
   }
   Tensor forward(Tensor x)
   {
      x = fIn(x);
      x = x + fDropout(fInner(torch::silu(fNorm(x))));
      return fOut(x).squeeze(-1);
   }
};

Tensor Features(const Dataset &data, std::vector<std::int64_t> shape)
{
   shape.insert(shape.begin(), -1);
   return CladTorch::AsTensor(data.Features()).view(shape);
}

double Difference(const Tensor &a, const std::vector<float> &b)
{
   return (a.flatten() - torch::tensor(b)).abs().max().item<double>();
}

/// Like an Mlp of the same weights: the same losses.
void CheckPerceptron(const Dataset &data)
{
   CladTorch::Mlp mlp({4, 32, 1}, CladTorch::kReLU);
   auto net = Perceptron();
   Model model(net, {4});
   CHECK(model.Inputs() == 4 && model.Outputs() == 1);
   const auto start = mlp.Parameters();
   model.SetParameters({start.begin(), start.end()});
   CHECK(net->parameters()[0].equal(CladTorch::AsTensor(mlp.Parameters()).slice(0, 0, 128).view({32, 4})));
   const auto ours = model.Fit(data, Options(5)), theirs = mlp.Fit(data, Options(5));
   for (int epoch = 0; epoch < 5; ++epoch)
      CHECK(Near(ours.TrainLoss()[epoch] / theirs.TrainLoss()[epoch], 1, 1e-4));
   CHECK(Near(model.Auc(data), mlp.Auc(data), 1e-3) && model.LastFit().Epochs() == 5);
   CHECK(model.Options().fEpochs == 5 && model.Columns() == std::vector<std::string>{"x"});
}

/// The module has the model's learned parameters.
void CheckModule(const Dataset &data)
{
   auto net = std::make_shared<ResidualImpl>();
   net->train();
   net->fDropout->eval();
   Model model(net, {4});
   CHECK(net->is_training() && !net->fDropout->is_training()); // as they were
   const auto before = model.Parameters();
   const auto losses = model.Fit(data, Options(6));
   CHECK(losses.TrainLoss().back() < losses.TrainLoss().front());
   CHECK(net->parameters()[0].data_ptr<float>() == model.Parameters().Data() && before.Data() != model.Parameters().Data());
   CHECK(net->fNorm->running_mean.abs().max().item<double>() > 0);
   net->eval();
   const auto scaler = model.Scaler();
   const auto x = (Features(data, {4}) - torch::tensor(scaler.fMean)) / torch::tensor(scaler.fDeviation);
   CHECK(Difference(net->forward(x.to(torch::kFloat32)), model.Logits(data)) < 1e-4);
   // A fit continues from the model's present state, whose scaler stays.
   const auto more = model.Fit(data, Options(1));
   CHECK(more.TrainLoss()[0] < losses.TrainLoss()[1] && model.Scaler().fMean == scaler.fMean);
   // In-place changes change the model; a functor is frozen.
   const auto logits = model.Logits(data);
   const auto functor = model.Functor();
   const auto row = ROOT::RVecF{0.3f, -1, 2, 0};
   const auto score = functor(row);
   {
      const torch::NoGradGuard noGradients;
      net->fOut->bias.add_(1);
   }
   CHECK(Near(model.Logits(data)[0], logits[0] + 1, 1e-5) && functor(row) == score && model.Functor()(row) > score);
   // Copies share until one changes; the module belongs to the one that changed.
   auto copy = model;
   copy.SetParameters(std::vector<float>(model.Parameters().Size(), 0.5f));
   CHECK(Near(model.Logits(data)[0], logits[0] + 1, 1e-5) && net->fOut->bias.item<float>() == 0.5f);
   copy.Print();
}

Tensor Flat(const std::vector<Tensor> &tensors)
{
   std::vector<Tensor> flat;
   for (const auto &tensor : tensors)
      flat.push_back(tensor.detach().flatten().clone());
   return torch::cat(flat);
}

/// One step of SGD on all events moves the parameters by the rate times the gradient of LibTorch's autograd: the largest
/// difference between both, as a share of the largest gradient. \param wrong Takes one label for the other.
template <class Net>
double GradientDifference(Net net, const Dataset &data, std::vector<std::int64_t> shape, bool wrong = false)
{
   const auto y = CladTorch::AsTensor(data.Labels()).clone();
   if (wrong)
      y[5] = 1 - y[5];
   net->train();
   const auto z = net->forward(Features(data, shape)).flatten();
   nn::functional::binary_cross_entropy_with_logits(z, y).backward();
   std::vector<Tensor> gradients;
   for (const auto &parameter : net->parameters())
      gradients.push_back(parameter.grad());
   const auto expected = Flat(gradients), before = Flat(net->parameters());
   Model model(net, {shape.begin(), shape.end()});
   auto options = Options(1);
   options.fBatchSize = data.Labels().Size();
   options.fValidation = 0;
   options.fShuffle = options.fStandardise = false;
   options.fOptimiser = CladTorch::kSGD;
   options.fMomentum = 0;
   options.fLearningRate = 0.5;
   model.Fit(data, options);
   const Tensor difference = (before - Flat(net->parameters())) / 0.5 - expected;
   return (difference.abs().max() / expected.abs().max()).item<double>();
}

void CheckGradients(const Dataset &data)
{
   const auto residual = [] {
      auto net = std::make_shared<ResidualImpl>();
      net->fDropout->options.p(0); // LibTorch draws other numbers
      return net;
   };
   CHECK(GradientDifference(Perceptron(), data, {4}) < 1e-4);
   CHECK(GradientDifference(residual(), data, {4}) < 1e-4);
   CHECK(GradientDifference(residual(), data, {4}, true) > 1e-3);
   const auto cnn = [] {
      return nn::Sequential(nn::Conv1d(1, 6, 2), nn::BatchNorm1d(6), nn::GELU(), nn::MaxPool1d(nn::MaxPool1dOptions(2).stride(1)),
                            nn::Flatten(), nn::LayerNorm(nn::LayerNormOptions({12})), nn::Linear(12, 1));
   };
   CHECK(GradientDifference(cnn(), data, {1, 4}) < 1e-4);
   CHECK(GradientDifference(cnn(), data, {1, 4}, true) > 1e-3);
   const auto image = [] {
      return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 6, 3).padding(1)), nn::BatchNorm2d(6), nn::GELU(),
                            nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(1)), nn::Flatten(), nn::Linear(6, 1));
   };
   CHECK(GradientDifference(image(), data, {1, 2, 2}) < 1e-4);
   CHECK(GradientDifference(image(), data, {1, 2, 2}, true) > 1e-3);
   Model onKernels(image(), {1, 2, 2});
   onKernels.Fit(data, Options(1));
   onKernels.ExportCpp("image.hxx"); // which what LibTorch runs has not
}

/// LibTorch trains networks with operators without kernels, and the results of a fit are the same.
void CheckQuality(const Dataset &data)
{
   const auto auc = [&](const char *what, CladTorch::EGradient gradient, std::function<Tensor(Tensor)> before) {
      torch::manual_seed(4);
      Model model(nn::Sequential(nn::Functional(before), nn::Linear(4, 32), nn::ReLU(), nn::Linear(32, 1)), {4});
      auto options = Options(20);
      options.fGradient = gradient;
      options.fLearningRate = 0.01;
      model.Fit(data, options);
      std::printf("AUC of %s: %.3f\n", what, model.Auc(data));
      return model.Auc(data);
   };
   const auto nothing = [](Tensor x) { return x + 0; };
   const auto summed = [](Tensor x) { return x + 0 * x.cumsum(1); };
   const auto clad = auc("Clad", CladTorch::kClad, nothing);
   CHECK(clad > 0.9);
   CHECK(Near(auc("LibTorch by option", CladTorch::kAutograd, nothing), clad, 0.01));
   CHECK(Near(auc("LibTorch for want of a kernel", CladTorch::kClad, summed), clad, 0.01));
}

void CheckThreadsAndSeeds(const Dataset &data)
{
   const auto fit = [&](int threads, unsigned seed) {
      torch::manual_seed(3);
      Model model(std::make_shared<ResidualImpl>(), {4});
      auto options = Options(2, threads);
      options.fSeed = seed;
      model.Fit(data, options);
      return std::vector<float>(model.Parameters().begin(), model.Parameters().end());
   };
   const auto one = fit(1, 1);
   CHECK(fit(2, 1) == one && fit(1, 1) == one && fit(1, 2) != one);
}

void CheckUses(const Dataset &data)
{
   auto net = Perceptron();
   Model model(net, {4});
   Dataset columns;
   columns.Column("x", 4);
   auto stream = columns.Stream();
   Frame(1500, 4).Snapshot("events", "events.root", {"x", "y"});
   stream.Add("events", "events.root", "y");
   CHECK(model.Fit(stream, Options(3)).Epochs() == 3);
   // Windows of one batch: the last one has a single event, which batch normalisation does not take.
   auto short_stream = columns.Stream();
   Frame(129, 4).Snapshot("events", "events129.root", {"x", "y"});
   short_stream.SetWindow(64).Add("events", "events129.root", "y");
   auto all = Options(2);
   all.fValidation = 0;
   CHECK(Model(std::make_shared<ResidualImpl>(), {4}).Fit(short_stream, all).Epochs() == 2);
   CHECK(model.Fit(data, Options(10)).Epochs() == 10);
   const auto predicted = model.Predict(data);
   auto defined = model.Define(Frame(1473, 4), "score").Define("f", model.Functor(), {"x"});
   CHECK(defined.Take<float>("score").GetValue() == defined.Take<float>("f").GetValue());
   const auto scores = defined.Take<float>("score").GetValue();
   double largest = 0;
   for (std::size_t i = 0; i < scores.size(); ++i)
      largest = std::max<double>(largest, std::fabs(scores[i] - predicted[i]));
   CHECK(largest < 1e-5 && scores.size() == predicted.size());
   const std::unique_ptr<TGraph> roc(model.Roc(data));
   CHECK(model.Auc(data) > 0.8 && roc->GetN() > 50);
   // A function with its own parameters; regressions have targets in their own units.
   auto w = torch::zeros({4}, torch::requires_grad()), b = torch::zeros({1}, torch::requires_grad());
   Model line([w, b](Tensor x) { return x.matmul(w) + b; }, {4});
   Dataset values;
   values.Column("x", 4).Add(Frame(800, 4).Define("t", "100 + 3 * x[0] - 2 * x[3]"), CladTorch::Label("t"));
   auto options = Options(60);
   options.fLoss = CladTorch::kMeanSquaredError;
   options.fLearningRate = 0.02;
   CHECK(line.Fit(values, options).TrainLoss().back() < 0.05);
   CHECK(Near(line.Predict(values)[0], values.Labels()(0), 0.8));
}

/// Impossible shapes and functions.
void CheckMistakes(const Dataset &data)
{
   Refuses("another shape", [] { Model(Perceptron(), {5}); }, {"Sequential throws for 6 events of shape [5]"});
   Refuses("no shape", [] { Model(Perceptron(), {}); }, {"give its shape"});
   Refuses("an empty event", [] { Model(Perceptron(), {4, 0}); }, {"[4, 0]"});
   Refuses("another width", [&] { Model(nn::Sequential(nn::Linear(5, 1)), {5}).Fit(data, Options(1)); }, {"4 numbers an event", "takes 5"});
   Refuses("no parameters", [] { Model([](Tensor x) { return x * 2; }, {4}); }, {"has no parameters"});
   Refuses("one output for all", [] { Model(nn::Sequential(nn::Linear(4, 1), nn::Functional([](Tensor x) { return x.sum(); })), {4}); }, {"shape []"});
   Refuses("two tensors", [] { Model(nn::GRU(4, 4), {7, 4}); }, {"GRU"});
   auto net = Perceptron();
   Refuses("random numbers", [&] { Model([net](Tensor x) mutable { return net->forward(x + torch::randn_like(x)); }, {4}); }, {"draws random numbers"});
   Refuses("dropout in a function", [] {
      auto inner = nn::Sequential(nn::Linear(4, 1), nn::Dropout(0.5));
      Model([inner](Tensor x) mutable { return inner->forward(x); }, {4});
   }, {"give the torch::nn module itself"});
   Refuses("values that are read", [&] { Model([net](Tensor x) mutable { return net->forward(x) * x.sum().item<float>(); }, {4}); }, {"depend on its neighbours"});
   auto wide = Perceptron();
   wide->to(torch::kFloat64);
   Refuses("float64", [&] { Model(wide, {4}); }, {"Double"});
   Refuses("two outputs", [&] { Model(nn::Sequential(nn::Linear(4, 2)), {4}).Auc(data); }, {"one output"});
   Refuses("a loss", [&] {
      auto options = Options(1);
      options.fLoss = CladTorch::kBinaryCrossEntropy;
      Model(nn::Sequential(nn::Linear(4, 2)), {4}).Fit(data, options);
   }, {"does not fit a model with 2 output(s)"});
   Model model(net, {4});
   Model summed(nn::Sequential(nn::Functional([](Tensor x) { return x.cumsum(1); }), nn::Linear(4, 1)), {4});
   Refuses("a file", [&] { summed.Save("model.ct"); }, {"LibTorch runs Sequential itself", "aten::cumsum", "SaveWeights"});
   torch::save(net, "net.pt");
   torch::load(net, "net.pt");
   Refuses("replaced parameters", [&] { model.Predict(data); }, {"'0.weight' of Sequential was replaced", "make a new Model"});
   CHECK(Model(net, {4}).Predict(data).size() == data.Labels().Size());
   auto frozen = Perceptron();
   frozen->parameters()[0].set_requires_grad(false);
   Model half(frozen, {4});
   CHECK(half.Parameters().Size() == 32 + 32 + 1 && half.Fit(data, Options(1)).Epochs() == 1);
   {
      const torch::NoGradGuard noGradients;
      frozen->parameters()[0].mul_(2);
   }
   Refuses("a frozen tensor that changed", [&] { half.Predict(data); }, {"does not train was changed", "make a new Model"});
   Refuses("a batch of one", [&] {
      auto options = Options(1);
      options.fBatchSize = 1;
      Model(std::make_shared<ResidualImpl>(), {4}).Fit(data, options);
   }, {"does not take a single event"});
}

/// Whitened strain, half of the windows with a chirp of unknown arrival.
Dataset Windows(int windows, int seed)
{
   constexpr int kSamples = 128;
   constexpr double kRate = 512, kSnr = 7;
   const auto psd = CladTorch::Signal::DetectorPsd(kSamples, kRate);
   auto chirp = CladTorch::Signal::Chirp(kSamples, kRate, 15, 60, 0.2);
   chirp = CladTorch::Signal::ScaleToSnr(chirp, psd, kRate, kSnr);
   const auto shape = CladTorch::Signal::Whiten(chirp, psd, kRate);
   const auto strain = [=](ULong64_t entry) {
      TRandom3 random(1000000 * seed + entry + 1);
      const int arrival = random.Integer(kSamples);
      ROOT::RVecF x(kSamples);
      for (int i = 0; i < kSamples; ++i)
         x[i] = random.Gaus() + (entry % 2 ? shape[(i + arrival) % kSamples] : 0);
      return x;
   };
   Dataset data;
   data.Column("strain", kSamples);
   return data.Add(ROOT::RDataFrame(windows).Define("strain", strain, {"rdfentry_"}).Define("label", "int(rdfentry_ % 2)"), "label");
}

/// Weights shared by all times learn what a perceptron cannot from so few windows.
void CheckWindows()
{
   const auto train = Windows(4000, 1), test = Windows(2000, 2);
   auto net = nn::Sequential(nn::Conv1d(nn::Conv1dOptions(1, 8, 33).padding(16)), nn::ReLU(), nn::MaxPool1d(2),
                             nn::Conv1d(8, 8, 9), nn::ReLU(), nn::Functional([](Tensor x) { return x.amax(2); }), nn::Linear(8, 1));
   Model cnn(net, {1, 128});
   CladTorch::Mlp mlp({128, 32, 1});
   auto options = Options(12, 2);
   options.fLearningRate = 5e-3;
   cnn.Fit(train, options);
   options.fLearningRate = 1e-3;
   mlp.Fit(train, options);
   std::printf("AUC of windows with unknown arrival: CNN %.3f, Mlp %.3f\n", cnn.Auc(test), mlp.Auc(test));
   CHECK(cnn.Auc(test) > mlp.Auc(test) + 0.1);
}

/// The category of an event is a row of a table.
struct WithCategoryImpl : nn::Module {
   nn::Embedding fTable{5, 4};
   nn::Linear fIn{5, 16}, fOut{16, 1};
   std::function<Tensor(const Tensor &)> fCategory;

   explicit WithCategoryImpl(std::function<Tensor(const Tensor &)> category) : fCategory(std::move(category))
   {
      register_module("table", fTable);
      register_module("in", fIn);
      register_module("out", fOut);
   }

   Tensor forward(const Tensor &x)
   {
      const auto row = fTable(fCategory(x));
      return fOut(torch::relu(fIn(torch::cat({x.narrow(1, 0, 1), row}, 1))));
   }
};
TORCH_MODULE(WithCategory);

/// However a network takes a category, with kernels or on LibTorch: that column is not standardised, others are, and
/// the contents of the table are learned.
void CheckCategories()
{
   const auto events = [](double first) {
      auto frame = ROOT::RDataFrame(2000).Define("pt", [](ULong64_t i) { return 50 + 20 * std::sin(1.7 * i); }, {"rdfentry_"})
                      .Define("type", [first](ULong64_t i) { return first + i * 7 % 5; }, {"rdfentry_"});
      Dataset data({"pt", "type"});
      return data.Add(frame, "(type == 1 || type == 4) != (pt > 50) ? 1 : 0");
   };
   const auto data = events(0);
   const auto unit = torch::tensor({0.f, 1.f});
   const std::vector<std::pair<const char *, std::function<Tensor(const Tensor &)>>> ways = {
      {"selected", [](const Tensor &x) { return x.select(1, 1).to(torch::kLong); }},
      {"index_select", [](const Tensor &x) { return x.index_select(1, torch::tensor({1L})).squeeze(1).to(torch::kLong); }},
      {"a sum of one", [](const Tensor &x) { return x.slice(1, 1, 2).sum(1).to(torch::kLong); }},
      {"a product", [unit](const Tensor &x) { return x.matmul(unit).clamp(0, 4).to(torch::kLong); }},
      {"floor", [](const Tensor &x) { return x.select(1, 1).floor().to(torch::kLong); }},
      {"round", [](const Tensor &x) { return x.select(1, 1).round().to(torch::kLong); }},
      {"clamped integers", [](const Tensor &x) { return x.select(1, 1).to(torch::kLong).clamp(0, 4); }},
      {"short integers", [](const Tensor &x) { return x.select(1, 1).to(torch::kInt); }},
   };
   for (const auto &[name, way] : ways) {
      torch::manual_seed(1);
      Model model(WithCategory(way), {2});
      auto options = Options(30, 2);
      options.fLearningRate = 1e-2;
      model.Fit(data, options);
      const auto scaler = model.Scaler();
      std::printf("category, %s: AUC %.3f\n", name, model.Auc(data));
      CHECK(scaler.fMean[1] == 0 && scaler.fDeviation[1] == 1);
      CHECK(std::abs(scaler.fMean[0] - 50) < 2 && std::abs(scaler.fDeviation[0] - 14) < 2);
      CHECK(model.Auc(data) > 0.95);
   }
   // All columns become whole numbers here, and one of them is an index.
   Model all(WithCategory([](const Tensor &x) { return x.to(torch::kLong).select(1, 1); }), {2});
   all.Fit(data, Options(30, 2));
   CHECK(all.Scaler().fMean[0] == 0 && all.Scaler().fMean[1] == 0);
   // Binned by learned numbers: no column is a category.
   auto first = nn::Linear(2, 1), second = nn::Linear(1, 1);
   Model binned([=](Tensor x) mutable { const auto y = first(x); return second(y + (10 * y).floor() / 10); }, {2});
   binned.Fit(data, Options(1));
   CHECK(binned.Scaler().fMean[1] > 1);

   Model model(WithCategory(ways[0].second), {2});
   model.Fit(data, Options(1));
   Refuses("a category that the table does not have", [&] { model.Predict(events(1)); },
           {"has a category that the network does not know; check feature 1 of the events"});
}

/// A regression by a network whose last function does not give every number: the targets stay within what it gives.
void CheckLastFunctions()
{
   const auto frame = ROOT::RDataFrame(4000).Define("x", [](ULong64_t i) { return std::sin(1.7 * i); }, {"rdfentry_"})
                         .Define("z", [](ULong64_t i) { return std::cos(0.37 * i); }, {"rdfentry_"})
                         .Define("size", "60 + 25 * x + 10 * z * x").Define("share", "1 / (1 + std::exp(2 * x - z))").Define("signed", "2 * share - 1");
   const auto fit = [&](auto last, const char *target) {
      const Dataset data = Dataset({"x", "z"}).Add(frame, target);
      torch::manual_seed(1);
      Model model(nn::Sequential(nn::Linear(2, 32), nn::ReLU(), nn::Linear(32, 1), last), {2});
      auto options = Options(30);
      options.fLoss = CladTorch::kMeanSquaredError;
      options.fLearningRate = 1e-2;
      model.Fit(data, options);
      const auto explained = model.Evaluate(data).Explained();
      std::printf("%s by %s: explained %.3f, target %.3g +- %.3g\n", target, last->name().c_str(), explained, model.TargetScaler().fMean[0],
                  model.TargetScaler().fDeviation[0]);
      CHECK(explained > 0.97);
      return model.TargetScaler();
   };
   for (const auto &scaler : {fit(nn::Softplus(), "size"), fit(nn::ReLU(), "size"), fit(nn::ELU(), "size")})
      CHECK(scaler.fMean[0] == 0 && std::abs(scaler.fDeviation[0] - 62) < 2); // the root mean square
   for (const auto &scaler : {fit(nn::Sigmoid(), "share"), fit(nn::Tanh(), "signed")})
      CHECK(scaler.fMean[0] == 0 && scaler.fDeviation[0] == 1);
   CHECK(std::abs(fit(nn::Identity(), "size").fMean[0] - 60) < 1);
}

/// Masks stay 0 and 1, and the pads of a list with a mask do not count: by a network that leaves out what is padded, no pad changes
/// anything.
void CheckMasks()
{
   auto frame = ROOT::RDataFrame(3000).Define("list", [](ULong64_t i) {
      ROOT::RVecF list(i % 5);
      for (std::size_t k = 0; k < list.size(); ++k)
         list[k] = 40 + 15 * std::sin(1.7 * i + 2.9 * k);
      return list;
   }, {"rdfentry_"}).Define("y", "Sum(list) > 80");
   std::vector<std::vector<float>> predictions;
   for (const float pad : {0.f, -999.f}) {
      Dataset data;
      data.Column("list", 4, pad).Mask("list").Add(frame, "y");
      torch::manual_seed(1);
      auto each = nn::Linear(1, 16), all = nn::Linear(16, 1);
      Model model([=](Tensor x) mutable {
         const auto values = x.slice(1, 0, 4).unsqueeze(2), mask = x.slice(1, 4, 8).unsqueeze(2);
         return all((each(values).relu() * mask).sum(1));
      }, {8});
      auto options = Options(15);
      options.fLearningRate = 1e-2;
      model.Fit(data, options);
      const auto scaler = model.Scaler();
      std::printf("pad %g: AUC %.3f, first element %.3g +- %.3g\n", pad, model.Auc(data), scaler.fMean[0], scaler.fDeviation[0]);
      CHECK(std::abs(scaler.fMean[0] - 40) < 1 && std::abs(scaler.fDeviation[0] - 10.6) < 0.5);
      CHECK(scaler.fMean[5] == 0 && scaler.fDeviation[5] == 1 && model.Auc(data) > 0.97);
      const auto found = model.Predict(data);
      predictions.emplace_back(found.begin(), found.end());
   }
   CHECK(predictions[0] == predictions[1]);
   // Properties of two kinds of particles, of which one of each has a mask.
   const auto both = frame.Define("other", "ROOT::RVecF(rdfentry_ % 3, 7 + rdfentry_ % 2)").Define("list2", "list / 10").Define("other2", "other * 2");
   Dataset data;
   data.Column("list", 4).Mask("list").Column("other", 4).Mask("other").Column("list2", 4).Column("other2", 4).Add(both, "y");
   CladTorch::Mlp mlp({24, 4, 1});
   mlp.Fit(data, Options(1));
   const auto mean = mlp.Scaler().fMean;
   CHECK(std::abs(mean[16] - 4) < 0.1 && std::abs(mean[20] - 15) < 0.2 && std::abs(mean[8] - 7.5) < 0.1);
}

void model()
{
   const auto data = Events(1473, 4); // 23 batches and one event
   CheckPerceptron(data);
   CheckModule(data);
   CheckGradients(data);
   CheckQuality(data);
   CheckThreadsAndSeeds(data);
   CheckUses(data);
   CheckMistakes(data);
   CheckWindows();
   CheckCategories();
   CheckLastFunctions();
   CheckMasks();
   Passed();
}
