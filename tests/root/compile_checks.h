/// \file compile_checks.h
/// \brief Compiled functions against LibTorch: values, gradients, specialisations, autograd, errors.

#ifndef CLADTORCH_TEST_COMPILE_CHECKS
#define CLADTORCH_TEST_COMPILE_CHECKS

#include <CladTorch/Torch.hxx>

#include "check.h"

#include <iostream>
#include <thread>

using Tensors = std::vector<torch::Tensor>;

inline torch::Tensor MyGraph(torch::Tensor x, torch::Tensor w)
{
   return (x.matmul(w).relu()).sum();
}

inline std::tuple<torch::Tensor, torch::Tensor> TwoOutputs(const torch::Tensor &x)
{
   return {x.exp(), x * x};
}

inline torch::Tensor Branch(const torch::Tensor &x)
{
   return x.sum().item<double>() > 0 ? x.exp() : x.sin();
}

inline torch::Tensor Scaled(const torch::Tensor &x)
{
   return x * x.max().item<double>();
}

inline bool Close(const torch::Tensor &a, const torch::Tensor &b)
{
   return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && torch::allclose(a, b, 1e-4, 1e-5);
}

/// Value and gradients of a compiled function against LibTorch's own.
template <class F>
bool Agrees(const CladTorch::Compiled &compiled, F function, const Tensors &inputs)
{
   const auto y = compiled.Forward(inputs);
   const auto adjoint = torch::randn_like(y);
   const auto gradients = compiled.Backward({adjoint});
   Tensors leaves;
   for (const auto &input : inputs)
      leaves.push_back(input.detach().clone().requires_grad_());
   const auto expected = function(leaves);
   const auto wanted = torch::autograd::grad({expected}, leaves, {adjoint});
   bool good = Close(y, expected.detach());
   for (std::size_t i = 0; i < inputs.size(); ++i)
      good = good && Close(gradients[i], wanted[i]) && gradients[i].is_contiguous();
   return good;
}

/// LibTorch computes a number minus a tensor with a tensor that it fills in place.
inline torch::Tensor NumberFirst(const torch::Tensor &x)
{
   return (1 - x) * (2 / (x * x + 1));
}

inline void CheckValuesAndSpecialisations()
{
   torch::manual_seed(1);
   const auto x = torch::randn({8, 4}), w = torch::randn({4, 3});
   const auto graph = [](const Tensors &inputs) { return MyGraph(inputs[0], inputs[1]); };
   const auto compiled = CladTorch::Compile(MyGraph, {x, w});
   compiled.Print();
   CHECK(Agrees(compiled, graph, {x, w}));
   CHECK(Agrees(compiled, graph, {torch::randn({8, 4}), torch::randn({4, 3})}));
   CHECK(compiled.Specialisations() == 1);
   CHECK(Agrees(compiled, graph, {torch::randn({5, 4}), w}));
   CHECK(Agrees(compiled, graph, {x.to(torch::kFloat64), w.to(torch::kFloat64)}));
   CHECK(Agrees(compiled, graph, {torch::randn({4, 8}).t(), w}));
   CHECK(Agrees(compiled, graph, {torch::randn({1, 4}).expand({8, 4}), w}));
   CHECK(Agrees(compiled, graph, {torch::randn({0, 4}), w}));
   CHECK(compiled.Specialisations() == 6);
   CHECK(Agrees(compiled, graph, {x, w}));
   CHECK(compiled.Specialisations() == 6);
   CHECK(compiled.Forward({x, w}).requires_grad() == false);

   const auto two = CladTorch::Compile(TwoOutputs, {x});
   const auto values = two.ForwardAll({x});
   CHECK(values.size() == 2 && Close(values[0], x.exp()) && Close(values[1], x * x));
   const auto ones = torch::ones_like(x);
   CHECK(Close(two.Backward({ones, ones})[0], x.exp() + 2 * x));

   const auto first = CladTorch::Compile(NumberFirst, {x});
   CHECK(first.BackEnd() == "aot");
   CHECK(Agrees(first, [](const Tensors &given) { return NumberFirst(given[0]); }, {x}));

   // In blocks of rows, the last one shorter; on LibTorch's threads.
   CHECK(Agrees(compiled, graph, {torch::randn({40000, 4}), w}));

   // A number without dimensions may have another type than the tensors.
   const auto scale = [](const Tensors &given) { return (given[0] * given[1]).tanh(); };
   const auto number = torch::tensor(0.7, torch::kFloat64);
   CHECK(Agrees(CladTorch::Compile(scale, {x, number}), scale, {x, number}));

   const auto list = CladTorch::Compile([](const Tensors &given) { return given[0] + given[1]; }, {x, x});
   CHECK(Close(list.Forward({x, x}), 2 * x));
   const auto lambda = CladTorch::Compile([](auto given) { return given.sigmoid(); }, {x});
   CHECK(Close(lambda.Forward({x}), x.sigmoid()));
   const auto select = CladTorch::Compile(
      [](torch::Tensor table, torch::Tensor index) { return torch::embedding(table, index); }, {x, torch::tensor({1, 2})});
   select.Forward({x, torch::tensor({0, 7})});
   const auto parts = select.Backward({torch::ones({2, 4})});
   CHECK(parts[0].sum().item<double>() == 8 && !parts[1].defined());
}

