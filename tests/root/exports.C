/// \file exports.C
/// \brief Models for other programs: the header is compiled at the prompt and predicts alike, weights come back under the names of
/// torch::nn, and what cannot leave or come in is refused.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TInterpreter.h>
#include <TRandom3.h>
#include <TROOT.h>

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

/// Everything that leaves the model, and its weights into `empty`.
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

/// The names of the file are those of torch::nn, whose tensors have the new numbers.
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
   auto convolution = nn::Sequential(nn::Unflatten(nn::UnflattenOptions(1, {1, 3, 1})), nn::Conv2d(1, 2, 1), nn::Flatten(), nn::Linear(6, 1));
   Model libtorch(convolution, {3});
   Refuses("a header of what LibTorch runs", [&] { libtorch.ExportCpp("l.hxx"); }, {"LibTorch runs"});
   Refuses("a graph of what LibTorch runs", [&] { libtorch.ExportOnnx("l.onnx"); }, {"LibTorch runs"});
   libtorch.SaveWeights("l.safetensors");
   const auto there = std::vector<float>(libtorch.Parameters().begin(), libtorch.Parameters().end());
   libtorch.SetParameters(std::vector<float>(there.size(), 0.5f));
   libtorch.LoadWeights("l.safetensors");
   CHECK(std::vector<float>(libtorch.Parameters().begin(), libtorch.Parameters().end()) == there);
   auto table = torch::ones({3, 1}, torch::requires_grad());
   Model function([table](const torch::Tensor &x) { return std::get<0>(torch::sort(x, 1)).matmul(table); }, {3});
   Refuses("weights without names", [&] { function.SaveWeights("l.safetensors"); }, {"not known by name"});
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
   mlps();
   modules();
   refusals();
   Passed();
}
