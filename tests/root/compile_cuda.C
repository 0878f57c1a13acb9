/// \file compile_cuda.C
/// \brief Compiled functions of tensors on a GPU against LibTorch alone, there. Without a GPU the same list runs on the
/// CPU.
///
/// It continues after a failure, prints one line for each, and ends with their number and the back ends that ran.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <map>
#include <thread>

using torch::Tensor;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors &)>;
namespace nn = torch::nn;

torch::Device gDevice(torch::kCPU);
std::atomic<int> gChecks{0}, gFailures{0};
std::map<std::string, int> gBackEnds;

bool OnGpu()
{
   return !gDevice.is_cpu();
}

void Expect(bool holds, const std::string &what)
{
   ++gChecks;
   if (holds)
      return;
   ++gFailures;
   std::printf("FAILED %s\n", what.c_str());
   std::fflush(stdout);
}

/// Runs one group of checks; an exception is a failure.
template <class F>
void Group(const std::string &name, F body)
{
   try {
      CladTorch::Internal::TorchGuard("test", body);
   } catch (const std::exception &e) {
      Expect(false, name + " throws: " + e.what());
   }
}

torch::TensorOptions There(torch::ScalarType type)
{
   return torch::dtype(type).device(gDevice);
}

/// Why two tensors differ; "" if they do not.
std::string Difference(const Tensor &found, const Tensor &wanted)
{
   if (!found.defined() || !wanted.defined())
      return found.defined() == wanted.defined() ? "" : "one of them is undefined";
   if (found.device() != wanted.device())
      return "it is on " + found.device().str();
   if (found.scalar_type() != wanted.scalar_type() || found.sizes() != wanted.sizes())
      return std::string("it is ") + c10::toString(found.scalar_type()) + " of shape " + c10::str(found.sizes());
   const bool isDouble = wanted.scalar_type() == torch::kFloat64;
   const auto a = found.detach().to(torch::kCPU, torch::kFloat64), b = wanted.detach().to(torch::kCPU, torch::kFloat64);
   if (torch::allclose(a, b, isDouble ? 1e-9 : 2e-4, isDouble ? 1e-10 : 2e-5, true))
      return "";
   return "the greatest difference is " + std::to_string((a - b).abs().max().item<double>()) + " of " +
          std::to_string(b.abs().max().item<double>());
}

void ExpectSame(const Tensor &found, const Tensor &wanted, const std::string &what)
{
   const auto difference = Difference(found, wanted);
   Expect(difference.empty(), what + ": " + difference);
}

bool IsFloating(const Tensor &tensor)
{
   return tensor.is_floating_point();
}

/// The same values in the same layout, with a gradient if they can have one.
Tensors Leaves(const Tensors &inputs)
{
   Tensors leaves;
   for (const auto &input : inputs)
      leaves.push_back(input.detach().requires_grad_(IsFloating(input)));
   return leaves;
}

/// Outputs, then gradients by inputs and captured tensors of the sum of `seeds` times outputs.
Tensors Results(const Function &function, const Tensors &inputs, const Tensors &captured)
{
   const auto leaves = Leaves(inputs);
   auto outputs = function(leaves);
   Tensors wanted, seen, given;
   for (const auto &leaf : leaves)
      if (leaf.requires_grad())
         wanted.push_back(leaf);
   wanted.insert(wanted.end(), captured.begin(), captured.end());
   for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].requires_grad()) {
         seen.push_back(outputs[i]);
         const auto value = outputs[i].detach();
         given.push_back((value / (1 + value.abs())).cos()); // of the size of 1
      }
   Tensors results;
   for (const auto &output : outputs)
      results.push_back(output.detach());
   if (!seen.empty())
      for (const auto &gradient : torch::autograd::grad(seen, wanted, given, false, false, true))
         results.push_back(gradient);
   return results;
}

void ExpectAllSame(const Tensors &found, const Tensors &wanted, const std::string &what)
{
   Expect(found.size() == wanted.size(), what + ": " + std::to_string(found.size()) + " results");
   for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i)
      ExpectSame(found[i], wanted[i], what + ", result " + std::to_string(i));
}