/// The same training with a LibTorch module and with the compiled one.
inline Tensors Train(bool compile)
{
   torch::manual_seed(2);
   torch::nn::Sequential net(torch::nn::Linear(4, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1));
   const auto x = torch::randn({64, 4}), y = x.sum(1, true);
   std::function<torch::Tensor(torch::Tensor)> forward = [&](torch::Tensor given) { return net->forward(given); };
   if (compile)
      forward = CladTorch::Compile(forward, {x});
   torch::optim::SGD optimiser(net->parameters(), 0.05);
   for (int step = 0; step < 50; ++step) {
      optimiser.zero_grad();
      // Twice in one model, with other operators around it.
      auto loss = torch::mse_loss(forward(x), y) + 0.1 * forward(x * 0.5).pow(2).mean();
      loss.backward();
      optimiser.step();
   }
   return net->parameters();
}

inline void CheckAutograd()
{
   const auto eager = Train(false), compiled = Train(true);
   bool same = eager.size() == compiled.size();
   for (std::size_t i = 0; i < eager.size(); ++i)
      same = same && Close(eager[i], compiled[i]);
   CHECK(same);

   const auto cube = CladTorch::Compile([](torch::Tensor x) { return (x * x * x).sum(); }, {torch::randn({5})});
   auto x = torch::randn({5}).requires_grad_();
   const auto first = torch::autograd::grad({cube(x)}, {x}, {}, true, true)[0];
   CHECK(Close(first, 3 * x * x));
   CHECK(Close(torch::autograd::grad({first.sum()}, {x})[0], 6 * x.detach()));
   {
      const torch::NoGradGuard off;
      CHECK(!cube(x).requires_grad());
   }
   const auto backward = [](const torch::Tensor &value) {
      CladTorch::Internal::TorchGuard("test", [&] { value.backward(); });
   };
   const auto value = cube(x);
   backward(value);
   CHECK(Close(x.grad(), 3 * x.detach() * x.detach()));
   Refuses("a second pass back", [&] { backward(value); }, {"retain_graph"});
   const auto both = CladTorch::Compile(TwoOutputs, {x});
   CHECK(Close(torch::autograd::grad({both.CallAll({x})[1].sum()}, {x})[0], 2 * x.detach()));
   const auto level = torch::autograd::ForwardADLevel::get_next_idx();
   const auto dual = at::_make_dual(x.detach(), torch::ones_like(x), static_cast<std::int64_t>(level));
   Refuses("a forward derivative", [&] { cube(dual); }, {"forward derivatives"});
   torch::autograd::ForwardADLevel::release_idx(level);

   const auto noisy = CladTorch::Compile([](torch::Tensor given) { return torch::dropout(given, 0.5, true); },
                                         {torch::ones({1000})});
   torch::manual_seed(3);
   const auto a = noisy.Forward({torch::ones({1000})}), b = noisy.Forward({torch::ones({1000})});
   CHECK(!torch::equal(a, b));
   torch::manual_seed(3);
   CHECK(torch::equal(noisy.Forward({torch::ones({1000})}), a));
}

