/// \file model_libtorch.C
/// \brief Models that LibTorch runs: networks with operators without kernels, and fits that request kAutograd.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TRandom3.h>

#include <functional>
#include <thread>
#include <vector>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Model;
using torch::Tensor;
namespace nn = torch::nn;

constexpr int kWidth = 8;

Dataset Events(int rows)
{
   const auto list = [](ULong64_t entry) {
      TRandom3 random(entry + 1);
      ROOT::RVecF x(kWidth);
      for (auto &value : x)
         value = random.Gaus();
      return x;
   };
   Dataset data;
   auto frame = ROOT::RDataFrame(rows).Define("x", list, {"rdfentry_"}).Define("y", [](const ROOT::RVecF &x) { return x[0] + x[1] * x[2] > 0 ? 1 : 0; }, {"x"});
   return data.Column("x", kWidth).Add(frame, "y");
}

FitOptions Options(int epochs, CladTorch::EGradient gradient = CladTorch::kClad)
{
   FitOptions options;
   options.fEpochs = epochs;
   options.fBatchSize = 64;
   options.fVerbose = 0;
   options.fGradient = gradient;
   options.fLearningRate = 0.01;
   return options;
}

/// One step of SGD on all events, without shuffling.
FitOptions OneStep(const Dataset &data)
{
   auto options = Options(1);
   options.fBatchSize = data.Rows();
   options.fValidation = 0;
   options.fShuffle = options.fStandardise = false;
   options.fOptimiser = CladTorch::kSGD;
   options.fMomentum = 0;
   options.fLearningRate = 0.5;
   options.fSchedule = CladTorch::kConstant;
   return options;
}

/// The operations of `forward` on the parts, which are registered.
struct NetImpl : nn::Module {
   std::function<Tensor(Tensor)> fForward;
   NetImpl(std::vector<std::shared_ptr<nn::Module>> parts, std::function<Tensor(Tensor)> forward) : fForward(std::move(forward))
   {
      for (std::size_t i = 0; i < parts.size(); ++i)
         register_module("part" + std::to_string(i), parts[i]);
   }
   Tensor forward(Tensor x) { return fForward(x); }
};
using Net = std::shared_ptr<NetImpl>;

template <class... Parts>
Net Make(std::function<Tensor(Tensor)> forward, const Parts &...parts)
{
   return std::make_shared<NetImpl>(std::vector<std::shared_ptr<nn::Module>>{parts.ptr()...}, std::move(forward));
}

/// A network without kernels, the shape of its events, and the stated reason.
struct Case {
   std::string fName;
   std::function<Net()> fMake;
   std::vector<std::size_t> fShape;
   const char *fWhy;
};

std::vector<Case> Cases()
{
   return {
      {"GRU", [] {
         nn::GRU gru(nn::GRUOptions(2, 6).batch_first(true));
         nn::Linear out(6, 1);
         return Make([=](Tensor x) mutable { return out(std::get<0>(gru(x)).select(1, 3)); }, gru, out);
      }, {4, 2}, "aten::gru.input at operator 1 of Net, part part0 (GRU) has no kernel: its cells are fused"},
      {"LSTM", [] {
         nn::LSTM lstm(nn::LSTMOptions(2, 6).batch_first(true).num_layers(2));
         nn::Linear out(6, 1);
         return Make([=](Tensor x) mutable { return out(std::get<0>(lstm(x)).select(1, 3)); }, lstm, out);
      }, {4, 2}, "aten::lstm.input at operator"},
      {"image", [] {
         nn::ConvTranspose2d conv(nn::ConvTranspose2dOptions(1, 4, 2));
         nn::Linear out(4 * 5 * 3, 1);
         return Make([=](Tensor x) mutable { return out(torch::relu(conv(x)).flatten(1)); }, conv, out);
      }, {1, 4, 2}, "at operator 1 of Net, part part0 (ConvTranspose2d)"},
      {"cumulative sum, with batch normalisation", [] {
         // A bias before a normalisation has only rounding as its gradient, from which Adam makes whole steps.
      nn::Linear in(nn::LinearOptions(kWidth, 16).bias(false)), out(16, 1);
         nn::BatchNorm1d norm(16);
         return Make([=](Tensor x) mutable { return out(torch::tanh(norm(in(x))).cumsum(1)); }, in, norm, out);
      }, {kWidth}, "cumsum"},
      {"sums so far of what was sorted", [] {
         // A bias before a normalisation has only rounding as its gradient, from which Adam makes whole steps.
      nn::Linear in(nn::LinearOptions(kWidth, 16).bias(false)), out(16, 1);
         return Make([=](Tensor x) mutable { return out(std::get<0>(in(x).sort(1)).cumsum(1)).squeeze(1); }, in, out);
      }, {kWidth}, "cumsum"},
      {"embedding", [] {
         nn::Embedding words(5, 3);
         nn::Linear out(3 * kWidth, 1);
         return Make([=](Tensor x) mutable { return out(words((2 * x).to(torch::kLong).clamp(-2, 2) + 2).flatten(1)); }, words, out);
      }, {kWidth}, ""},
      {"changed in place", [] {
         nn::Linear out(kWidth, 1);
         return Make([=](Tensor x) mutable { return out(x.mul_(2)); }, out);
      }, {kWidth}, "changes an input"},
   };
}