/// Backward() of the object: twice, for the same gradients.
void CheckBackward(const std::string &name, const CladTorch::Compiled &compiled, const Function &function, const Tensors &inputs)
{
   const auto outputs = compiled.ForwardAll(inputs);
   Tensors seeds;
   for (const auto &output : outputs)
      seeds.push_back((output / (1 + output.abs())).cos());
   const auto first = compiled.Backward(seeds), second = compiled.Backward(seeds);
   const auto wanted = Results(function, inputs, {});
   std::size_t next = outputs.size();
   for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!IsFloating(inputs[i]))
         continue;
      const auto what = name + ", Backward() by input " + std::to_string(i);
      const auto expected = next < wanted.size() && wanted[next].defined() ? wanted[next] : torch::zeros_like(inputs[i]);
      ++next;
      ExpectSame(first[i], expected, what);
      Expect(torch::equal(first[i].nan_to_num(), second[i].nan_to_num()), what + " differs from call to call");
      Expect(first[i].is_contiguous(), what + " is not contiguous");
   }
}

/// Kernels that run `function` as a whole have this name.
const char *Whole()
{
   return OnGpu() ? "cuda" : "aot";
}

/// `backEnd`: "" for kernels as a whole.
void Compare(const std::string &name, const Function &function, const Tensors &inputs, const std::string &backEnd = "",
             const Tensors &captured = {})
{
   Group(name, [&] {
      const auto compiled = CladTorch::Compile([function](const Tensors &given) { return function(given); }, inputs);
      const auto ran = compiled.BackEnd();
      ++gBackEnds[ran];
      const auto expected = backEnd.empty() ? Whole() : backEnd;
      Expect(ran == expected, name + " runs on " + ran + " and not " + expected + ": " + compiled.Reason());
      const Function call = [&](const Tensors &given) { return compiled.CallAll(given); };
      ExpectAllSame(Results(call, inputs, captured), Results(function, inputs, captured), name);
      Tensors others;
      for (const auto &input : inputs)
         others.push_back(IsFloating(input) ? input * 0.5 + 0.1 : input);
      ExpectAllSame(Results(call, others, captured), Results(function, others, captured), name + ", other numbers");
      CheckBackward(name, compiled, function, inputs);
   });
}

/// A function of one tensor.
Function One(std::function<Tensor(const Tensor &)> function)
{
   return [function](const Tensors &given) { return Tensors{function(given[0])}; };
}

Function Two(std::function<Tensor(const Tensor &, const Tensor &)> function)
{
   return [function](const Tensors &given) { return Tensors{function(given[0], given[1])}; };
}

