/// \file torchscript.C
/// \brief Networks that PyTorch wrote (data/pytorch) as models: outputs, gradients and running statistics are
/// LibTorch's own, they are trained, saved and exported, and other files are refused.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>
#include "check.h"

#include <TInterpreter.h>
#include <TSystem.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::FloatView;
using CladTorch::Model;
using torch::Tensor;

const auto kFolder = std::string(gSystem->DirName(__FILE__)) + "/../../data/pytorch/";
constexpr int kRows = 24;
constexpr double kRate = 0.1;

/// A network, the shape of its events, and the stated reason if LibTorch runs it.
struct Case {
   std::string fName;
   std::vector<std::size_t> fShape;
   const char *fWhy = nullptr;
   bool fDraws = false; ///< in training
};

std::vector<Case> Cases()
{
   return {{"mlp", {3}},
           {"normalised", {4}, nullptr, true},
           {"window", {1, 32}},
           {"residual", {6}},
           {"attention", {7, 4}},
           {"image", {1, 6, 6}},
           {"recurrent", {5, 2}, "gru"},
           {"positions", {5, 3}, nullptr, true},
           {"frozen_start", {3}},
           {"traced", {4}},
           {"edges_by_rows", {3, 6}},
           {"edges_by_columns", {3, 6}},
           {"jets", {6, 4}},
           {"particle_net", {5, 8}},
           {"particle_transformer", {5, 6}}};
}

std::string Path(const std::string &name)
{
   return kFolder + name + ".pt";
}

Tensor Events(std::vector<std::int64_t> shape)
{
   torch::manual_seed(3);
   shape.insert(shape.begin(), kRows);
   return torch::randn(shape);
}

Tensor Events(const std::vector<std::size_t> &shape)
{
   return Events(std::vector<std::int64_t>(shape.begin(), shape.end()));
}

/// The contents of a file.
std::string Text(const std::string &path)
{
   std::stringstream text;
   text << std::ifstream(path, std::ios::binary).rdbuf();
   return text.str();
}

std::vector<float> Numbers(const Tensor &tensor)
{
   const auto plain = tensor.detach().contiguous();
   return {plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel()};
}

Dataset Data(const Tensor &x)
{
   const auto rows = static_cast<std::size_t>(x.size(0)), width = static_cast<std::size_t>(x.numel()) / rows;
   std::vector<float> labels(rows);
   for (std::size_t i = 0; i < rows; ++i)
      labels[i] = i % 2;
   Dataset data;
   return data.Column("x", width).Add(FloatView(Numbers(x)).Reshape(width), FloatView(labels));
}

/// The largest difference, in units of the largest number.
double Difference(const std::vector<float> &a, const std::vector<float> &b)
{
   if (a.size() != b.size())
      return 1e9;
   double largest = 0, scale = 1e-3;
   for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, double(std::abs(a[i] - b[i])));
      scale = std::max(scale, double(std::abs(b[i])));
   }
   return largest / scale;
}

/// One step of SGD on all events, without shuffling.
FitOptions OneStep()
{
   FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   options.fBatchSize = kRows;
   options.fValidation = 0;
   options.fShuffle = options.fStandardise = false;
   options.fOptimiser = CladTorch::kSGD;
   options.fMomentum = 0;
   options.fLearningRate = kRate;
   options.fSchedule = CladTorch::kConstant;
   return options;
}

/// The results of LibTorch's autograd for one step: all trained tensors and those that training changes.
std::vector<float> Stepped(torch::jit::Module &script, const Tensor &x)
{
   script.train();
   script.forward({x}).toTensor().square().sum(1).mean().backward();
   std::vector<float> all;
   for (auto parameter : script.parameters()) {
      if (!parameter.requires_grad())
         continue;
      const auto moved = Numbers(parameter - kRate * parameter.grad());
      all.insert(all.end(), moved.begin(), moved.end());
   }
   script.eval();
   return all;
}

std::vector<float> Parameters(const Model &model)
{
   return {model.Parameters().begin(), model.Parameters().end()};
}

/// LibTorch's derivatives [rows, outputs, inputs] of `forward` at `x`.
template <class F>
std::vector<float> Derivatives(F forward, const Tensor &x)
{
   const auto leaf = x.clone().requires_grad_();
   const Tensor outputs = forward(leaf);
   std::vector<Tensor> each;
   for (std::int64_t output = 0; output < outputs.size(1); ++output)
      each.push_back(torch::autograd::grad({outputs.select(1, output).sum()}, {leaf}, {}, true)[0].reshape({kRows, 1, -1}));
   return Numbers(torch::cat(each, 1));
}