std::vector<std::int64_t> Sizes(const std::vector<std::size_t> &shape)
{
   std::vector<std::int64_t> sizes{-1};
   sizes.insert(sizes.end(), shape.begin(), shape.end());
   return sizes;
}

Tensor Flat(const std::vector<Tensor> &tensors)
{
   std::vector<Tensor> flat;
   for (const auto &tensor : tensors)
      flat.push_back(tensor.detach().flatten().clone());
   return torch::cat(flat);
}

double Difference(const Tensor &a, const std::vector<float> &b)
{
   return (a.detach().flatten() - torch::tensor(b)).abs().max().item<double>();
}

/// The gradient is that of LibTorch's autograd, predictions those of the module, and fits learn.
void CheckCase(const Case &one, const Dataset &data)
{
   std::printf("%s\n", one.fName.c_str());
   auto net = one.fMake();
   const auto x = CladTorch::AsTensor(data.Features()).view(Sizes(one.fShape)), y = CladTorch::AsTensor(data.Labels());
   net->train();
   nn::functional::binary_cross_entropy_with_logits(net->forward(x.clone()).flatten(), y).backward();
   std::vector<Tensor> gradients;
   for (const auto &parameter : net->parameters())
      gradients.push_back(parameter.grad());
   for (const auto &buffer : net->named_buffers())
      if (buffer.key().find("running_var") != std::string::npos)
         buffer.value().fill_(1);
      else
         buffer.value().zero_();
   const auto expected = Flat(gradients), before = Flat(net->parameters());
   Model model(net, one.fShape);
   const auto text = Printed(model);
   std::printf("%s", text.c_str());
   CHECK(text.find("back end autograd (LibTorch): ") != std::string::npos && text.find(one.fWhy) != std::string::npos);
   model.Fit(data, OneStep(data));
   const auto moved = (before - Flat(net->parameters())) / 0.5 - expected;
   CHECK((moved.abs().max() / expected.abs().max()).item<double>() < 1e-4);
   const auto history = model.Fit(data, Options(4));
   CHECK(history.TrainLoss().back() < history.TrainLoss().front());
   net->eval();
   const torch::NoGradGuard noGradients;
   const auto logits = model.Logits(data);
   const auto scaler = model.Scaler();
   const auto plain = CladTorch::AsTensor(data.Features());
   const auto scaled = scaler.fMean.empty() ? plain : ((plain - torch::tensor(scaler.fMean)) / torch::tensor(scaler.fDeviation)).to(torch::kFloat32);
   CHECK(Difference(net->forward(scaled.view(Sizes(one.fShape)).clone()), logits) < 1e-4);
   const auto functor = model.Functor();
   const auto *first = data.Features().Data();
   CHECK(Near(functor(ROOT::RVecF(first, first + kWidth)), 1 / (1 + std::exp(-logits[0])), 1e-5));
}

/// The same network on both back ends.
void CheckBothBackEnds(const Dataset &data)
{
   const auto make = [] {
      torch::manual_seed(3);
      // A bias before a normalisation has only rounding as its gradient, from which Adam makes whole steps.
      nn::Linear in(nn::LinearOptions(kWidth, 16).bias(false)), out(16, 1);
      nn::BatchNorm1d norm(16);
      return nn::Sequential(in, norm, nn::SiLU(), out);
   };
   auto clad = make(), libtorch = make();
   Model a(clad, {kWidth}), b(libtorch, {kWidth});
   CHECK(Printed(a).find("back end aot") != std::string::npos);
   const auto ours = a.Fit(data, Options(3)), theirs = b.Fit(data, Options(3, CladTorch::kAutograd));
   for (int epoch = 0; epoch < 3; ++epoch)
      CHECK(Near(ours.TrainLoss()[epoch] / theirs.TrainLoss()[epoch], 1, 1e-3) && Near(ours.ValidationLoss()[epoch] / theirs.ValidationLoss()[epoch], 1, 1e-3));
   CHECK((Flat(clad->parameters()) - Flat(libtorch->parameters())).abs().max().item<double>() < 2e-3);
   for (const auto &buffer : clad->named_buffers())
      CHECK((buffer.value() - libtorch->named_buffers()[buffer.key()]).abs().max().item<double>() < 2e-3);
   CHECK(libtorch->named_buffers()["1.num_batches_tracked"].item<std::int64_t>() > 0);
   CHECK(theirs.Description().find("autograd") != std::string::npos);
   // A fit may continue with the other one.
   CHECK(b.Fit(data, Options(1)).TrainLoss()[0] < theirs.TrainLoss()[0]);
   // A function of tensors, too.
   auto w = torch::zeros({kWidth, 1}, torch::requires_grad());
   Model line([w](Tensor x) { return x.matmul(w); }, {kWidth});
   const auto history = line.Fit(data, Options(5, CladTorch::kAutograd));
   CHECK(history.TrainLoss().back() < history.TrainLoss().front() && w.abs().max().item<float>() > 0);
}