void Operators(torch::ScalarType type)
{
   const auto of = [&](const char *name) { return std::string(name) + (type == torch::kFloat64 ? " (double)" : " (float)"); };
   const auto options = There(type);
   torch::manual_seed(1);
   const auto x = torch::randn({33, 17}, options), y = torch::randn({33, 17}, options), w = torch::randn({17, 9}, options);
   Compare(of("a chain"), One([](const Tensor &a) { return (a.sin() * 2 + a.tanh()).exp() / (1 + a * a); }), {x});
   Compare(of("two tensors"), Two([](const Tensor &a, const Tensor &b) { return a * b.sigmoid() - torch::where(a > b, a, b * 0.5); }), {x, y});
   Compare(of("numbers first"), One([](const Tensor &a) { return (1 - a) * (2 / (a * a + 1)); }), {x});
   Compare(of("broadcast"), Two([](const Tensor &a, const Tensor &b) { return (a + b).relu() * b; }), {x, torch::randn({17}, options)});
   Compare(of("a number without dimensions"), Two([](const Tensor &a, const Tensor &b) { return (a * b).tanh(); }), {x, torch::tensor(0.7, options)});
   Compare(of("sum"), One([](const Tensor &a) { return (a * a).sum(); }), {x});
   Compare(of("sum of columns"), One([](const Tensor &a) { return a.exp().sum(0).log(); }), {x});
   Compare(of("mean and variance"), One([](const Tensor &a) { return a.mean(1) / (a.var(1) + 1).sqrt(); }), {x});
   Compare(of("greatest and least"), One([](const Tensor &a) { return a.amax(1) * a.amin({0, 1}); }), {x});
   Compare(of("max"), One([](const Tensor &a) { return std::get<0>((a * 2).max(1)); }), {x});
   Compare(of("logsumexp"), One([](const Tensor &a) { return a.logsumexp(1); }), {x});
   Compare(of("softmax"), One([](const Tensor &a) { return a.softmax(1) * a; }), {x});
   Compare(of("log_softmax of columns"), One([](const Tensor &a) { return a.log_softmax(0); }), {x});
   Compare(of("mm"), Two([](const Tensor &a, const Tensor &b) { return a.mm(b).relu(); }), {x, w});
   Compare(of("matmul of a transposed matrix"), Two([](const Tensor &a, const Tensor &b) { return a.matmul(b.t()); }), {x, w.t().contiguous()});
   Compare(of("bmm"), Two([](const Tensor &a, const Tensor &b) { return a.bmm(b).tanh(); }),
           {torch::randn({5, 31, 18}, options), torch::randn({5, 18, 12}, options)});
   Compare(of("addmm"), [](const Tensors &t) { return Tensors{torch::addmm(t[2], t[0], t[1])}; }, {x, w, torch::randn({9}, options)});
   Compare(of("linear"), [](const Tensors &t) { return Tensors{torch::linear(t[0], t[1], t[2]).tanh()}; },
           {x, torch::randn({9, 17}, options), torch::randn({9}, options)});
   Compare(of("a large linear layer"), [](const Tensors &t) { return Tensors{torch::linear(t[0], t[1], t[2]).relu()}; },
           {torch::randn({700, 130}, options), torch::randn({150, 130}, options), torch::randn({150}, options)});
   Compare(of("layer_norm"), [](const Tensors &t) { return Tensors{torch::layer_norm(t[0], {17}, t[1], t[2])}; },
           {x, torch::randn({17}, options), torch::randn({17}, options)});
   Compare(of("long rows"), One([](const Tensor &a) { return torch::layer_norm(a, {1000}).softmax(1).sum(0); }), {torch::randn({7, 1000}, options)});
   const auto index = torch::tensor({3, 0, 32, 3, 7}, There(torch::kInt64));
   Compare(of("index_select"), Two([](const Tensor &a, const Tensor &i) { return a.index_select(0, i).sin(); }), {x, index});
   Compare(of("embedding"), Two([](const Tensor &a, const Tensor &i) { return torch::embedding(a, i) * 2; }), {x, index});
   Compare(of("gather"), Two([](const Tensor &a, const Tensor &i) { return a.gather(1, i.unsqueeze(1)).exp(); }),
           {torch::randn({5, 40}, options), index});
   Compare(of("cat and chunk"), Two([](const Tensor &a, const Tensor &b) {
      const auto parts = torch::cat({a, b}, 1).chunk(2, 1);
      return parts[0] * parts[1].exp();
   }), {x, y});
   Compare(of("sort"), One([](const Tensor &a) { return std::get<0>((a * 2 + a.sin() * 0.1).sort(1)).square(); }), {x});
   Compare(of("clamp"), One([](const Tensor &a) { return a.clamp(-0.5, 0.8).pow(3); }), {x});
   Compare(of("a loss"), Two([](const Tensor &a, const Tensor &b) { return torch::binary_cross_entropy_with_logits(a, b.sigmoid()); }), {x, y});
   Compare(of("cross entropy"), Two([](const Tensor &a, const Tensor &i) { return torch::nn::functional::cross_entropy(a, i); }),
           {torch::randn({5, 40}, options), index});
   // Memory in other orders, and shared.
   Compare(of("a transposed input"), One([](const Tensor &a) { return (a * 2).sin().sum(0); }), {torch::randn({17, 33}, options).t()});
   Compare(of("every second column"), One([](const Tensor &a) { return a.tanh() * a; }), {torch::randn({8, 10}, options).slice(1, 0, 10, 2)});
   Compare(of("a view"), One([](const Tensor &a) { return a.view({17, 33}).narrow(0, 2, 5).transpose(0, 1) * 3; }), {x});
   Compare(of("a view as the result"), One([](const Tensor &a) { return (a * a).t(); }), {x});
   Compare(of("changes in place"), One([](const Tensor &a) {
      auto b = a * 2;
      b.add_(1).mul_(a);
      b.select(0, 3).zero_();
      b.slice(1, 2, 5).exp_();
      return b;
   }), {x});
   Compare(of("places that an index names"), One([](const Tensor &a) {
      auto b = a * 2;
      b.index_put_({torch::arange(1, 6, 4, a.options().dtype(torch::kInt64))}, torch::ones({17}, a.options()));
      return b * a;
   }), {x});
   Compare(of("two results"), [](const Tensors &t) { return Tensors{t[0].exp(), (t[0] * t[0]).sum(1)}; }, {x});
   Compare(of("an unused input"), Two([](const Tensor &a, const Tensor &) { return a.exp(); }), {x, y});
   Compare(of("no rows"), One([](const Tensor &a) { return a.exp() * 2; }), {torch::randn({0, 4}, options)});
   Compare(of("a passed on gradient"), Two([](const Tensor &a, const Tensor &b) { return a + b; }), {x, y});
   Compare(of("numbers that it makes"), One([](const Tensor &a) { return a * torch::tensor(2.0) + torch::ones({17}, a.options()); }), {x});
   Compare(of("a table that it makes"), One([](const Tensor &a) { return a * torch::arange(17).to(a.options()); }), {x});
   Compare(of("an operator made of others"), One([](const Tensor &a) { return a.diff().abs() + 1; }), {x});
   // In the order in which LibTorch leaves them here.
   Compare(of("unsorted topk"), One([](const Tensor &a) { return std::get<0>((a * 2).topk(4, 1, true, false)).sin(); }), {x});
   // Functions that kernels do not run.
   Compare(of("cumsum"), One([](const Tensor &a) { return a.cumsum(1); }), {x}, "autograd");
   Compare(of("an inverse"), One([](const Tensor &a) {
      const auto b = (a.mm(a.t()) * 0.01).tanh() + torch::eye(33, a.options()) * 3;
      return (b.inverse() * 2).sin().exp();
   }), {x}, "split");
}