/// In the units of the features and of the targets.
void gradients(Model model, torch::jit::Module &script, const Tensor &x)
{
   const auto data = Data(x);
   const auto forward = [&](const Tensor &given) { return script.forward({given}).toTensor(); };
   CHECK(Difference(model.Gradient(data), Derivatives(forward, x)) < 1e-5);
   const auto width = model.Inputs(), outputs = model.Outputs();
   model.SetScaler(std::vector<double>(width, 0.5), std::vector<double>(width, 4));
   model.SetTargetScaler(std::vector<double>(outputs, -1), std::vector<double>(outputs, 3));
   CHECK(Difference(model.Gradient(data), Derivatives([&](const Tensor &given) { return forward((given - 0.5) / 4) * 3 - 1; }, x)) < 1e-5);
}

/// The header computes the same as LibTorch, with the derivatives of its autograd.
void header(const Model &model, torch::jit::Module &script, const Tensor &x)
{
   static int number = 0;
   const auto name = "header_" + std::to_string(number++);
   model.ExportCpp(name + ".hxx", /*gradient=*/true);
   CHECK(gInterpreter->Declare(("#include \"" + name + ".hxx\"").c_str()));
   const auto call = "(Longptr_t)static_cast<void (*)(std::size_t, const float *, float *, float *)>(&" + name + "::gradient)";
   const auto gradient = reinterpret_cast<void (*)(std::size_t, const float *, float *, float *)>(gInterpreter->Calc(call.c_str()));
   std::vector<float> outputs(kRows * model.Outputs()), jacobian(outputs.size() * model.Inputs());
   gradient(kRows, Numbers(x).data(), outputs.data(), jacobian.data());
   const auto forward = [&](const Tensor &given) { return script.forward({given}).toTensor(); };
   CHECK(Difference(outputs, Numbers(forward(x))) < 1e-6);
   CHECK(Difference(jacobian, Derivatives(forward, x)) < 1e-6);
}

void computes(const Case &each)
{
   std::printf("---- %s\n", each.fName.c_str());
   auto model = Model::LoadTorchScript(Path(each.fName), each.fShape);
   auto script = torch::jit::load(Path(each.fName));
   script.eval();
   const auto x = Events(each.fShape);
   const auto data = Data(x);
   const auto expected = Numbers(script.forward({x}).toTensor());
   CHECK(Difference(model.Logits(data), expected) < 1e-5);
   const auto text = Printed(model);
   CHECK(text.find(each.fWhy ? "back end autograd (LibTorch)" : "back end aot") != std::string::npos);
   CHECK(!each.fWhy || text.find(each.fWhy) != std::string::npos);
   gradients(model, script, x);
   if (!each.fDraws) {
      const auto before = Parameters(model);
      model.Fit(data, OneStep(), [](Tensor z, Tensor) { return z.square().sum(1); });
      const auto stepped = Stepped(script, x);
      CHECK(Difference(before, stepped) > 1e-3);
      CHECK(Difference(Parameters(model), stepped) < 1e-5);
      std::size_t at = 0;
      const torch::NoGradGuard plain;
      for (auto parameter : script.parameters()) {
         if (!parameter.requires_grad())
            continue;
         parameter.copy_(torch::tensor(std::vector<float>(stepped.begin() + at, stepped.begin() + at + parameter.numel())).view_as(parameter));
         at += parameter.numel();
      }
      CHECK(Difference(model.Logits(data), Numbers(script.forward({x}).toTensor())) < 1e-4);
   }
   if (each.fWhy)
      return;
   model.Save(each.fName + ".ct");
   CHECK(Model::Load(each.fName + ".ct").Logits(data) == model.Logits(data));
   model.ExportOnnx(each.fName + ".onnx");
   header(model, script, x);
   model.ExportTorchScript(each.fName + "_again.pt");
   const auto width = static_cast<std::int64_t>(model.Inputs());
   CHECK(Difference(Numbers(torch::jit::load(each.fName + "_again.pt").forward({x.reshape({kRows, width})}).toTensor()), model.Logits(data)) < 1e-6);
   model.SaveWeights(each.fName + ".safetensors");
   auto again = Model::LoadTorchScript(Path(each.fName), each.fShape);
   again.LoadWeights(each.fName + ".safetensors");
   CHECK(again.Logits(data) == model.Logits(data));
}