/// How far scores move with an energy scale, and second derivatives.
inline void CheckSensitivity()
{
   torch::manual_seed(7);
   const auto x = torch::randn({6, 3}, torch::kFloat64), w = torch::randn({3}, torch::kFloat64);
   const auto scale = torch::tensor({1.1}, torch::kFloat64);
   const auto score = [](torch::Tensor given, torch::Tensor weight, torch::Tensor energy) {
      return ((given * energy).matmul(weight)).tanh();
   };
   const auto compiled = CladTorch::Compile(score, {x, w, scale});
   const auto jacobian = compiled.Jacobian({x, w, scale});
   const double step = 1e-6;
   const auto quotient = (score(x, w, scale + step) - score(x, w, scale - step)) / (2 * step);
   CHECK(jacobian.size() == 3 && jacobian[0].sizes() == at::IntArrayRef({6, 6, 3}) &&
         jacobian[2].sizes() == at::IntArrayRef({6, 1}));
   CHECK(torch::allclose(jacobian[2].flatten(), quotient, 1e-6, 1e-9));

   const auto likelihood = [&](torch::Tensor given, torch::Tensor weight, torch::Tensor energy) {
      return score(given, weight, energy).square().sum();
   };
   const auto number = CladTorch::Compile(likelihood, {x, w, scale});
   const std::vector<torch::Tensor> along = {torch::randn_like(x), torch::randn_like(w), torch::randn_like(scale)};
   const auto products = number.HessianVector({x, w, scale}, along);
   const auto gradients = [&](double distance) {
      const auto y = number.Forward({x + distance * along[0], w + distance * along[1], scale + distance * along[2]});
      return number.Backward({torch::ones_like(y)});
   };
   const auto above = gradients(1e-5), below = gradients(-1e-5);
   for (std::size_t i = 0; i < 3; ++i)
      CHECK(torch::allclose(products[i], (above[i] - below[i]) / 2e-5, 1e-5, 1e-6));
   Refuses("second derivatives of six numbers", [&] { compiled.HessianVector({x, w, scale}, along); }, {"returns 6"});
   Refuses("a direction of another shape", [&] { number.HessianVector({x, w, scale}, {w, w, w}); }, {"direction 0"});
}

/// Observing a function runs it; neither running statistics nor random numbers may show that.
inline void CheckNothingIsLeftBehind()
{
   torch::nn::BatchNorm1d norm(4);
   const auto x = torch::randn({16, 4});
   torch::manual_seed(5);
   const auto next = torch::rand({1});
   torch::manual_seed(5);
   const auto compiled = CladTorch::Compile(
      [&](torch::Tensor given) { return torch::dropout(norm->forward(given), 0.5, true); }, {x});
   CHECK(torch::equal(torch::rand({1}), next));
   CHECK(torch::equal(norm->running_mean, torch::zeros({4})));
   CHECK(norm->num_batches_tracked.item<int>() == 0);
   compiled.Forward({x});
   CHECK(Close(norm->running_mean, 0.1 * x.mean(0)));
}

