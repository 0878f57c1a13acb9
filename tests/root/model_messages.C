/// \file model_messages.C
/// \brief Messages about networks that a model cannot use, and about usable ones that are probably not intended.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TError.h>

#include <algorithm>
#include <functional>
#include <vector>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Model;
using torch::Tensor;
namespace nn = torch::nn;

Tensor gWeights;

nn::Sequential Perceptron()
{
   return nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 1));
}

/// Changes its own weights.
struct Clamped : nn::Module {
   nn::Linear a = register_module("a", nn::Linear(4, 1));
   Tensor forward(Tensor x)
   {
      {
         const torch::NoGradGuard off;
         a->weight.clamp_(-0.01, 0.01);
      }
      return a->forward(x);
   }
};

Dataset Events(int rows)
{
   const auto list = [](ULong64_t entry) {
      ROOT::RVecF x(4);
      for (int i = 0; i < 4; ++i)
         x[i] = std::sin(entry * 1.7 + i * i);
      return x;
   };
   Dataset data;
   return data.Column("x", 4).Add(ROOT::RDataFrame(rows).Define("x", list, {"rdfentry_"}).Define("y", "int(x[0] > 0)"), "y");
}

FitOptions Options(int batch = 64)
{
   FitOptions options;
   options.fEpochs = 2;
   options.fBatchSize = batch;
   options.fVerbose = 0;
   return options;
}

/// The faulty action, and parts of the sentence that reports it.
struct Mistake {
   const char *fName;
   std::function<void()> fDo;
   std::vector<const char *> fSays;
};

template <class F>
std::function<void()> Of(F network)
{
   return [network] { Model(network, {4}); };
}

template <class T>
nn::Sequential Converted(nn::Sequential net, T type)
{
   net->to(type);
   return net;
}

nn::Sequential Frozen(nn::Sequential net)
{
   for (auto &parameter : net->parameters())
      parameter.requires_grad_(false);
   return net;
}

std::vector<Mistake> Mistakes()
{
   const auto after = [](std::function<void(nn::Sequential)> change) {
      return [change] {
         auto net = nn::Sequential(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::Linear(8, 1));
         Model model(net, {4});
         change(net);
         model.Fit(Events(200), Options());
      };
   };
   const auto set = [](nn::Sequential net, const char *path, float value) {
      const torch::NoGradGuard noGradients;
      for (const auto &list : {net->named_parameters(), net->named_buffers()})
         if (const auto *tensor = list.find(path))
            const_cast<Tensor *>(tensor)->view(-1)[3].fill_(value);
   };
   return {
      {"no layer with weights", Of(nn::Sequential(nn::Flatten())), {"Sequential has no parameters to train", "torch::nn::Linear"}},
      {"a function without weights", Of([](Tensor x) { return x * 2; }), {"function has no parameters to train"}},
      {"nothing", Of(nn::Sequential()), {"Sequential throws for 6 events of shape [4]", "empty Sequential"}},
      {"frozen weights", Of(Frozen(Perceptron())), {"no parameter of Sequential requires a gradient", "requires_grad_()"}},
      {"detached", Of([](Tensor x) { return x.matmul(gWeights.detach()); }), {"function", "parameters"}},
      {"detached in a module", Of(nn::Sequential(nn::Linear(4, 1), nn::Functional([](Tensor x) { return x.detach(); }))), {"the outputs of Sequential have no derivatives", "detach()"}},
      {"an undefined tensor", Of([](Tensor) { return Tensor(); }), {"function returns an undefined tensor for 6 events", "[events, outputs]"}},
      {"whole numbers", Of([](Tensor x) { return x.matmul(gWeights).argmax(1); }), {"function returns a tensor of type Long"}},
      {"another shape", Of([](Tensor x) { return x.matmul(gWeights).t(); }), {"function returns a tensor of shape [1, 6] for 6 events"}},
      {"an exception", Of([](Tensor x) { throw std::runtime_error("mine"); return x; }), {"function throws for 6 events of shape [4]: mine"}},
      {"an exception of LibTorch", Of([](Tensor x) { return x.matmul(x); }), {"function throws for 6 events of shape [4]: mat1"}},
      {"something thrown", Of([](Tensor x) { throw 3; return x; }), {"function throws", "std::exception"}},
      {"one event by itself", Of([](Tensor x) { return x.matmul(gWeights) * (x.size(0) > 1 ? 2 : 1); }), {"function computes an event by itself differently"}},
      {"float64", Of(Converted(Perceptron(), torch::kFloat64)), {"parameter '0.weight' of Sequential is of type Double", "to(torch::kFloat32)"}},
      {"float16", Of(Converted(Perceptron(), torch::kHalf)), {"parameter '0.weight' of Sequential is of type Half"}},
      {"converted later", after([](nn::Sequential net) { net->to(torch::kFloat64); }), {"'0.weight' of Sequential was moved or converted", "Double"}},
      {"replaced", after([](nn::Sequential net) { net->parameters()[1].set_data(torch::zeros({8})); }), {"'0.bias' of Sequential was replaced (torch::load, set_data)", "make a new Model"}},
      {"a second model", after([](nn::Sequential net) { Model(net, {4}); }), {"another Model was made of the same Sequential", "a module of its own"}},
      {"frozen later", after([](nn::Sequential net) { net->parameters()[0].set_requires_grad(false); }), {"requires_grad of '0.weight' of Sequential was changed", "make a new Model"}},
      {"a hook later", after([](nn::Sequential net) { net->parameters()[0].register_hook([](Tensor t) { return t * 0; }); }), {"'0.weight' of Sequential has a hook on its gradient", "fGradient = kAutograd"}},
      {"a branch on the batch", Of([](Tensor x) { return x.matmul(gWeights) * (x.size(0) > 64 ? 2 : 1); }), {"function computes an event among 257 differently than among 6", "branched on the number of events"}},
      {"a branch on a large batch", [] { Model(nn::Sequential(nn::Linear(4, 1), nn::Functional([](Tensor x) { return x * (x.size(0) > 300 ? 2 : 1); })), {4}).Fit(Events(600), Options(400)); }, {"Sequential computes an event among 400 differently than among 6"}},
      {"a branch on a batch of long events", [] { Model(nn::Sequential(nn::Linear(600, 1), nn::Functional([](Tensor x) { return x * (x.size(0) > 150 ? 2 : 1); })), {600}); }, {"Sequential computes an event among 257 differently than among 6"}},
      {"noise in evaluation", Of(nn::Sequential(nn::Linear(4, 1), nn::Functional([](Tensor x) { return x * torch::rand({}); }))), {"Sequential draws random numbers (dropout) in evaluation, too", "is_training()"}},
      {"a parameter that is clamped", [] { Model(std::make_shared<Clamped>(), {4}); }, {"Clamped changes its parameter 'a.weight' by itself"}},
      {"NaN", after([=](nn::Sequential net) { set(net, "2.weight", NAN); }), {"element 3 of parameter '2.weight' is NaN before the fit", "finite numbers"}},
      {"infinity", after([=](nn::Sequential net) { set(net, "1.running_var", INFINITY); }), {"element 3 of running statistic '1.running_var' is inf before the fit"}},
   };
}