void Networks()
{
   torch::manual_seed(2);
   const auto options = There(torch::kFloat32);
   const auto x = torch::randn({64, 8}, options);
   const auto applied = [](auto module) {
      return One([module](const Tensor &given) mutable { return module->forward(given); });
   };
   nn::Sequential net(nn::Linear(8, 32), nn::ReLU(), nn::LayerNorm(nn::LayerNormOptions({32})), nn::Linear(32, 16), nn::GELU(), nn::Linear(16, 3));
   net->to(gDevice);
   Compare("a network that it captures", applied(net), {x}, "", net->parameters());
   const auto w = torch::randn({8, 8}, options);
   Compare("a captured tensor", One([w](const Tensor &a) { return a.mm(w).tanh(); }), {x});
   nn::TransformerEncoderLayer encoder(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).dropout(0));
   encoder->to(gDevice);
   Compare("a transformer layer", applied(encoder), {torch::randn({5, 3, 8}, options)}, "", encoder->parameters());
   nn::Conv1d convolution(nn::Conv1dOptions(2, 4, 3).padding(1));
   convolution->to(gDevice);
   Compare("a convolution", applied(convolution), {torch::randn({6, 2, 20}, options)}, "", convolution->parameters());
}

/// Running statistics and the number of batches after some calls.
void Statistics()
{
   const auto run = [](bool compile) {
      torch::manual_seed(3);
      nn::BatchNorm1d norm(8);
      norm->to(gDevice);
      std::function<Tensor(Tensor)> function = [norm](Tensor given) mutable { return norm->forward(given).sin(); };
      const auto x = torch::randn({32, 8}, There(torch::kFloat32));
      if (compile) {
         const auto compiled = CladTorch::Compile(function, {x});
         Expect(compiled.BackEnd() == Whole(), "batch normalisation runs on " + compiled.BackEnd() + ": " + compiled.Reason());
         function = compiled;
      }
      Tensors seen;
      for (int i = 0; i < 3; ++i)
         seen.push_back(function(x * (i + 1)).detach());
      for (const auto &buffer : norm->buffers())
         seen.push_back(buffer.clone());
      return seen;
   };
   ExpectAllSame(run(true), run(false), "batch normalisation");
}