/// Tensors that a function changes, besides its result, change as with LibTorch alone.
inline void CheckSideEffects()
{
   const auto run = [](bool compile, bool training) {
      torch::manual_seed(11);
      torch::nn::BatchNorm1d norm(4);
      norm->train(training);
      auto calls = torch::zeros({}, torch::kLong);
      std::function<torch::Tensor(torch::Tensor)> function = [&](torch::Tensor given) {
         calls.add_(1);
         return torch::dropout(norm->forward(given), 0.25, training);
      };
      const auto x = torch::randn({16, 4});
      if (compile)
         function = CladTorch::Compile(function, {x});
      Tensors seen;
      torch::manual_seed(12);
      for (int call = 0; call < 3; ++call)
         seen.push_back(function(x * (call + 1)).detach());
      seen.push_back(torch::rand({3})); // the random numbers continue in the same way
      for (const auto &buffer : norm->buffers())
         seen.push_back(buffer.clone());
      seen.push_back(calls);
      return seen;
   };
   for (const bool training : {true, false}) {
      const auto eager = run(false, training), compiled = run(true, training);
      CHECK(eager.size() == 8 && compiled.size() == 8);
      for (std::size_t i = 0; i < eager.size(); ++i)
         CHECK(Close(eager[i], compiled[i]));
   }
   torch::nn::BatchNorm1d norm(4);
   const auto compiled = CladTorch::Compile([&](torch::Tensor given) { return norm->forward(given); }, {torch::randn({16, 4})});
   compiled.Print();
   CHECK(compiled.BackEnd() == "aot");
   // LibTorch runs functions whose effects the core cannot repeat.
   auto total = torch::zeros({4});
   const auto adding = CladTorch::Compile([&](torch::Tensor given) { total.add_(given.sum(0)); return given.exp(); }, {torch::randn({16, 4})});
   CHECK(adding.BackEnd() == "autograd" && adding.Reason().find("aten::add_") != std::string::npos);
   adding.Forward({torch::ones({3, 4})});
   CHECK(Close(total, torch::full({4}, 3.f)));
   // Sums of a million products in float32.
   const auto even = torch::full({1000000, 4}, 0.316f);
   const auto moments = CladTorch::Compile([](torch::Tensor t) { const auto apart = t - t.mean(0) * 0; return apart.t().mm(apart) + t.t().mm(t); }, {even});
   CHECK(((moments.Forward({even}) / (2e6 * 0.316 * 0.316) - 1).abs().max() < 1e-5).item<bool>());
   // Pairs of many columns: a network is examined in a moment.
   const auto pair = torch::triu_indices(150, 150, 1);
   const auto scale = torch::ones({1}).set_requires_grad(true);
   const auto ofPairs = [=](torch::Tensor t) { return (t.unsqueeze(2) * t.unsqueeze(1)).index({torch::indexing::Slice(), pair[0], pair[1]}).mean(1, true) * scale; };
   CladTorch::Model network(ofPairs, {150});
   network.Print();
   auto written = torch::zeros({});
   const auto writing = CladTorch::Compile([&](torch::Tensor given) { written.data_ptr<float>()[0] += 1; return given * written; }, {torch::ones({3})});
   CHECK(writing.BackEnd() == "autograd" && writing.Reason().find("by its address") != std::string::npos);
   written.zero_();
   for (int call = 1; call <= 3; ++call)
      CHECK(Close(writing.Forward({torch::ones({3})}), torch::full({3}, static_cast<float>(call))));
   const auto nothing = CladTorch::Compile([](const Tensors &) { return Tensors(); }, {torch::ones({3})});
   CHECK(nothing.BackEnd() == "autograd" && nothing.Reason() == "it returns no tensor");
   Refuses("a result without a tensor", [] { CladTorch::Compile([](torch::Tensor) { return torch::Tensor(); }, {torch::ones({3})}).Forward({torch::ones({3})}); },
           {"returns an undefined tensor as result 0"});
   Refuses("one number of three", [] { CladTorch::Compile([](auto... t) { return (t + ...); }, {torch::ones({3}), torch::ones({3}), torch::ones({3})}); },
           {"takes 1 tensor, but 3 were given", "std::vector"});
   const auto twice = CladTorch::Compile([](torch::Tensor given) { return given * 2; }, {torch::ones({3})});
   CHECK(Close(twice.Forward({torch::_efficientzerotensor({3})}), torch::zeros({3})) && Close(twice(torch::_efficientzerotensor({3})), torch::zeros({3})));
   const auto late = [](torch::Tensor given) { return CladTorch::Compile([](torch::Tensor t) { return t.exp(); }, {given.detach()})(given) * 2; };
   const auto lateCompiled = CladTorch::Compile(late, {torch::ones({3})});
   CHECK(lateCompiled.BackEnd() == "autograd" && lateCompiled.Reason().find("it compiles a function") != std::string::npos);
   auto number = torch::zeros({1}, torch::kLong);
   const auto reading = CladTorch::Compile([&](torch::Tensor given) { return given * number.add_(1); }, {torch::ones({4})});
   CHECK(Close(reading.Forward({torch::ones({4})}), torch::ones({4})) && Close(reading.Forward({torch::ones({4})}), torch::full({4}, 2.f)));
   auto changed = torch::ones({4});
   const auto own = CladTorch::Compile([](torch::Tensor given) { return given.clone().mul_(3).relu_(); }, {changed});
   CHECK(own.BackEnd() == "aot" && Close(own.Forward({changed}), torch::full({4}, 3.f)) && Close(changed, torch::ones({4})));
   // linear() adds its bias in place to what it has made, whatever is then made of that.
   const auto weight = torch::randn({12, 4}), bias = torch::randn({12}), sample = torch::randn({5, 2, 4});
   const auto parts = [&](torch::Tensor given) { const auto all = torch::linear(given, weight, bias).chunk(3, 2); return all[0] * all[2]; };
   const auto inParts = CladTorch::Compile(parts, {torch::randn({5, 2, 4})});
   CHECK(inParts.BackEnd() == "aot" && Close(inParts.Call({sample}), parts(sample)));
   const auto noisy = CladTorch::Compile([](torch::Tensor given) { return torch::dropout(given * given, 0.5, true); }, {torch::ones({9})});
   const auto x = torch::ones({9}).requires_grad_();
   Refuses(
      "a second derivative through random numbers",
      [&] { CladTorch::Internal::TorchGuard("test", [&] { torch::autograd::grad({noisy(x).sum()}, {x}, {}, true, true); }); },
      {"second derivative", "random numbers"});
}

