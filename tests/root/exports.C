/// \file exports.C
/// \brief Models for other programs: the header is compiled at the prompt and predicts the same, weights come back
/// under the names of torch::nn, and models and files that do not qualify are refused.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TInterpreter.h>
#include <TRandom3.h>
#include <TROOT.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using CladTorch::Dataset;
using CladTorch::Mlp;
using CladTorch::Model;
namespace nn = torch::nn;

const std::vector<std::string> kColumns{"a", "b", "c"};

Dataset Events(const std::string &label)
{
   auto frame = ROOT::RDataFrame(600)
                   .Define("a", [](ULong64_t entry) { return TRandom3(entry + 1).Gaus(); }, {"rdfentry_"})
                   .Define("b", [](ULong64_t entry) { return TRandom3(entry + 1001).Uniform(-2, 5); }, {"rdfentry_"})
                   .Define("c", "a * b + 3")
                   .Define("sign", "int(c > 3)")
                   .Define("class", "a > 0.5 ? 2 : int(b > 1)")
                   .Define("energy", "100 + 30 * c");
   return Dataset(kColumns).Add(frame, label);
}

CladTorch::FitOptions Options(CladTorch::ELoss loss = CladTorch::kAuto)
{
   CladTorch::FitOptions options;
   options.fEpochs = 2;
   options.fVerbose = 0;
   options.fLoss = loss;
   return options;
}

std::string Contents(const std::string &path)
{
   std::ostringstream text;
   text << std::ifstream(path, std::ios::binary).rdbuf();
   return text.str();
}

/// The largest difference of what the header's `predict` gives from `expected`, in units of the largest number.
double Difference(const std::string &name, const Dataset &data, const std::vector<float> &expected)
{
   gInterpreter->Declare(("#include \"" + name + ".hxx\"").c_str());
   const auto x = data.Features();
   std::vector<float> features(x.begin(), x.end()), found(expected.size());
   std::ostringstream call;
   call << name << "::predict(" << data.Rows() << ", (const float *)" << features.data() << ", (float *)" << found.data() << ");";
   gROOT->ProcessLine(call.str().c_str());
   double largest = 0, scale = 1;
   for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, double(std::abs(found[i] - expected[i])));
      scale = std::max(scale, double(std::abs(expected[i])));
   }
   return largest / scale;
}

/// The largest difference of what a network of PyTorch gives from `expected`, in units of the largest number.
double Difference(torch::jit::Module &script, const Dataset &data, const std::vector<float> &expected)
{
   const auto x = data.Features();
   std::vector<float> features(x.begin(), x.end());
   const auto rows = static_cast<std::int64_t>(data.Rows());
   const auto found = script.forward({torch::tensor(features).view({rows, -1})}).toTensor().detach().flatten();
   const auto wanted = torch::tensor(expected);
   return ((found - wanted).abs().max() / wanted.abs().max().clamp_min(1)).item<double>();
}

/// A network that LibTorch loads, alone and as a model, and whose parameters train.
template <class M>
void BecomesPyTorchs(const M &model, const Dataset &data, const std::string &name, const std::vector<std::string> &parameters)
{
   const auto expected = model.Predict(data);
   model.ExportTorchScript(name + ".pt");
   auto script = torch::jit::load(name + ".pt");
   CHECK(Difference(script, data, expected) < 1e-6);
   std::vector<std::string> names;
   for (const auto &parameter : script.named_parameters()) {
      names.push_back(parameter.name);
      CHECK(parameter.value.requires_grad());
   }
   std::sort(names.begin(), names.end());
   CHECK(names == parameters);
   script.forward({torch::ones({4, static_cast<std::int64_t>(model.Inputs())})}).toTensor().sum().backward();
   for (auto parameter : script.parameters())
      CHECK(parameter.grad().defined());
   const auto again = Model::LoadTorchScript(name + ".pt", {model.Inputs()}).Predict(data);
   for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(Near(again[i], expected[i], 1e-5 * std::max(1.f, std::abs(expected[i]))));
}

/// All exports of the model, and its weights into `empty`.
template <class M>
void Leaves(const M &model, M empty, const Dataset &data, const std::string &name)
{
   const auto expected = model.Predict(data);
   model.ExportCpp(name + ".hxx");
   CHECK(Difference(name, data, expected) < 1e-6);
   model.ExportOnnx(name + ".onnx");
   const auto onnx = Contents(name + ".onnx");
   for (const auto &column : model.Columns())
      CHECK(onnx.find('"' + column + '"') != std::string::npos);
   model.SaveWeights(name + ".safetensors");
   CHECK(Contents(name + ".safetensors").find("cladtorch.weights") != std::string::npos);
   empty.LoadWeights(name + ".safetensors");
   CHECK(empty.Predict(data) == expected);
   CHECK(empty.Columns() == model.Columns());
   CHECK(empty.Scaler().fMean == model.Scaler().fMean);
   Refuses("folds of what a file knows", [&] { empty.CrossValidate(data, 2); }, {"comes from a file"});
}