void Dropout()
{
   const auto x = torch::ones({400, 50}, There(torch::kFloat32));
   const auto compiled = CladTorch::Compile([](Tensor given) { return torch::dropout(given * 2, 0.25, true); }, {x});
   Expect(compiled.BackEnd() == Whole(), "dropout runs on " + compiled.BackEnd() + ": " + compiled.Reason());
   torch::manual_seed(4);
   const auto a = compiled.Forward({x}), gradient = compiled.Backward({torch::ones_like(a)})[0], b = compiled.Forward({x});
   torch::manual_seed(4);
   Expect(torch::equal(compiled.Forward({x}), a), "dropout follows the seed");
   Expect(!torch::equal(a, b), "dropout draws anew");
   Expect(std::fabs((a > 0).to(torch::kFloat64).mean().item<double>() - 0.75) < 0.02, "dropout keeps three of four");
   Expect(std::fabs(a.mean().item<double>() - 2) < 0.05, "dropout keeps the mean");
   ExpectSame(gradient, a, "dropout's gradient"); // of 2 x, at 1
   torch::manual_seed(5);
   const auto next = torch::rand({2}, There(torch::kFloat32));
   torch::manual_seed(5);
   CladTorch::Compile([](Tensor given) { return torch::dropout(given, 0.5, true); }, {x});
   Expect(torch::equal(torch::rand({2}, There(torch::kFloat32)), next), "compiling leaves random numbers as they were");
}

/// The same training with a module and with the compiled one.
void Training()
{
   const auto train = [](bool compile) {
      torch::manual_seed(6);
      nn::Sequential net(nn::Linear(4, 16), nn::Tanh(), nn::Linear(16, 1));
      net->to(gDevice);
      const auto x = torch::randn({64, 4}, There(torch::kFloat32)), y = x.sum(1, true);
      std::function<Tensor(Tensor)> forward = [net](Tensor given) mutable { return net->forward(given); };
      if (compile)
         forward = CladTorch::Compile(forward, {x});
      torch::optim::SGD optimiser(net->parameters(), 0.05);
      for (int step = 0; step < 30; ++step) {
         optimiser.zero_grad();
         auto loss = torch::mse_loss(forward(x), y) + 0.1 * forward(x * 0.5).pow(2).mean();
         loss.backward();
         optimiser.step();
      }
      return net->parameters();
   };
   ExpectAllSame(train(true), train(false), "training");
}

void Specialisations()
{
   const auto function = [](Tensor a, Tensor b) { return a.mm(b).relu().sum(1); };
   const auto options = There(torch::kFloat32);
   const auto x = torch::randn({8, 4}, options), w = torch::randn({4, 3}, options);
   const auto compiled = CladTorch::Compile(function, {x, w});
   for (const auto &given : Tensors{x, torch::randn({5, 4}, options), torch::randn({4, 8}, options).t(), torch::randn({1, 4}, options).expand({8, 4})})
      ExpectSame(compiled.Forward({given, w}), function(given, w), "another shape");
   Expect(compiled.Specialisations() == 4, "four specialisations");
   ExpectSame(compiled.Forward({x.to(torch::kFloat64), w.to(torch::kFloat64)}), function(x.to(torch::kFloat64), w.to(torch::kFloat64)), "another type");
   if (OnGpu()) {
      ExpectSame(compiled.Forward({x.cpu(), w.cpu()}), function(x.cpu(), w.cpu()), "the CPU");
      ExpectSame(compiled.Forward({x, w}), function(x, w), "the GPU again");
      Expect(compiled.Specialisations() == 6, "six specialisations");
      const auto text = Printed(compiled);
      for (const char *part : {"on cuda:0", "back end cuda (the tensors are on a GPU)", "back end aot"})
         Expect(text.find(part) != std::string::npos, std::string(part) + " is not in: " + text);
      Expect(compiled.Code().find("__global__") != std::string::npos, "Code() has the kernels");
   }
   CladTorch::CompileOptions any;
   any.fDynamicBatch = true;
   const auto rows = CladTorch::Compile([w](Tensor a) { return (a.mm(w) * torch::ones({a.size(0), 1}, a.options())).tanh(); }, {x}, any);
   for (const int count : {8, 3, 1, 50}) {
      const auto given = torch::randn({count, 4}, options);
      ExpectSame(rows.Forward({given}), given.mm(w).tanh(), std::to_string(count) + " rows");
      ExpectSame(rows.Backward({torch::ones({count, 3}, options)})[0], (1 - given.mm(w).tanh().square()).mm(w.t()), std::to_string(count) + " rows back");
   }
   Expect(rows.BackEnd() == Whole(), "any number of rows runs on " + rows.BackEnd() + ": " + rows.Reason());
   const auto jacobian = CladTorch::Compile([](Tensor a) { return a.square().sum(1); }, {x}).Jacobian({x})[0];
   ExpectSame(jacobian.sum(0), 2 * x, "a Jacobian");
}