inline void CheckThreads()
{
   const auto w = torch::randn({4, 3});
   const auto compiled = CladTorch::Compile(MyGraph, {torch::randn({8, 4}), w});
   const auto graph = [](const Tensors &inputs) { return MyGraph(inputs[0], inputs[1]); };
   bool good[4] = {};
   std::vector<std::thread> threads;
   for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
         good[t] = true;
         for (int i = 0; i < 50; ++i)
            good[t] = good[t] && Agrees(compiled, graph, {torch::randn({8 + i % 3, 4}), w});
      });
   for (auto &thread : threads)
      thread.join();
   CHECK(good[0] && good[1] && good[2] && good[3]);
   CHECK(compiled.Specialisations() == 3);
}

inline void CheckRefusals()
{
   const auto x = torch::rand({8, 4}), w = torch::rand({4, 3});
   const auto branch = CladTorch::Compile(Branch, {x}), scaled = CladTorch::Compile(Scaled, {x});
   CHECK(branch.BackEnd() == "autograd" && branch.Reason().find("item before operator 2 ") != std::string::npos);
   CHECK(Agrees(branch, [](const Tensors &given) { return Branch(given[0]); }, {-x}));
   CHECK(scaled.BackEnd() == "autograd" && scaled.Reason().find("torch::where") != std::string::npos);
   CladTorch::CompileOptions anyRows;
   anyRows.fDynamicBatch = true;
   const auto sums = [](torch::Tensor t) { return (t * 2).exp().sqrt().cumsum(1).log1p().cos().exp(); };
   const auto ofRows = CladTorch::Compile(sums, {x}, anyRows);
   CHECK(ofRows.BackEnd() == "split" && Agrees(ofRows, [&](const Tensors &given) { return sums(given[0]); }, {torch::rand({5, 4})}));
   Refuses("a null function", [&] { CladTorch::Compile(std::function<torch::Tensor(torch::Tensor)>(), {x}); }, {"empty std::function"});
   Refuses("a sparse input", [&] { CladTorch::Compile([](torch::Tensor t) { return t * 2; }, {x.to_sparse()}); }, {"sparse", "to_dense()"});
   Refuses("a tensor without numbers", [&] { CladTorch::Compile([](torch::Tensor t) { return t * 2; }, {x.to(torch::kMeta)}); }, {"meta"});
   const auto nothing = CladTorch::Compile([](torch::Tensor) { return torch::Tensor(); }, {x});
   CHECK(nothing.BackEnd() == "autograd" && nothing.Reason().find("undefined") != std::string::npos);
   Refuses("no result", [&] { CladTorch::Compile([](const std::vector<torch::Tensor> &) { return std::vector<torch::Tensor>(); }, {x})(x); }, {"returns no tensor"});
   Refuses("too few inputs", [&] { CladTorch::Compile(MyGraph, {x}); }, {"takes 2 tensors, but 1"});
   Refuses("too many inputs", [&] { CladTorch::Compile(MyGraph, {x, w, w}); }, {"takes 2 tensors, but 3 were given"});
   const auto withDefault = [](torch::Tensor t, torch::Tensor factor = torch::ones({})) { return t * factor; };
   CHECK(Close(CladTorch::Compile(withDefault, {x}).Forward({x}), x) && Close(CladTorch::Compile(withDefault, {x, x}).Forward({x, x}), x * x));
   Refuses("more than the defaults", [&] { CladTorch::Compile(withDefault, {x, x, x}); }, {"takes 1 to 2 tensors, but 3 were given"});
   const auto generic = [](const auto &t, auto &&...others) { return (t + ... + others); };
   CHECK(Close(CladTorch::Compile([=](auto a, auto b) { return generic(a, b); }, {x, x}).Forward({x, x}), x + x));
   Refuses("an undefined input", [&] { CladTorch::Compile(MyGraph, {x, torch::Tensor()}); }, {"input 1", "undefined"});
   Refuses("shapes that do not fit", [&] { CladTorch::Compile(MyGraph, {x, x}); }, {"8x4 and 8x4"});
   Refuses(
      "an exception in the function",
      [&] {
         CladTorch::Compile([](torch::Tensor) -> torch::Tensor { throw std::runtime_error("mine"); }, {x});
      },
      {"mine"});
   CladTorch::CompileOptions options;
   options.fName = "special";
   options.fBackEnd = CladTorch::kAotBackEnd;
   Refuses(
      "a back end that cannot",
      [&] { CladTorch::Compile([](torch::Tensor given) { return torch::special_i1(given); }, {x}, options); },
      {"special", "special_i1"});
   const auto fallen = CladTorch::Compile([](torch::Tensor given) { return torch::special_i1(given); }, {x});
   CHECK(fallen.BackEnd() == "autograd" && fallen.Reason().find("special_i1") != std::string::npos);
   CHECK(Agrees(fallen, [](const Tensors &given) { return torch::special_i1(given[0]); }, {x}));

   const auto compiled = CladTorch::Compile(MyGraph, {x, w});
   Refuses("backward before forward", [&] { compiled.Backward({torch::ones({})}); }, {"follows a Forward()", "the last one failed"});
   compiled.Forward({x, w});
   Refuses("an adjoint of another shape", [&] { compiled.Backward({x}); }, {"adjoint 0", "Float", "[]"});
   Refuses("too many adjoints", [&] { compiled.Backward({x, x}); }, {"2 adjoints were given for 1"});
   Refuses("too few inputs later", [&] { compiled.Forward({x}); }, {"takes 2 tensors"});
   Refuses("nothing to go back through", [&] { compiled.Backward({torch::ones({})}); }, {"follows a Forward()", "the last one failed"});
   const auto two = CladTorch::Compile(TwoOutputs, {x});
   Refuses("one of two outputs", [&] { two.Forward({x}); }, {"returns 2 tensors"});
   const auto chosen = [](torch::Tensor t, torch::Tensor index) { return t.index({index}) * 2; };
   const auto choose = CladTorch::Compile(chosen, {x, torch::tensor({1, -8})});
   CHECK(choose.BackEnd() == "aot");
   Refuses("an index out of range", [&] { choose.Forward({x, torch::tensor({0, -9})}); }, {"index -9 of aten::index at operator 1", "size 8", "give -8 to 7"});
   Refuses("a label out of range", [&] { CladTorch::Compile([](torch::Tensor t, torch::Tensor label) { return torch::nll_loss(t, label); }, {x, torch::arange(8).remainder(4)}).Forward({x, torch::full({8}, 4)}); },
           {"index 4 of aten::nll_loss", "size 4"});
   auto changed = x.clone();
   compiled.Forward({changed, w});
   changed.add_(1);
   Refuses("an input changed in between", [&] { compiled.Backward({torch::ones({})}); }, {"changed in place"});
}