/// A network that torch.export wrote computes the same as the same network in TorchScript, with the same parameters;
/// one that was exported in training mode predicts in evaluation mode, and trains.
void exported()
{
   const std::vector<Case> cases{{"normalised", {4}}, {"window", {1, 32}}, {"residual", {6}}, {"attention", {7, 4}}, {"positions", {5, 3}},
                                 {"jets", {6, 4}}, {"particle_net", {5, 8}}, {"particle_transformer", {5, 6}}, {"sized", {3, 3}}};
   for (const auto &[name, shape, why, draws] : cases) {
      std::printf("---- %s.pt2\n", name.c_str());
      auto model = Model::LoadTorchScript(kFolder + name + ".pt2", shape);
      const auto scripted = Model::LoadTorchScript(Path(name), shape);
      const auto data = Data(Events(shape));
      CHECK(Difference(model.Logits(data), scripted.Logits(data)) < 1e-6);
      CHECK(Difference(model.Gradient(data), scripted.Gradient(data)) < 1e-6);
      CHECK(Difference(Parameters(model), Parameters(scripted)) == 0);
      CHECK(Printed(model).find("back end aot") != std::string::npos);
      const auto before = Parameters(model);
      model.Fit(data, OneStep());
      CHECK(Difference(Parameters(model), before) > 1e-5);
      model.SaveWeights("exported.safetensors");
      CHECK(Text("exported.safetensors").find("shift") == std::string::npos); // a buffer with persistent=False
      auto other = Model::LoadTorchScript(Path(name), shape);
      other.LoadWeights("exported.safetensors");
      CHECK(Difference(model.Logits(data), other.Logits(data)) < 1e-6);
   }
}

/// Events have the same outputs and derivatives in batches of any size, and the derivatives equal differences in
/// float64.
void of_any_batch(const std::string &name, std::int64_t points)
{
   auto script = torch::jit::load(Path(name));
   const auto x = Events(std::vector<std::int64_t>{5, points});
   const auto expected = Numbers(script.forward({x}).toTensor());
   const auto features = 5 * points, outputs = static_cast<std::int64_t>(expected.size()) / kRows;
   script.to(torch::kFloat64);
   const auto forward = [&](const Tensor &given) { return script.forward({given.reshape({kRows, 5, points})}).toTensor(); };
   const auto flat = x.to(torch::kFloat64).reshape({kRows, features});
   std::vector<Tensor> slopes;
   for (int feature = 0; feature < features; ++feature) {
      auto step = torch::zeros({features}, torch::kFloat64);
      step[feature] = 1e-6;
      slopes.push_back((forward(flat + step) - forward(flat - step)) / 2e-6);
   }
   const auto jacobian = Numbers(torch::stack(slopes, 2).to(torch::kFloat32));
   for (const auto *kind : {".pt", ".pt2"}) {
      const auto model = Model::LoadTorchScript(kFolder + name + kind, {5, static_cast<std::size_t>(points)});
      for (const int rows : {1, 2, 7, kRows}) {
         const auto data = Data(x.narrow(0, 0, rows));
         CHECK(Difference(model.Logits(data), {expected.begin(), expected.begin() + outputs * rows}) < 1e-5);
         CHECK(Difference(model.Gradient(data), {jacobian.begin(), jacobian.begin() + outputs * features * rows}) < 1e-4);
      }
   }
}

void several_inputs()
{
   const auto model = Model::LoadTorchScript(Path("deep_set"), {{5, 3}, {5, 1}});
   auto script = torch::jit::load(Path("deep_set"));
   const auto x = Events(std::vector<std::int64_t>{20});
   const auto parts = script.forward({x.narrow(1, 0, 15).reshape({kRows, 5, 3}), x.narrow(1, 15, 5).reshape({kRows, 5, 1})});
   CHECK(Difference(model.Logits(Data(x)), Numbers(parts.toTensor())) < 1e-5);
   CHECK(model.Outputs() == 2);
}

/// Dropout draws in training and not in a prediction, statistics and the count of batches change, and a frozen layer stays.
void modes()
{
   const auto x = Events(std::vector<std::int64_t>{4});
   const auto data = Data(x);
   auto model = Model::LoadTorchScript(Path("normalised"), {4});
   CHECK(model.Logits(data) == model.Logits(data));
   model.SaveWeights("before.safetensors");
   const auto before = Parameters(model);
   FitOptions options = OneStep();
   options.fBatchSize = 8;
   options.fLoss = CladTorch::kSoftmaxCrossEntropy;
   model.Fit(data, options);
   CHECK(Difference(Parameters(model), before) > 1e-3);
   model.SaveWeights("after.safetensors");
   auto statistics = Model::LoadTorchScript(Path("normalised"), {4});
   statistics.LoadWeights("after.safetensors");
   statistics.SetParameters(before);
   auto untouched = Model::LoadTorchScript(Path("normalised"), {4});
   CHECK(statistics.Logits(data) != untouched.Logits(data));

   auto sigmoid = Model::LoadTorchScript(Path("frozen_start"), {3});
   const auto y = Data(Events(std::vector<std::int64_t>{3}));
   CHECK(sigmoid.Predict(y) == sigmoid.Logits(y));
   CHECK(sigmoid.Parameters().Size() == 9);        // its first layer does not train
   auto logits = Model::LoadTorchScript(Path("mlp"), {3});
   CHECK(logits.Predict(y) == logits.Logits(y));
   FitOptions classifier;
   classifier.fLoss = CladTorch::kBinaryCrossEntropy;
   logits.SetOptions(classifier);
   for (std::size_t i = 0; i < y.Rows(); ++i)
      CHECK(Near(logits.Predict(y)[i], 1 / (1 + std::exp(-logits.Logits(y)[i])), 1e-6));
}