/// Autograd around it: first, second and partial derivatives, none, and inference.
void Autograd()
{
   const auto options = There(torch::kFloat64);
   const auto cube = CladTorch::Compile([](Tensor a) { return (a * a * a).sum(); }, {torch::randn({5}, options)});
   auto x = torch::randn({5}, options).requires_grad_();
   const auto first = torch::autograd::grad({cube(x) * 2}, {x}, {}, true, true)[0];
   ExpectSame(first.detach(), (6 * x * x).detach(), "a gradient");
   ExpectSame(torch::autograd::grad({first.sum()}, {x})[0], (12 * x).detach(), "a second derivative");
   {
      const torch::NoGradGuard off;
      Expect(!cube(x).requires_grad(), "no gradient is recorded");
   }
   {
      const c10::InferenceMode inference;
      ExpectSame(cube(x), (x * x * x).sum(), "inference mode");
   }
   cube(x).backward();
   ExpectSame(x.grad(), (3 * x * x).detach(), "backward()");
   const auto both = CladTorch::Compile([](Tensor a) { return std::make_tuple(a.exp(), a * a); }, {x});
   ExpectSame(torch::autograd::grad({both.CallAll({x})[1].sum()}, {x})[0], (2 * x).detach(), "one of two outputs");
   ExpectSame(CladTorch::Compile([](Tensor a) { return a.square().square().sum(); }, {x}).HessianVector({x.detach()}, {torch::ones_like(x)})[0],
              (12 * x * x).detach(), "a Hessian times a vector");
}

/// Several of LibTorch's streams, in turn and in threads.
void Streams()
{
   if (!OnGpu())
      return;
   const auto *gpu = c10::impl::getDeviceGuardImpl(torch::kCUDA);
   const auto options = There(torch::kFloat32);
   const auto function = [](Tensor a, Tensor b) { return (a.mm(b).tanh() * 2).softmax(1); };
   const auto w = torch::randn({256, 256}, options);
   const auto compiled = CladTorch::Compile(function, {torch::randn({512, 256}, options), w});
   torch::cuda::synchronize();
   const auto work = [&](const std::string &name) {
      const auto before = gpu->exchangeStream(gpu->getStreamFromGlobalPool(gDevice));
      Tensors found, wanted;
      for (int i = 0; i < 20; ++i) {
         auto x = torch::full({512, 256}, 0.01 * (i + 1), options).requires_grad_();
         found.push_back(torch::autograd::grad({compiled(x * 2, w).square().sum()}, {x})[0]);
         wanted.push_back(torch::autograd::grad({function(x * 2, w).square().sum()}, {x})[0]);
      }
      ExpectAllSame(found, wanted, name);
      gpu->exchangeStream(before);
   };
   work("a stream");
   work("another stream");
   std::thread one([&] { Group("a stream of a thread", [&] { work("a stream of a thread"); }); });
   std::thread two([&] { Group("a stream of another thread", [&] { work("a stream of another thread"); }); });
   one.join();
   two.join();
}

