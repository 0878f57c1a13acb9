/// \file compile_captured.h
/// \brief Compiled functions and the state outside their inputs: captured tensors that change, calls that overlap,
/// tensors that differ from the contents of their memory.

#ifndef CLADTORCH_TEST_COMPILE_CAPTURED
#define CLADTORCH_TEST_COMPILE_CAPTURED

#include "compile_checks.h"

namespace Captured {

/// LibTorch throws its own exceptions from backward().
inline void GoBack(const torch::Tensor &value)
{
   CladTorch::Internal::TorchGuard("test", [&] { value.backward(); });
}

/// A parameter that was frozen when the function was observed, is trained later, and frozen again.
inline void FrozenParameters()
{
   auto w = torch::randn({4});
   const auto x = torch::randn({3, 4});
   auto v = torch::randn({4}).requires_grad_();
   const auto compiled = CladTorch::Compile([&](torch::Tensor given) { return (given * w * v).sum(); }, {x});
   GoBack(compiled(x));
   CHECK(!w.grad().defined() && Close(v.grad(), (x * w).sum(0)));
   w.requires_grad_();
   GoBack(compiled(x));
   CHECK(w.grad().defined() && Close(w.grad(), (x * v.detach()).sum(0)));
   w.requires_grad_(false);
   w.mutable_grad() = torch::Tensor();
   GoBack(compiled(x));
   CHECK(!w.grad().defined() && compiled.BackEnd() == "aot");
}

/// Jacobian() is independent of a Forward() and its Backward() around it.
inline void JacobianBetweenForwardAndBackward()
{
   const auto x = torch::randn({5}, torch::kFloat64), other = torch::randn({5}, torch::kFloat64);
   const auto compiled = CladTorch::Compile([](torch::Tensor given) { return given.exp().sum(); }, {x});
   const auto y = compiled.Forward({x});
   CHECK(Close(compiled.Jacobian({other})[0], other.exp()));
   CHECK(Close(compiled.Backward({torch::ones_like(y)})[0], x.exp()));
}

/// LibTorch defers the change of sign in `imag(conj(z))`: the memory holds the opposite.
inline void NegativeViews()
{
   const auto z = torch::randn({6}, torch::kComplexFloat);
   const auto x = torch::imag(z.conj());
   CHECK(x.is_neg());
   const auto compiled = CladTorch::Compile([](torch::Tensor given) { return given.exp(); }, {torch::randn({6})});
   CHECK(Close(compiled.Forward({x}), x.exp()));
   CHECK(Close(compiled.Backward({x})[0], x * x.exp()));
   CHECK(Close(compiled(x), x.exp()));
   const auto leaf = torch::randn({6}, torch::kComplexFloat).requires_grad_();
   const auto eager = torch::autograd::grad({torch::imag(leaf.conj()).exp().sum()}, {leaf})[0];
   const auto found = torch::autograd::grad({compiled(torch::imag(leaf.conj())).sum()}, {leaf})[0];
   CHECK(torch::allclose(eager, found));
   const auto captured = CladTorch::Compile([&](torch::Tensor given) { return given * x; }, {torch::randn({6})});
   CHECK(Close(captured.Forward({torch::ones({6})}), x.clone()));
   CHECK(Close(CladTorch::Compile([](torch::Tensor given) { return given.exp(); }, {x}).Forward({x}), x.exp()));
}

/// Batch normalisation in training changes its running statistics at each call; a graph with two calls still goes
/// backward.
inline void TwoBatches()
{
   const auto run = [](bool compile) {
      torch::manual_seed(4);
      torch::nn::BatchNorm1d norm(4);
      const auto a = torch::randn({16, 4}), b = torch::randn({16, 4});
      std::function<torch::Tensor(torch::Tensor)> function = [&](torch::Tensor x) { return norm->forward(x).square(); };
      if (compile)
         function = CladTorch::Compile(function, {a});
      const auto weights = torch::rand({16, 4});
      GoBack((function(a) * weights).sum() + (function(b) * weights).sum());
      return Tensors{norm->weight.grad(), norm->bias.grad(), norm->running_mean, norm->running_var};
   };
   const auto eager = run(false), compiled = run(true);
   for (std::size_t i = 0; i < eager.size(); ++i)
      CHECK(Close(eager[i], compiled[i]));
   torch::nn::BatchNorm1d norm(4);
   const auto x = torch::randn({16, 4});
   const auto compiled2 = CladTorch::Compile([&](torch::Tensor given) { return norm->forward(given); }, {x});
   CHECK(compiled2.BackEnd() == "aot");
}

/// Running statistics that a function changes twice, and running statistics and counters that it changes and uses
/// otherwise: LibTorch runs these.
inline void ChangedAndUsedAgain()
{
   torch::nn::BatchNorm1d norm(4);
   const auto x = torch::randn({16, 4});
   const auto twice = CladTorch::Compile([&](torch::Tensor given) { return norm->forward(norm->forward(given) + 1); }, {x});
   CHECK(twice.BackEnd() == "aot");
   twice.Forward({x});
   CHECK(norm->num_batches_tracked.item<int>() == 2);
   CHECK(Close(norm->running_mean, 0.09 * x.mean(0) + 0.1));
   torch::nn::BatchNorm1d other(torch::nn::BatchNorm1dOptions(4).track_running_stats(true));
   const auto mean = other->running_mean, variance = other->running_var;
   const auto reading = CladTorch::Compile(
      [&](torch::Tensor given) { return torch::batch_norm(given, {}, {}, mean, variance, true, 0.1, 1e-5, false) + mean; }, {x});
   CHECK(reading.BackEnd() == "autograd" && reading.Reason().find("running statistics") != std::string::npos);
   CHECK(Close(reading.Forward({x}).mean(0), 0.1 * x.mean(0)));
   norm->eval();
   CHECK(CladTorch::Compile([&](torch::Tensor given) { return norm->forward(norm->forward(given)); }, {x}).BackEnd() == "aot");
   auto calls = torch::ones({}, torch::kLong);
   const auto doubling = CladTorch::Compile([&](torch::Tensor given) { calls.add_(1).mul_(2); return given.exp(); }, {x});
   doubling.Forward({x});
   CHECK(calls.item<int>() == 4);
}

/// A second derivative runs the function itself again: the first pass has counted already.
inline void SecondDerivatives()
{
   torch::nn::BatchNorm1d norm(4);
   const auto compiled = CladTorch::Compile([&](torch::Tensor given) { return norm->forward(given).pow(3).sum(); }, {torch::randn({16, 4})});
   CHECK(compiled.BackEnd() == "aot");
   const auto x = torch::randn({16, 4}).requires_grad_();
   const auto y = compiled(x);
   const auto mean = norm->running_mean.clone(), variance = norm->running_var.clone();
   const auto first = torch::autograd::grad({y}, {x}, {}, true, true)[0];
   const auto second = torch::autograd::grad({first.square().sum()}, {x})[0];
   CHECK(norm->num_batches_tracked.item<int>() == 1);
   CHECK(torch::equal(norm->running_mean, mean) && torch::equal(norm->running_var, variance));
   const auto eager = torch::autograd::grad({norm->forward(x).pow(3).sum()}, {x}, {}, true, true)[0];
   CHECK(Close(first, eager) && Close(second, torch::autograd::grad({eager.square().sum()}, {x})[0]));
}

/// Observing a function leaves no trace, whatever it does to captured tensors.
inline void NothingIsLeftBehind()
{
   const auto x = torch::randn({4});
   auto expanded = torch::zeros({1}).expand({4});
   Refuses("a captured tensor with elements in one place",
           [&] { CladTorch::Compile([&](torch::Tensor given) { return given * expanded.add_(1); }, {x}); }, {"single memory location"});
   CHECK(expanded.sum().item<float>() == 0);

   auto cache = torch::zeros({2, 4});
   const auto caching = CladTorch::Compile([&](torch::Tensor given) { cache[0].copy_(given); return given * 2; }, {x});
   CHECK(caching.BackEnd() == "autograd" && caching.Reason().find("aten::copy_") != std::string::npos);
   CHECK(torch::equal(cache, torch::zeros({2, 4})));
   caching.Forward({x});
   CHECK(torch::equal(cache[0], x));

   auto views = torch::arange(8, torch::kFloat);
   CladTorch::Compile(
      [&](torch::Tensor given) {
         for (int first = 0; first < 5; ++first)
            views.narrow(0, first, 4).add_(given).mul_(2);
         return given.exp();
      },
      {x});
   CHECK(torch::equal(views, torch::arange(8, torch::kFloat)));

   auto kept = torch::ones({2, 3});
   CladTorch::Compile([&](torch::Tensor given) { kept.resize_({40, 50}).fill_(3); return given.exp(); }, {x});
   CHECK(kept.sizes() == at::IntArrayRef({2, 3}) && torch::equal(kept, torch::ones({2, 3})));
   auto turned = torch::arange(6, torch::kFloat).view({2, 3});
   CladTorch::Compile([&](torch::Tensor given) { turned.t_(); return given.exp(); }, {x});
   CHECK(turned.sizes() == at::IntArrayRef({2, 3}) && turned[1][0].item<float>() == 3);
   Tensors list{torch::zeros({3})};
   const auto many = CladTorch::Compile([&](torch::Tensor given) { torch::_foreach_add_(list, 1); return given.exp(); }, {x});
   CHECK(many.BackEnd() == "autograd" && torch::equal(list[0], torch::zeros({3})));
}

/// A number read from a captured tensor, or from whole numbers, may differ later.
inline void NumbersOfCapturedTensors()
{
   const auto x = torch::randn({4});
   const auto runs = [&](const char *what, CladTorch::Compiled compiled) {
      std::printf("%s: %s: %s\n", what, compiled.BackEnd().c_str(), compiled.Reason().c_str());
      return compiled.BackEnd() == "autograd" && compiled.Reason().find("before operator 1 ") != std::string::npos;
   };
   auto scale = torch::tensor(2.f);
   const auto scaled = CladTorch::Compile([&](torch::Tensor given) { return given * scale.item<double>(); }, {x});
   CHECK(runs("scale", scaled) && scaled.Reason().find("item") != std::string::npos);
   scale.fill_(3);
   CHECK(Close(scaled.Forward({x}), 3 * x) && Close(scaled.Backward({torch::ones({4})})[0], torch::full({4}, 3.f)));

   auto flag = torch::tensor(true);
   const auto branch = CladTorch::Compile([&](torch::Tensor given) { return flag.item<bool>() ? given.exp() : given.sin(); }, {x});
   CHECK(runs("flag", branch));
   flag.fill_(false);
   CHECK(Close(branch.Forward({x}), x.sin()));

   const auto weights = torch::ones({3});
   const auto summed = CladTorch::Compile([&](torch::Tensor given) { return given * weights.sum().item<double>(); }, {x});
   CHECK(summed.BackEnd() == "autograd" && summed.Reason().find("before operator 2 ") != std::string::npos);
   const auto other = torch::ones({3});
   const auto equal = CladTorch::Compile([&](torch::Tensor given) { return torch::equal(scale, other) ? given : given.exp(); }, {x});
   CHECK(runs("equal", equal));
   const auto count = CladTorch::Compile(
      [](torch::Tensor given, torch::Tensor n) { return given * n.item<std::int64_t>(); }, {x, torch::tensor(2)});
   CHECK(runs("count", count));
   CHECK(Close(count.Forward({x, torch::tensor(5)}), 5 * x));
   // These read no value that may change: whole numbers compared with themselves, a number that the function made.
   const auto whole = torch::ones({3}, torch::kLong);
   const auto own = CladTorch::Compile(
      [&](torch::Tensor given) { return torch::equal(whole, whole) ? given * torch::arange(3).sum().item<std::int64_t>() : given; }, {x});
   CHECK(own.BackEnd() == "aot" && Close(own.Forward({x}), 3 * x));
}

/// Tensors without a version, as in code that only predicts.
inline void InferenceMode()
{
   torch::nn::Linear layer(4, 3);
   const auto compiled = CladTorch::Compile([&](torch::Tensor given) { return layer->forward(given).tanh(); }, {torch::randn({8, 4})});
   const auto special = CladTorch::Compile([](torch::Tensor given) { return torch::special_i1(given); }, {torch::randn({8, 4})});
   CHECK(special.BackEnd() == "autograd");
   const c10::InferenceMode predicting;
   for (const int rows : {8, 5}) { // known and not
      const auto x = torch::randn({rows, 4});
      CHECK(x.is_inference());
      CHECK(Close(compiled.Forward({x}), layer->forward(x).tanh()));
      const auto slope = 1 - layer->forward(x).tanh().square();
      CHECK(Close(compiled.Backward({torch::ones({rows, 3})})[0], slope.matmul(layer->weight.detach())));
      CHECK(Close(compiled(x), layer->forward(x).tanh()));
      CHECK(Close(special.Forward({x}), torch::special_i1(x)));
      CHECK(special.Backward({torch::ones({rows, 4})})[0].sizes() == x.sizes());
      CHECK(Close(special(x), torch::special_i1(x)));
   }
   const auto x = torch::randn({4});
   const auto cubes = CladTorch::Compile([](torch::Tensor given) { return given.pow(3).sum(); }, {x});
   CHECK(Close(cubes.HessianVector({x}, {torch::ones({4})})[0], 6 * x));
   CHECK(Close(cubes.Jacobian({x})[0], 3 * x * x));
}

/// As an operator's own kernel may call it: LibTorch is told not to record, but the function's gradient is still
/// available.
inline void Unrecorded()
{
   const auto x = torch::randn({4});
   const auto special = CladTorch::Compile([](torch::Tensor given) { return torch::special_i1(given); }, {x});
   const auto square = CladTorch::Compile([](torch::Tensor given) { return given.square(); }, {x});
   const auto slope = torch::special_i0(x) - torch::special_i1(x) / x;
   const auto both = [&] {
      special.Forward({x});
      CHECK(Close(special.Backward({torch::ones({4})})[0], slope));
      square.Forward({x});
      CHECK(Close(square.Backward({torch::ones({4})})[0], 2 * x));
   };
   {
      const torch::NoGradGuard off;
      both();
   }
   const at::AutoDispatchBelowADInplaceOrView below;
   both();
}

/// The code that jit wrote, for reading; the other back ends write none.
inline void Code()
{
   const auto x = torch::randn({8, 4});
   const auto function = [](torch::Tensor given) { return given.exp().sum(); };
   CladTorch::CompileOptions options;
   options.fName = "energies";
   options.fBackEnd = CladTorch::kFastestBackEnd;
   const auto fastest = CladTorch::Compile(function, {x}, options);
   const auto code = fastest.Code();
   std::printf("%s\n", code.c_str());
   const auto has = [&](const char *part) { return code.find(part) != std::string::npos; };
   CHECK(fastest.BackEnd() == "jit" ? has("energies") && has("_grad") : code.empty());
   CHECK(CladTorch::Compile(function, {x}).Code().empty());
}

/// The shapes alone, of an input that has no dimension.
inline void ShapeOfANumber()
{
   const auto layers = c10::Dispatcher::singleton().findSchemaOrThrow("cladtorch::layers", "");
   const auto on = torch::TensorOptions().device(torch::kMeta);
   Refuses("no dimension",
           [&] {
              CladTorch::Internal::TorchGuard("test", [&] {
                 torch::jit::Stack stack{torch::empty({}, on), Tensors{torch::empty({3, 4}, on), torch::empty({3}, on)}, "relu", false};
                 layers.callBoxed(stack);
              });
           },
           {"no dimension"});
}

/// A function that replaces its state, or counts, runs once per call as soon as that is known.
inline void State()
{
   struct Network {
      torch::Tensor fState = torch::zeros({4});
      int fRuns = 0;
   };
   using Function = std::function<torch::Tensor(Network &, torch::Tensor)>;
   const Function functions[] = {[](Network &n, torch::Tensor x) {
                                    ++n.fRuns;
                                    n.fState = (x.mean(0) + n.fState.detach()).tanh();
                                    return x * n.fState;
                                 },
                                 [](Network &n, torch::Tensor x) { return x.sin() * double(++n.fRuns); }};
   for (const auto &function : functions) {
      const auto observed = std::make_shared<Network>();
      const auto compiled = CladTorch::Compile([=](torch::Tensor x) { return function(*observed, x); }, {torch::randn({3, 4})});
      std::cout << compiled.BackEnd() << " " << compiled.Reason() << std::endl;
      CHECK(compiled.BackEnd() == "autograd");
      Network eager = *observed;
      for (int call = 0; call < 6; ++call) {
         const auto x = torch::randn({3 + call % 2, 4}).requires_grad_(call > 2);
         const auto wanted = function(eager, x), found = call % 3 == 0 ? compiled.Forward({x}) : compiled(x);
         CHECK(observed->fRuns == eager.fRuns);
         CHECK(torch::allclose(found, wanted) && torch::allclose(observed->fState, eager.fState));
      }
   }
}

/// A tensor that a function keeps comes from the last call.
inline void KeptTensors()
{
   torch::Tensor weights;
   std::vector<torch::Tensor> all;
   const auto attention = [&](torch::Tensor x) {
      weights = x.mm(x.t()).softmax(-1);
      return weights.mm(x);
   };
   const auto list = [&](torch::Tensor x) {
      all.push_back(x.exp().sum());
      return x.exp() * 2;
   };
   torch::Tensor mask;
   const auto cache = [&](torch::Tensor x) {
      if (!mask.defined())
         mask = torch::ones({3, 4}).tril();
      return (x * mask).sin();
   };
   const auto x = torch::randn({3, 4}), y = torch::randn({3, 4});
   const auto withWeights = CladTorch::Compile(attention, {x}), withList = CladTorch::Compile(list, {x});
   CHECK(withWeights.BackEnd() == "autograd" && withWeights.Reason().find("keeps a tensor") != std::string::npos);
   CHECK(withList.BackEnd() == "autograd" && withList.Reason().find("keeps a tensor") != std::string::npos);
   withWeights(y);
   CHECK(torch::allclose(weights, y.mm(y.t()).softmax(-1)));
   const auto before = all.size();
   withList(y);
   CHECK(all.size() == before + 1 && torch::allclose(all.back(), y.exp().sum()));
   CHECK(CladTorch::Compile(cache, {x}).BackEnd() == "aot");
}

/// A change that the caller makes to a gradient of Backward() affects neither another gradient nor the adjoint.
inline void GradientsApart()
{
   const auto x = torch::randn({3, 4}), b = torch::randn({3, 4});
   for (const auto backEnd : {CladTorch::kAotBackEnd, CladTorch::kAutogradBackEnd}) {
      CladTorch::CompileOptions options;
      options.fBackEnd = backEnd;
      const auto compiled = CladTorch::Compile([](torch::Tensor s, torch::Tensor t) { return s + t; }, {x, b}, options);
      const auto value = compiled.Forward({x, b});
      const auto adjoint = torch::ones({3, 4}).requires_grad_();
      const auto gradients = compiled.Backward({adjoint});
      CHECK(!gradients[0].requires_grad() && !gradients[1].requires_grad());
      gradients[0].mul_(5);
      CHECK((gradients[1] == 1).all().item<bool>() && (adjoint == 1).all().item<bool>());
   }
}

inline void CheckAll()
{
   FrozenParameters();
   JacobianBetweenForwardAndBackward();
   NegativeViews();
   TwoBatches();
   ChangedAndUsedAgain();
   SecondDerivatives();
   NothingIsLeftBehind();
   NumbersOfCapturedTensors();
   InferenceMode();
   Unrecorded();
   Code();
   ShapeOfANumber();
   State();
   KeptTensors();
   GradientsApart();
}

} // namespace Captured

#endif