void CheckMistakes()
{
   for (const auto &[name, mistake, says] : Mistakes()) {
      std::string message;
      try {
         mistake();
      } catch (const CladTorch::Error &e) {
         message = e.what();
      }
      bool holds = !message.empty() && message.find('\n') == std::string::npos;
      for (const auto *part : says)
         holds = holds && message.find(part) != std::string::npos;
      if (!holds)
         std::printf("the message was: %s\n", message.empty() ? "none, nothing was thrown" : message.c_str());
      Check(holds, name, __FILE__, __LINE__);
   }
}

std::vector<std::string> gWarnings;

void Keep(int level, bool, const char *, const char *message)
{
   if (level == kWarning)
      gWarnings.push_back(message);
}

/// A network whose last operation the loss also does.
struct Ending {
   const char *fWarned; ///< the activation that is named; null: no warning
   std::function<nn::Sequential()> fNetwork;
   CladTorch::ELoss fLoss;
};

void CheckEndings()
{
   const auto cross = CladTorch::kBinaryCrossEntropy, classes = CladTorch::kSoftmaxCrossEntropy, mean = CladTorch::kMeanSquaredError;
   const auto squeezed = [] { return nn::Functional([](Tensor x) { return x.squeeze(-1); }); };
   for (const auto &[warned, network, loss] : std::vector<Ending>{
           {nullptr, [] { return nn::Sequential(nn::Linear(4, 1)); }, cross},
           {"Sigmoid", [] { return nn::Sequential(nn::Linear(4, 1), nn::Sigmoid()); }, cross},
           {"Sigmoid", [=] { return nn::Sequential(nn::Linear(4, 1), nn::Sigmoid(), squeezed()); }, cross},
           {nullptr, [] { return nn::Sequential(nn::Linear(4, 1), nn::Sigmoid()); }, mean},
           {nullptr, [] { return nn::Sequential(nn::Linear(4, 1), nn::ReLU()); }, mean},
           {"LogSigmoid", [] { return nn::Sequential(nn::Linear(4, 1), nn::LogSigmoid()); }, mean}, // of labels 0 and 1
           {"Hardtanh", [] { return nn::Sequential(nn::Linear(4, 1), nn::Hardtanh()); }, mean},     // its bounds are not known
           {nullptr, [] { return nn::Sequential(nn::Linear(4, 4), nn::Sigmoid(), nn::Linear(4, 1)); }, cross},
           {"Softmax", [] { return nn::Sequential(nn::Linear(4, 2), nn::Softmax(1)); }, classes},
           {nullptr, [] { return nn::Sequential(nn::Linear(4, 2), nn::LogSoftmax(1)); }, classes},
        }) {
      Model model(network(), {4});
      auto options = Options();
      options.fLoss = loss;
      gWarnings.clear();
      const auto before = SetErrorHandler(Keep);
      model.Fit(Events(300), options);
      SetErrorHandler(before);
      const auto expected = std::string("the network ends in ") + (warned ? warned : "");
      const auto count = std::count_if(gWarnings.begin(), gWarnings.end(), [&](const auto &text) { return text.find(expected) == 0; });
      CHECK(count == (warned ? 1 : 0));
   }
}