/// torch.save(net.state_dict()) and a checkpoint.
void weights()
{
   const auto data = Data(Events(std::vector<std::int64_t>{4}));
   const auto expected = Model::LoadTorchScript(Path("normalised"), {4}).Logits(data);
   for (const std::string file : {"normalised_weights.pt", "checkpoint.ckpt"}) {
      auto model = Model::LoadTorchScript(Path("normalised"), {4});
      model.SetParameters(std::vector<float>(model.Parameters().Size(), 0.5f));
      CHECK(model.Logits(data) != expected);
      model.LoadWeights(kFolder + file);
      CHECK(model.Logits(data) == expected);
   }
   auto other = Model::LoadTorchScript(Path("mlp"), {3});
   Refuses("weights of another network", [&] { other.LoadWeights(kFolder + "normalised_weights.pt"); },
           {"normalised_weights.pt", "tensor 0.weight is [12, 4] instead of [8, 3]"});
   Refuses("a network instead of weights", [&] { other.LoadWeights(Path("mlp")); }, {"mlp.pt", "LoadTorchScript"});
}

void Write(const std::string &path, const std::string &text)
{
   std::ofstream(path, std::ios::binary) << text;
}

std::string Contents(const std::string &path)
{
   std::ostringstream text;
   text << std::ifstream(path, std::ios::binary).rdbuf();
   return text.str();
}

/// A network of this source text, saved by LibTorch.
std::string Script(const std::string &name, const std::string &source)
{
   torch::jit::Module script(name);
   script.register_parameter("w", torch::ones({3, 1}, torch::requires_grad()), false);
   script.define(source);
   script.save(name + ".pt");
   return name + ".pt";
}

/// Rows [N P, 2] of points [N, 2, P], taken by `indices` [N, P], and a layer after them.
std::string Taken(const std::string &name, const std::string &indices)
{
   return Script(name, "def forward(self, x):\n"
                       "  n, p = x.size(0), x.size(2)\n"
                       "  nearest = torch.argsort(x[:, 0], 1)\n"
                       "  flat = (" + indices + ").reshape([-1])\n"
                       "  return x.transpose(1, 2).reshape([n * p, 2])[flat].reshape([n, p, 2]).tanh()[:, :, 0] @ self.w\n");
}

/// Indices that count through the batch belong to one event only if each event begins at its own points.
void indices_of_batches()
{
   const auto x = Events(std::vector<std::int64_t>{2, 3});
   const auto back = [&](const std::string &path, const char *said) {
      const auto model = Model::LoadTorchScript(path, {2, 3});
      CHECK(Difference(model.Logits(Data(x)), Numbers(torch::jit::load(path).forward({x}).toTensor())) < 1e-6);
      CHECK(Printed(model).find(said) != std::string::npos);
   };
   const std::string column = "torch.arange(n).reshape([n, 1])";
   back(Taken("Own", "nearest + " + column + " * p"), "back end aot");
   back(Taken("Constant", column + " * 3 + nearest"), "back end aot");
   back(Taken("Limits", "nearest + (torch.arange(0, n) * p).unsqueeze(1)"), "back end aot");
   // Each of them takes the same rows as the first one, which nothing here shows.
   back(Taken("Steps", "nearest + torch.arange(0, n * p, 3).unsqueeze(1)"), "follows the number of rows");
   back(Taken("Later", "nearest - 3 + (" + column + " + 1) * p"), "follows the number of rows");
   back(Taken("Twice", "nearest + torch.add(" + column + " * 0, " + column + ", alpha=3)"), "follows the number of rows");
   const auto mixes = [&](const std::string &path) {
      Refuses(path.c_str(), [&] { Model::LoadTorchScript(path, {2, 3}); }, {path.c_str(), "from other events"});
   };
   mixes(Taken("Smaller", "nearest + " + column + " * (p - 1)"));
   mixes(Taken("Nothing", "nearest + " + column + " * 0"));
   mixes(Taken("Beside", "(nearest + " + column + " * p + 1).clamp(max=n * p - 1)"));
}