int gObservations = 0;

inline torch::Tensor Counted(torch::Tensor x, torch::Tensor w, torch::Tensor y)
{
   ++gObservations;
   const auto rows = x.size(0);
   const auto h = torch::softmax(x.matmul(w).reshape({rows, 1, 3}), 2).flatten(1);
   return torch::mse_loss(torch::cat({h, x}, 1).sum(1), y) + x.sum() / rows;
}

/// Files of compiled functions.
inline int Functions()
{
   const char *folder = gSystem->Getenv("CLADTORCH_CACHE");
   int count = 0;
   if (void *open = folder ? gSystem->OpenDirectory(folder) : nullptr) {
      while (gSystem->GetDirEntry(open))
         ++count;
      gSystem->FreeDirectory(open);
   }
   return count;
}

/// One observation, and with jit one compilation, for every number of rows.
inline void CheckDynamicBatch(CladTorch::EBackEnd backEnd)
{
   const auto inputs = [w = torch::randn({4, 3})](std::int64_t rows) {
      return Tensors{torch::randn({rows, 4}), w, torch::randn({rows})};
   };
   const auto eager = [](const Tensors &given) { return Counted(given[0], given[1], given[2]); };
   CladTorch::CompileOptions options;
   options.fDynamicBatch = true;
   options.fBackEnd = backEnd;
   gObservations = 0;
   const auto compiled = CladTorch::Compile(Counted, inputs(8), options);
   const int observations = gObservations, functions = Functions();
   const bool isJit = compiled.BackEnd() == "jit";
   for (const int rows : {8, 5, 2, 3, 64, 1000, 5}) {
      const auto given = inputs(rows);
      const auto y = compiled.Forward(given);
      compiled.Backward({torch::ones_like(y)});
   }
   CHECK(gObservations == observations + 2 * 5 && Functions() == functions); // a run without gradients and one with, for each other number
   CHECK(compiled.Specialisations() == 6);
   compiled.Print();
   for (const int rows : {8, 5, 2, 3, 64, 1000, 1})
      CHECK(Agrees(compiled, eager, inputs(rows)));
   auto strided = inputs(6);
   strided[0] = torch::randn({4, 6}).t();
   CHECK(Agrees(compiled, eager, strided));
   CHECK(compiled.BackEnd() == (isJit ? "jit" : "aot"));

   // In LibTorch's autograd, with captured parameters.
   const auto parameter = torch::randn({4, 1}).requires_grad_();
   const auto captured = CladTorch::Compile([&](torch::Tensor x) { return x.matmul(parameter).tanh(); }, {torch::randn({8, 4})}, options);
   const auto x = torch::randn({5, 4});
   const auto wanted = torch::autograd::grad({x.matmul(parameter).tanh().sum()}, {parameter})[0];
   CHECK(Close(torch::autograd::grad({captured(x).sum()}, {parameter})[0], wanted));
}