/// Networks of other programs that end in probabilities: Predict() recovers the logits, or cannot.
void CheckProbabilities()
{
   const auto halves = [] { return nn::Functional([](Tensor p) { return torch::cat({1 - p, p}, 1); }); };
   const auto mean = CladTorch::kMeanSquaredError, classes = CladTorch::kSoftmaxCrossEntropy;
   for (const auto &[says, network, loss] : std::vector<Ending>{
           {"the model predicts probabilities, and after a fit with", [] { return nn::Sequential(nn::Linear(4, 1), nn::Sigmoid()); }, mean},
           {"the network gives probabilities, but", [=] { return nn::Sequential(nn::Linear(4, 1), nn::Sigmoid(), halves()); }, classes},
           {nullptr, [] { return nn::Sequential(nn::Linear(4, 1), nn::Tanh()); }, mean}}) {
      auto options = Options();
      options.fLoss = mean; // what it computes is what it predicts
      Model made(network(), {4});
      made.SetOptions(options);
      made.ExportOnnx("ending.onnx");
      auto model = Model::LoadOnnx("ending.onnx");
      options.fLoss = loss;
      gWarnings.clear();
      const auto before = SetErrorHandler(Keep);
      model.Fit(Events(300), options);
      SetErrorHandler(before);
      const auto isSaid = [&, part = says](const auto &text) { return text.find(part ? part : "probabilities") != std::string::npos; };
      CHECK(std::any_of(gWarnings.begin(), gWarnings.end(), isSaid) == (says != nullptr));
   }
}

/// A hook that the module has when the model is made is called, by LibTorch; made-up events are float32 whatever the default type.
void CheckHooks()
{
   nn::Sequential net(nn::Linear(4, 1));
   net->parameters()[0].register_hook([](Tensor t) { return t * 0; });
   Model model(net, {4});
   const auto before = net->parameters()[0].detach().clone(), bias = net->parameters()[1].detach().clone();
   const auto history = model.Fit(Events(300), Options());
   CHECK(history.Description().find("the parameter '0.weight' has a hook on its gradient") != std::string::npos);
   CHECK(net->parameters()[0].equal(before) && !net->parameters()[1].equal(bias));

   nn::Sequential other(nn::Linear(4, 1));
   const auto hook = other->parameters()[0].register_hook([](Tensor t) { return t * 0; });
   other->parameters()[0].remove_hook(hook); // which leaves an empty place
   CHECK(Model(other, {4}).Fit(Events(300), Options()).Description().find("hook") == std::string::npos);
   torch::set_default_dtype(c10::scalarTypeToTypeMeta(torch::kDouble));
   CHECK(Model(other, {4}).Outputs() == 1);
   torch::set_default_dtype(c10::scalarTypeToTypeMeta(torch::kFloat));
}

/// LibTorch's own batch normalisation counts batches; so does that of a model.
void CheckCounts()
{
   nn::BatchNorm1d norm(4);
   const auto count = [&] { return norm->num_batches_tracked.item<std::int64_t>(); };
   norm->num_batches_tracked.fill_(5);
   Model model(nn::Sequential(norm, nn::Linear(4, 1)), {4});
   auto options = Options(50);
   options.fValidation = 0;
   CHECK(model.Fit(Events(230), options).Epochs() == 2); // 5 batches
   CHECK(count() == 5 + 2 * 5);
   auto copy = model;
   copy.Fit(Events(100), options);
   CHECK(count() == 15 + 2 * 2);
   model.Fit(Events(50), options);
   CHECK(count() == 15 + 2);
   norm->num_batches_tracked.zero_();
   model.Fit(Events(50), options);
   CHECK(count() == 2);
}

void model_messages()
{
   torch::manual_seed(1);
   gWeights = torch::randn({4, 1}, torch::requires_grad());
   CheckMistakes();
   CheckEndings();
   CheckProbabilities();
   CheckHooks();
   CheckCounts();
   Passed();
}