void refusals()
{
   const auto refuses = [](const std::string &path, std::initializer_list<const char *> parts) {
      Refuses(path.c_str(), [&] { Model::LoadTorchScript(path, {3}); }, parts);
   };
   const auto whole = Contents(Path("mlp"));
   refuses("none.pt", {"none.pt"});
   Write("text.pt", "no network at all, but a text that is longer than the end of an archive");
   refuses("text.pt", {"text.pt", "no zip archive of PyTorch"});
   Write("cut.pt", whole.substr(0, whole.size() / 2));
   refuses("cut.pt", {"cut.pt", "was cut"});
   auto changed = whole;
   changed[changed.find("torch.nn.modules.container")] = 'x';
   Write("changed.pt", changed);
   refuses("changed.pt", {"changed.pt", "has other bytes"});
   refuses(kFolder + "normalised_weights.pt", {"normalised_weights.pt", "torch.jit.script"});
   refuses(Path("normalised"), {"normalised.pt", "Sequential throws for 6 events of shape [3]"});
   Refuses("another shape", [] { Model::LoadTorchScript(Path("window"), {1, 31, 2}); }, {"window.pt", "throws for"});
   refuses(Script("Files", "def forward(self, x):\n  return x @ self.w + torch.from_file('secret', False, 1)\n"),
           {"Files.pt", "calls aten::from_file"});
   refuses(Script("Prints", "def forward(self, x):\n  print('hello')\n  return x @ self.w\n"), {"Prints.pt", "calls prim::Print"});
   refuses(Script("Other", "def other(self, x):\n  return x @ self.w\n"), {"Other.pt", "Other has no method forward"});
   refuses(Script("Words", "def forward(self, x):\n  return 'a word'\n"), {"Words.pt", "returns a value of type String"});
   refuses(Script("Pair", "def forward(self, x):\n  y = x @ self.w\n  return y, y\n"), {"Pair.pt", "returns 2 tensors"});
   refuses(Script("Raises", "def forward(self, x):\n  assert x.size(0) == 0, 'too many'\n  return x @ self.w\n"),
           {"Raises.pt", "too many"});
   const auto divides = [&](const std::string &name, const std::string &number, const char *said) {
      const std::string numbers = "  zero = x.size(1) - 3\n  lowest = -9223372036854775807 - 1\n";
      refuses(Script(name, "def forward(self, x):\n" + numbers + "  return x @ self.w * float(" + number + ")\n"), {name.c_str(), said});
   };
   divides("Remainder", "5 % zero", "divides the whole number 5 by 0");
   divides("Quotient", "lowest // (zero - 1)", "divides the whole number -9223372036854775808 by -1");
   divides("Both", "divmod(lowest, zero - 1)[1]", "divides the whole number -9223372036854775808 by -1");
   divides("Divisor", "torch.gcd(zero - 1, lowest)", "divides the whole number");
   Model::LoadTorchScript(Script("Divides", "def forward(self, x):\n  return x @ self.w * float(7 % x.size(1) + 7 // x.size(1))\n"), {3});
   refuses(Script("Mixes", "def forward(self, x):\n  return (x - x.mean(0)) @ self.w\n"), {"Mixes.pt", "mixes the events of a batch"});
   refuses(Script("Allocates", "def forward(self, x):\n  return x @ self.w + torch.zeros([1 << 60]).sum()\n"), {"Allocates.pt"});
   torch::jit::Module wide("Wide");
   wide.register_parameter("w", torch::ones({3, 1}, torch::kFloat64), false);
   wide.define("def forward(self, x):\n  return x.double() @ self.w\n");
   wide.save("Wide.pt");
   refuses("Wide.pt", {"Wide.pt", "parameter 'w'", "float"});
   torch::jit::Module bare("Bare");
   bare.define("def forward(self, x):\n  return x.sum(1)\n");
   bare.save("Bare.pt");
   refuses("Bare.pt", {"Bare.pt", "no parameters to train"});
   CHECK(gSystem->AccessPathName("secret")); // no such file
}

void torchscript()
{
   for (const auto &each : Cases())
      computes(each);
   exported();
   of_any_batch("particle_net", 8);
   of_any_batch("particle_transformer", 6);
   indices_of_batches();
   several_inputs();
   modes();
   weights();
   refusals();
   Passed();
}