inline void CheckDynamicBatchRefusals()
{
   CladTorch::CompileOptions options;
   options.fDynamicBatch = true;
   const auto refuses = [&](const char *what, auto function, const Tensors &examples, std::initializer_list<const char *> parts) {
      Refuses(what, [&] { CladTorch::Compile(function, examples, options); }, parts);
   };
   const auto x = torch::randn({8, 4});
   refuses("half of the rows", [](torch::Tensor given) { return given.slice(0, 0, given.size(0) / 2).exp(); }, {x},
           {"operator 1", "without fDynamicBatch"});
   refuses("more operators for more rows",
           [](torch::Tensor given) { return given.size(0) > 8 ? given.exp().sin() : given.exp(); }, {x},
           {"operator 2 of function", "the end of the function with 8 rows and aten::sin with 9 rows", "branches", "fDynamicBatch"});
   refuses("a loop over the rows",
           [](torch::Tensor given) {
              auto state = torch::zeros({4});
              for (std::int64_t row = 0; row < given.size(0); ++row)
                 state = torch::tanh(state + given[row]);
              return state;
           },
           {x}, {"loops over the rows", "fDynamicBatch"});
   refuses("a root of the number of rows", [](torch::Tensor given) { return given.sum(0) / std::sqrt(given.size(0)); }, {x},
           {"aten::div at operator 2", "linear", "fDynamicBatch"});
   refuses("a captured tensor with a number for each row",
           [y = torch::randn({8, 4})](torch::Tensor given) { return given * y; }, {x}, {"8 rows but not with more", "fDynamicBatch"});
   refuses("a weight that is as long as the batch", MyGraph, {torch::randn({4, 4}), torch::randn({4, 3})},
           {"4 rows but not with more", "as long as that of the first"});
   refuses("numbers made for each row",
           [](torch::Tensor given) { return given * torch::arange(given.size(0)).unsqueeze(1).to(torch::kFloat); }, {x},
           {"makes of numbers"});
   const auto fallen = CladTorch::Compile([](torch::Tensor given) { return torch::special_i1(given); }, {x}, options);
   CHECK(fallen.BackEnd() == "autograd");
   CHECK(Agrees(fallen, [](const Tensors &given) { return torch::special_i1(given[0]); }, {torch::randn({3, 4})}));
}