void mlps()
{
   const auto binary = Events("sign"), classes = Events("class"), values = Events("energy");
   Mlp classifier({3, 20, 1}, CladTorch::kSiLU);
   classifier.Fit(binary, Options());
   Leaves(classifier, Mlp({3, 20, 1}, CladTorch::kSiLU), binary, "classifier");
   Mlp several({3, 9, 3}, CladTorch::kTanh);
   several.Fit(classes, Options());
   Leaves(several, Mlp({3, 9, 3}, CladTorch::kTanh), classes, "several");
   Mlp regression({3, 16, 16, 1}, CladTorch::kGELU);
   regression.Fit(values, Options(CladTorch::kMeanSquaredError));
   Leaves(regression, Mlp({3, 16, 16, 1}, CladTorch::kGELU), values, "regression");
   CladTorch::MlpOptions more;
   more.fNormalisation = CladTorch::kBatchNorm;
   more.fDropout = 0.1;
   Mlp normalised({3, 16, 1}, more);
   normalised.Fit(binary, Options());
   Leaves(normalised, Mlp({3, 16, 1}, more), binary, "normalised");
}

/// Networks of PyTorch, of each kind of prediction.
void networks()
{
   const auto binary = Events("sign"), values = Events("energy");
   const std::vector<std::string> layers{"layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight"};
   for (const auto activation : {CladTorch::kReLU, CladTorch::kLeakyReLU, CladTorch::kGELU, CladTorch::kSoftplus}) {
      Mlp classifier({3, 9, 1}, activation);
      classifier.Fit(binary, Options());
      BecomesPyTorchs(classifier, binary, "script_classifier", layers);
   }
   Mlp classes({3, 9, 3}, CladTorch::kTanh);
   classes.Fit(Events("class"), Options());
   BecomesPyTorchs(classes, binary, "script_classes", layers);
   Mlp regression({3, 9, 1}, CladTorch::kSigmoid);
   regression.Fit(values, Options(CladTorch::kMeanSquaredError));
   BecomesPyTorchs(regression, values, "script_regression", layers);
   Mlp gaussian({3, 9, 2}, CladTorch::kSiLU);
   gaussian.Fit(values, Options(CladTorch::kGaussian));
   BecomesPyTorchs(gaussian, values, "script_gaussian", layers);
   auto net = nn::Sequential(nn::Unflatten(nn::UnflattenOptions(1, {1, 3})), nn::Conv1d(1, 4, 2), nn::BatchNorm1d(4), nn::GELU(),
                             nn::Dropout(0.1), nn::Flatten(), nn::Linear(8, 1));
   Model module(net, {3});
   module.Fit(binary, Options());
   BecomesPyTorchs(module, binary, "script_module", {"1.bias", "1.weight", "2.bias", "2.weight", "6.bias", "6.weight"});
   const auto buffers = torch::jit::load("script_module.pt").named_buffers();
   std::vector<std::string> names;
   for (const auto &buffer : buffers)
      names.push_back(buffer.name);
   for (const std::string name : {"2.running_mean", "2.running_var", "2.num_batches_tracked"})
      CHECK(std::find(names.begin(), names.end(), name) != names.end());
   Mlp own({3, 9, 1}, CladTorch::kReLU);
   own.Fit(binary, Options());
   own.ExportOnnx("before.onnx");
   BecomesPyTorchs(Model::LoadOnnx("before.onnx"), binary, "script_onnx", {"layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight"});
}

/// The names in the file are those of torch::nn, whose tensors get the new values.
void modules()
{
   const auto data = Events("sign");
   auto make = [] { return nn::Sequential(nn::Linear(3, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 1)); };
   auto net = make(), other = make();
   Model model(net, {3}), empty(other, {3});
   model.Fit(data, Options());
   Leaves(model, empty, data, "sequential");
   const auto text = Contents("sequential.safetensors");
   for (const auto &named : net->named_parameters())
      CHECK(text.find('"' + named.key() + '"') != std::string::npos);
   for (const auto &named : net->named_buffers())
      CHECK(text.find('"' + named.key() + '"') != std::string::npos);
   empty.LoadWeights("sequential.safetensors");
   CHECK(torch::equal(net->named_parameters()["3.weight"], other->named_parameters()["3.weight"]));
   CHECK(torch::equal(net->named_buffers()["1.running_var"], other->named_buffers()["1.running_var"]));
}