/// Cumulative statistics, which need the number of batches, are LibTorch's own; so is the number.
void CheckStatistics(const Dataset &data)
{
   const auto statistics = nn::BatchNorm1dOptions(kWidth).momentum(c10::nullopt);
   nn::BatchNorm1d norm(statistics), reference(statistics);
   auto net = nn::Sequential(norm, nn::Linear(kWidth, 1));
   Model model(net, {kWidth});
   auto options = Options(2);
   options.fShuffle = options.fStandardise = false;
   options.fValidation = 0;
   options.fBatchSize = 100;
   model.Fit(data, options);
   const auto x = CladTorch::AsTensor(data.Features());
   for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto &batch : x.split(100))
         reference(batch);
   CHECK(norm->num_batches_tracked.item<std::int64_t>() == reference->num_batches_tracked.item<std::int64_t>());
   CHECK(torch::allclose(norm->running_mean, reference->running_mean, 1e-4, 1e-5));
   CHECK(torch::allclose(norm->running_var, reference->running_var, 1e-4, 1e-5));
}

/// The user's objects stay unchanged.
void CheckTraces(const Dataset &data)
{
   auto net = Cases()[0].fMake();
   const auto threads = torch::get_num_threads();
   torch::manual_seed(5);
   const auto expected = torch::rand({3});
   torch::manual_seed(5);
   Model model(net, {4, 2});
   auto options = Options(2);
   options.fThreads = 1;
   model.Fit(data, options);
   CHECK(torch::rand({3}).equal(expected) && torch::get_num_threads() == threads);
   // Functors in several threads, and predictions beside them.
   const auto logits = model.Logits(data);
   const auto functor = model.Functor();
   bool same = true;
   std::vector<std::thread> others;
   for (int i = 0; i < 3; ++i)
      others.emplace_back([&, i] {
         for (int row = i; row < 60; row += 3) {
            const auto *x = data.Features().Data() + row * kWidth;
            if (!Near(functor(ROOT::RVecF(x, x + kWidth)), 1 / (1 + std::exp(-logits[row])), 1e-5))
               same = false;
         }
      });
   for (int i = 0; i < 10; ++i)
      same = same && model.Logits(data) == logits;
   for (auto &thread : others)
      thread.join();
   CHECK(same);
}

/// Networks that LibTorch could run but that a model must not use.
void CheckRefusals()
{
   const auto w = torch::randn({kWidth, 1}, torch::requires_grad());
   const auto refuses = [&](const char *name, std::function<Tensor(Tensor)> mixed, std::initializer_list<const char *> parts) {
      Refuses(name, [=] { Model([=](Tensor x) { return mixed(x).matmul(w); }, {kWidth}); }, parts);
   };
   const auto neighbours = "depend on its neighbours";
   refuses("events in another order", [](Tensor x) { return x.flip(0); }, {neighbours});
   refuses("sum over the events before", [](Tensor x) { return x.cumsum(0); }, {neighbours});
   refuses("sorted events", [](Tensor x) { return std::get<0>(x.sort(0)); }, {neighbours});
   refuses("mean of the batch", [](Tensor x) { return x.cumsum(1) - x.mean(0); }, {neighbours});
   refuses("number of events", [](Tensor x) { return x.cumsum(1) * (100. / x.size(0)); }, {neighbours});
   refuses("whether a sum over the batch is positive", [](Tensor x) { return x.sum().item<float>() > 0 ? x : -x; }, {neighbours});
   refuses("greatest of the batch, not differentiable", [](Tensor x) { return x.cumsum(1) + (x >= x.amax(0)).to(torch::kFloat32); }, {neighbours});
   refuses("random numbers", [](Tensor x) { return x + torch::randn_like(x); }, {"random numbers", "in evaluation"});
   auto total = torch::zeros({kWidth});
   refuses("a captured tensor", [=](Tensor x) mutable {
      total.add_(x.detach().sum(0));
      return x.cumsum(1);
   }, {"changes a tensor that is no buffer", "in evaluation"});
   Refuses("a device", [] {
      auto options = Options(1);
      options.fDevice = "cuda:0";
      Model(Cases()[0].fMake(), {4, 2}).Fit(Events(100), options);
   }, {"cuda"});
}

void model_libtorch()
{
   torch::manual_seed(1);
   const auto data = Events(1000);
   for (const auto &one : Cases())
      CheckCase(one, data);
   CheckBothBackEnds(data);
   CheckStatistics(data);
   CheckTraces(data);
   CheckRefusals();
   Passed();
}