/// jit if clang and Clad are available, otherwise another back end, with the reason: never an error.
inline void CheckFastest()
{
   const auto x = torch::rand({8, 4}), w = torch::rand({4, 3});
   const auto eager = [](const Tensors &given) { return MyGraph(given[0], given[1]); };
   CladTorch::CompileOptions options;
   options.fBackEnd = CladTorch::kFastestBackEnd;
   const auto fastest = CladTorch::Compile(MyGraph, {x, w}, options);
   std::cout << "the fastest back end here: " << fastest.BackEnd() << ' ' << fastest.Reason() << std::endl;
   CHECK(fastest.BackEnd() == "jit" ? fastest.Reason().empty() : fastest.BackEnd() == "aot" && !fastest.Reason().empty());
   CHECK(Agrees(fastest, eager, {x, w}));
}

inline void CheckCompile()
{
   CheckValuesAndSpecialisations();
   CheckAutograd();
   CheckSensitivity();
   CheckNothingIsLeftBehind();
   CheckSideEffects();
   CheckThreads();
   CheckRefusals();
   CheckDynamicBatch(CladTorch::kAnyBackEnd);
   CheckDynamicBatch(CladTorch::kFastestBackEnd);
   CheckDynamicBatchRefusals();
   CheckFastest();
}

#endif