/// A header and an ONNX file give NaN for a category that the network does not know, which Predict refuses.
void categories()
{
   auto table = torch::ones({5, 1}, torch::requires_grad());
   Model model([table](const torch::Tensor &x) { return table.index_select(0, x.select(1, 0).to(torch::kLong)); }, {1});
   Dataset data({"c"});
   data.Add(ROOT::RDataFrame(50).Define("c", "rdfentry_ % 5"), "c");
   model.Fit(data, Options(CladTorch::kMeanSquaredError));
   model.ExportCpp("category.hxx");
   CHECK(Difference("category", data, model.Predict(data)) < 1e-6);
   const std::vector<float> unknown{5, -1, 1e9f, 1e20f, std::nanf("")};
   std::vector<float> found(unknown.size());
   std::ostringstream call;
   call << "category::predict(" << unknown.size() << ", (const float *)" << unknown.data() << ", (float *)" << found.data() << ");";
   gROOT->ProcessLine(call.str().c_str());
   for (const float value : found)
      CHECK(std::isnan(value));

   model.ExportTorchScript("category.pt");
   auto script = torch::jit::load("category.pt");
   CHECK(Difference(script, data, model.Predict(data)) < 1e-6);

   model.ExportOnnx("category.onnx");
   const auto read = Model::LoadOnnx("category.onnx");
   const auto expected = model.Predict(data), again = read.Predict(data);
   CHECK(std::equal(expected.begin(), expected.end(), again.begin(), again.end(),
                    [](float a, float b) { return Near(a, b, 1e-6 * (1 + std::fabs(a))); }));
   Dataset others({"c"});
   others.Add(ROOT::RDataFrame(3).Define("c", "rdfentry_ == 0 ? 5. : rdfentry_ == 1 ? -1. : 1e9"), 0);
   for (const float value : read.Predict(others))
      CHECK(std::isnan(value));
}

void refusals()
{
   Mlp model({3, 20, 1}, CladTorch::kSiLU);
   const auto before = std::vector<float>(model.Parameters().begin(), model.Parameters().end());
   Refuses("weights of other layers", [&] { model.LoadWeights("regression.safetensors"); },
           {"regression.safetensors", "tensor layers.0.weight is [16, 3] instead of [20, 3]"});
   Refuses("weights of a module", [&] { model.LoadWeights("sequential.safetensors"); }, {"layers.0.weight is missing: it has "});
   Refuses("no file", [&] { model.LoadWeights("none.safetensors"); }, {"none.safetensors"});
   std::ofstream("text.safetensors") << "no tensors at all";
   Refuses("a text", [&] { model.LoadWeights("text.safetensors"); }, {"text.safetensors"});
   model.Save("model.ct");
   Refuses("a model", [&] { model.LoadWeights("model.ct"); }, {"CladTorch::Model::Load reads a model"});
   Refuses("weights as a model", [&] { Mlp::Load("classifier.safetensors"); }, {"LoadWeights"});
   CHECK(std::vector<float>(model.Parameters().begin(), model.Parameters().end()) == before);
   auto convolution = nn::Sequential(nn::Unflatten(nn::UnflattenOptions(1, {1, 3, 1})), nn::ConvTranspose2d(nn::ConvTranspose2dOptions(1, 2, {2, 1})), nn::Flatten(), nn::Linear(8, 1));
   Model libtorch(convolution, {3});
   Refuses("a header of what LibTorch runs", [&] { libtorch.ExportCpp("l.hxx"); }, {"LibTorch runs"});
   Refuses("a graph of what LibTorch runs", [&] { libtorch.ExportOnnx("l.onnx"); }, {"LibTorch runs"});
   Refuses("a network of PyTorch of what LibTorch runs", [&] { libtorch.ExportTorchScript("l.pt"); }, {"LibTorch runs"});
   libtorch.SaveWeights("l.safetensors");
   const auto there = std::vector<float>(libtorch.Parameters().begin(), libtorch.Parameters().end());
   libtorch.SetParameters(std::vector<float>(there.size(), 0.5f));
   libtorch.LoadWeights("l.safetensors");
   CHECK(std::vector<float>(libtorch.Parameters().begin(), libtorch.Parameters().end()) == there);
   auto table = torch::ones({3, 1}, torch::requires_grad());
   Model function([table](const torch::Tensor &x) { return x.cumsum(1).matmul(table); }, {3});
   Refuses("weights without names", [&] { function.SaveWeights("l.safetensors"); }, {"not known by name"});
   Refuses("a network of PyTorch at a folder", [&] { model.ExportTorchScript("."); }, {"."});
   Refuses("a device", [&] { model.ExportCpp("/dev/null"); }, {"/dev/null"});
   Refuses("a folder", [&] { model.ExportOnnx("."); }, {"."});
   // Expressions are code: those that came with a file do not run.
   Mlp expressive({1, 1});
   expressive.SetColumns({"2 * a"});
   expressive.SaveWeights("code.safetensors");
   Mlp reader({1, 1});
   reader.LoadWeights("code.safetensors");
   auto frame = ROOT::RDataFrame(2).Define("a", "1.f");
   Refuses("an expression from a file", [&] { reader.Define(frame, "score"); }, {"2 * a"});
}

void exports()
{
   torch::manual_seed(1);
   mlps();
   networks();
   modules();
   categories();
   refusals();
   Passed();
}