/// Functions that are refused or that LibTorch runs, and why.
void Demands()
{
   const auto options = There(torch::kFloat32);
   const auto x = torch::randn({6, 4}, options);
   const auto says = [](const std::string &what, const std::string &text, const char *part) {
      Expect(text.find(part) != std::string::npos, what + " says: " + text);
   };
   const auto message = [](auto call) -> std::string {
      try {
         call();
      } catch (const CladTorch::Error &e) {
         return e.what();
      }
      return "nothing, and does it";
   };
   const auto select = CladTorch::Compile([](Tensor a, Tensor i) { return a.index_select(0, i) * 2; }, {x, torch::tensor({1, 5}, There(torch::kInt64))});
   says("an index out of range", message([&] { select.Forward({x, torch::tensor({1, 6}, There(torch::kInt64))}); }), "out of range");
   ExpectSame(select.Forward({x, torch::tensor({1, 2}, There(torch::kInt64))}), x.slice(0, 1, 3) * 2, "after an index out of range");
   says("a wrong adjoint", message([&] { select.Backward({torch::ones({2, 4}, torch::kFloat64)}); }), "adjoint 0 has to be a tensor on");
   if (!OnGpu())
      return;
   for (const auto wanted : {CladTorch::kAotBackEnd, CladTorch::kJitBackEnd}) {
      CladTorch::CompileOptions demand;
      demand.fBackEnd = wanted;
      says("a back end of the CPU", message([&] { CladTorch::Compile([](Tensor a) { return a.exp(); }, {x}, demand); }), "runs on the CPU");
   }
   CladTorch::CompileOptions fastest;
   fastest.fBackEnd = CladTorch::kFastestBackEnd;
   Expect(CladTorch::Compile([](Tensor a) { return a.exp(); }, {x}, fastest).BackEnd() == "cuda", "the fastest back end is cuda");
   says("an adjoint on the CPU", message([&] { select.Backward({torch::ones({2, 4})}); }), "on cuda:0");
   const auto number = torch::tensor(2.5);
   const auto scaled = CladTorch::Compile([](Tensor a, Tensor b) { return (a * b).exp(); }, {x, number});
   says("inputs on two devices", scaled.BackEnd() + ": " + scaled.Reason(), "autograd: its inputs lie on several devices, cuda:0 and cpu");
   ExpectSame(scaled.Forward({x, number}), (x * number).exp(), "inputs on two devices");
   const auto captures = CladTorch::Compile([number](Tensor a) { return (a * number).exp() + a.sin() * a.cos(); }, {x});
   says("a captured number of the CPU", captures.Reason(), "several devices");
   ExpectSame(captures.Forward({x}), (x * number).exp() + x.sin() * x.cos(), "a captured number of the CPU");
   const auto away = CladTorch::Compile([](Tensor a) { return (a * 2).cpu().exp(); }, {x});
   says("a result on the CPU", away.BackEnd() + ": " + away.Reason(), "several devices");
   ExpectSame(away.Forward({x}), (x * 2).cpu().exp(), "a result on the CPU");
   const auto reads = CladTorch::Compile([](Tensor a) { return a * a.max().item<double>(); }, {x});
   says("a value that is read", reads.BackEnd() + ": " + reads.Reason(), "autograd: ");
   ExpectSame(reads.Forward({x}), x * x.max(), "a value that is read");
}

/// The operators that the plugin registers.
void Registered()
{
   const auto options = There(torch::kFloat32);
   Tensors parameters;
   for (const auto &sizes : std::vector<std::vector<std::int64_t>>{{16, 8}, {16}, {3, 16}, {3}})
      parameters.push_back(torch::randn(sizes, options).requires_grad_());
   const auto x = torch::randn({20, 8}, options);
   auto mlp = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString("cladtorch::mlp")).at(0)->getOperation();
   torch::jit::Stack stack{x, c10::List<Tensor>(parameters), std::string("tanh")};
   mlp(stack);
   const auto found = stack.at(0).toTensor();
   const auto wanted = torch::linear(torch::linear(x, parameters[0], parameters[1]).tanh(), parameters[2], parameters[3]);
   ExpectSame(found.detach(), wanted.detach(), "cladtorch::mlp");
   const auto a = torch::autograd::grad({found.square().sum()}, parameters), b = torch::autograd::grad({wanted.square().sum()}, parameters);
   ExpectAllSame(a, b, "cladtorch::mlp, gradients");
}

void compile_cuda()
{
   try {
      gDevice = CladTorch::OpenDevice("cuda:0");
   } catch (const CladTorch::Error &e) {
      std::printf("no GPU ran compiled functions, the CPU did instead: %s\n", e.what());
   }
   at::globalContext().setAllowTF32CuDNN(false); // convolutions in all digits
   for (const auto type : {torch::kFloat32, torch::kFloat64})
      Group("operators", [&] { Operators(type); });
   Group("networks", Networks);
   Group("statistics", Statistics);
   Group("dropout", Dropout);
   Group("training", Training);
   Group("specialisations", Specialisations);
   Group("autograd", Autograd);
   Group("streams", Streams);
   Group("demands", Demands);
   Group("registered operators", Registered);
   std::printf("%d checks on %s, %d failures; functions on", gChecks.load(), gDevice.str().c_str(), gFailures.load());
   for (const auto &[name, count] : gBackEnds)
      std::printf(" %s: %d", name.c_str(), count);
   std::printf("\n");
   if (gFailures == 0)
      Passed();
   std::fflush(stdout);
   gSystem->Exit(gFailures != 0);
}
