/// \file compile_pure.h
/// \brief Functions that are more than a pure function of their inputs, against LibTorch without Compile.

#ifndef CLADTORCH_TEST_COMPILE_PURE
#define CLADTORCH_TEST_COMPILE_PURE

#include <TSystem.h>

#include <CladTorch/Torch.hxx>

#include "compile_eager.h"
#include "compile_kinds.h"

#include <limits>

/// Tensors that the function makes of numbers.
inline void OwnTensors()
{
   const auto x = torch::randn({3, 4});
   const auto aot = [&](const char *name, const Function &function) { Check(AsEager(name, function, x, "aot"), name, __FILE__, __LINE__); };
   aot("tensor", [](const torch::Tensor &t) { return t * torch::tensor({1.f, 2.f, 3.f, 4.f}); });
   aot("two tensors", [](const torch::Tensor &t) { return t.index_select(1, torch::tensor({3, 0, 1, 1})) * torch::tensor({1.f, 2.f, 3.f, 4.f}); });
   aot("ones", [](const torch::Tensor &t) { return t + torch::ones({4}) * 3; });
   aot("zeros", [](const torch::Tensor &t) { return (t * torch::zeros({4})).exp(); });
   aot("full", [](const torch::Tensor &t) { return t * torch::full({3, 1}, 2.5f); });
   aot("linspace", [](const torch::Tensor &t) { return t * torch::linspace(0, 1, 4); });
   aot("arange", [](const torch::Tensor &t) { return t * torch::arange(4, torch::kFloat); });
   aot("eye", [](const torch::Tensor &t) { return t.matmul(torch::eye(4)); });
   aot("scalar_tensor", [](const torch::Tensor &t) { return t * torch::scalar_tensor(3.5f); });
   aot("empty and fill_", [](const torch::Tensor &t) { return t * torch::empty({4}).fill_(7); });
   aot("two rows", [](const torch::Tensor &t) { return t.matmul(torch::tensor({{1.f, 0.f}, {2.f, 1.f}, {0.f, 3.f}, {1.f, 1.f}})); });
   aot("the state of a recurrent network", [](const torch::Tensor &t) {
      auto state = torch::zeros({4});
      for (int step = 0; step < 3; ++step)
         state = torch::tanh(state * 0.5 + t[step]);
      return state;
   });
   const auto torchRuns = [&](const char *name, const Function &function) {
      Check(AsEager(name, function, x, "autograd"), name, __FILE__, __LINE__);
   };
   torchRuns("an accessor fills it", [](const torch::Tensor &t) {
      auto own = torch::empty({4});
      auto numbers = own.accessor<float, 1>();
      for (int i = 0; i < 4; ++i)
         numbers[i] = i + 1;
      return t * own;
   });
   torchRuns("an accessor changes it", [](const torch::Tensor &t) {
      auto own = torch::zeros({4});
      own.data_ptr<float>()[2] = 5;
      return t * own;
   });
   torchRuns("a tensor changed in place", [](const torch::Tensor &t) {
      auto own = torch::tensor({1.f, 2.f, 3.f, 4.f});
      own.mul_(2).add_(1);
      return t * own;
   });
   torchRuns("data() changes it", [](const torch::Tensor &t) {
      const auto own = torch::ones({4});
      own.data().mul_(2);
      return t * own;
   });
   std::vector<float> memory{1, 2, 3, 4};
   torchRuns("memory from elsewhere", [&](const torch::Tensor &t) { return t * torch::from_blob(memory.data(), {4}); });
   torchRuns("random numbers", [](const torch::Tensor &t) { return t * torch::rand({4}); });
}

/// Tensors that the function makes once and keeps are not destroyed by observing it.
inline void KeptTensors()
{
   const auto x = torch::randn({3, 4});
   torch::Tensor kept, filled;
   const auto compiled = CladTorch::Compile(
      [&](torch::Tensor t) {
         if (!kept.defined())
            kept = torch::tensor({1.f, 2.f, 3.f, 4.f});
         if (!filled.defined())
            filled = torch::empty({4}).fill_(2);
         return t * kept * filled;
      },
      {x});
   CHECK(!compiled.BackEnd().empty());
   CHECK(torch::equal(kept, torch::arange(1, 5, torch::kFloat)) && torch::equal(filled, torch::full({4}, 2.f)));
   CHECK(Same(compiled(x), x * kept * 2));
   kept.mul_(10);
   CHECK(Same(compiled(x), x * kept * 2) && kept[3].item<float>() == 40);
   // By operators that allocate memory and fill it by other operators.
   const std::vector<std::function<torch::Tensor()>> makers{
      [] { return torch::arange(4, torch::kFloat); },
      [] { return torch::ones({5, 4}).sum(0); },
      [] { return torch::ones({4, 4}).tril().mean(1); },
      [] { return std::get<0>(torch::tensor({3.f, 1.f, 2.f, 4.f}).sort()); },
      [] { return torch::ones({4}).cumsum(0); },
   };
   for (const auto &make : makers) {
      torch::Tensor once;
      const auto function = CladTorch::Compile(
         [&](torch::Tensor t) {
            if (!once.defined())
               once = make();
            return t * once;
         },
         {x});
      CHECK(torch::equal(once, make()) && Same(function(x), x * make()));
   }
}

/// Numbers that are read, and branches on them.
inline void ReadValues()
{
   const auto x = torch::randn({3, 4});
   const auto torchRuns = [&](const char *name, const Function &function) {
      Check(AsEager(name, function, x, "autograd"), name, __FILE__, __LINE__);
   };
   torchRuns("any isnan", [](const torch::Tensor &t) { return t.isnan().any().item<bool>() ? torch::zeros_like(t) : t * 2; });
   torchRuns("TORCH_CHECK", [](const torch::Tensor &t) {
      TORCH_CHECK(t.sum().item<float>() < 100, "too much");
      return t * 2;
   });
   torchRuns("an exception", [](const torch::Tensor &t) {
      if (t.max().item<float>() > 20)
         throw std::invalid_argument("too great");
      return t * 2;
   });
   torchRuns("is_nonzero", [](const torch::Tensor &t) { return t.sum().is_nonzero() ? t * 2 : t * 3; });
   torchRuns("equal", [](const torch::Tensor &t) { return torch::equal(t, t.abs()) ? t * 2 : t * 3; });
   torchRuns("equal to itself", [](const torch::Tensor &t) { return torch::equal(t, t) ? t * 2 : t * 3; });
   torchRuns("allclose", [](const torch::Tensor &t) { return torch::allclose(t, torch::zeros_like(t), 1, 20) ? t * 2 : t * 3; });
   torchRuns("a factor", [](const torch::Tensor &t) { return t * t.detach().norm().item<float>(); });
   torchRuns("an accessor", [](const torch::Tensor &t) {
      const auto numbers = t.accessor<float, 2>();
      return numbers[1][1] > 20 ? t * 2 : t * 3;
   });
   torchRuns("data_ptr of a result", [](const torch::Tensor &t) {
      const auto twice = (t * 2).contiguous();
      return twice.data_ptr<float>()[3] > 20 ? twice : t * 3;
   });
   torchRuns("const_data_ptr", [](const torch::Tensor &t) { return t.const_data_ptr<float>()[0] > 20 ? t * 2 : t * 3; });
   torchRuns("masked_select", [](const torch::Tensor &t) { return t.masked_select(t > 0).exp().sum(); });
   torchRuns("a mask as index", [](const torch::Tensor &t) { return t.index({t > 0}).exp().sum(); });
   torchRuns("a mask among indices", [](const torch::Tensor &t) { return t.index({t.select(1, 0) > -100, torch::tensor({2, 0, 1})}).exp().sum(); });
   torchRuns("a mask before an index", [](const torch::Tensor &t) { return t.index({t.select(1, 0) > t.select(1, 0).mean(), torch::tensor({1})}); });
   torchRuns("nonzero", [](const torch::Tensor &t) { return t.sum() * static_cast<double>(t.nonzero().size(0)); });
   Tensors recent(1);
   torchRuns("a tensor that is kept from call to call", [&](const torch::Tensor &t) {
      recent[0] = torch::ones({4});
      return t * recent[0].data_ptr<float>()[0];
   });
}

/// Gradients that differ from those of the operators.
inline void OwnGradients()
{
   const auto x = torch::randn({3, 4});
   const auto torchRuns = [&](const char *name, const Function &function) {
      Check(AsEager(name, function, x, "autograd"), name, __FILE__, __LINE__);
   };
#ifndef __CLING__
   torchRuns("gradient reversal", [](const torch::Tensor &t) { return Reversal::apply(t.exp()).sin(); });
   torchRuns("straight through", [](const torch::Tensor &t) { return Straight::apply(t * 2).sum() + t.sum(); });
   torchRuns("a forward below autograd", [](const torch::Tensor &t) { return Below::apply(t * 2).sum() + t.sum(); });
#endif
   torchRuns("NoGradGuard", [](const torch::Tensor &t) {
      torch::Tensor scale;
      {
         const torch::NoGradGuard off;
         scale = t.exp();
      }
      return t * scale;
   });
   torchRuns("AutoGradMode", [](const torch::Tensor &t) {
      const torch::AutoGradMode off(false);
      return t.exp() * t;
   });
   torchRuns("gradients on", [](const torch::Tensor &t) {
      const torch::AutoGradMode on(true);
      return t.exp() * t;
   });
   torchRuns("below autograd", [](const torch::Tensor &t) {
      torch::Tensor scale;
      {
         const at::AutoDispatchBelowAutograd below;
         scale = t.exp();
      }
      return t * scale;
   });
   torchRuns("a hook", [](const torch::Tensor &t) {
      const auto inner = t.exp();
      if (inner.requires_grad())
         inner.register_hook([](torch::Tensor gradient) { return gradient * 2; });
      return inner.sin();
   });
   torchRuns("a hook on the input", [](const torch::Tensor &t) {
      if (t.requires_grad())
         t.register_hook([](torch::Tensor gradient) { return gradient * 2; });
      return t.sin();
   });
   torchRuns("requires_grad", [](const torch::Tensor &t) { return t.requires_grad() ? t * 2 : t * 3; });
   torchRuns("whether gradients are on", [](const torch::Tensor &t) { return torch::GradMode::is_enabled() ? t.exp() : t.sin(); });
   torchRuns("data()", [](const torch::Tensor &t) { return t * t.data().exp(); });
   torchRuns("autograd::grad", [](const torch::Tensor &t) {
      const torch::AutoGradMode on(true);
      const auto leaf = t.detach().requires_grad_();
      return torch::autograd::grad({leaf.pow(3).sum()}, {leaf})[0] + t;
   });
   torchRuns("the gradient of the input", [](const torch::Tensor &t) {
      return torch::autograd::grad({t.pow(3).sum()}, {t}, {}, true, true)[0] + t;
   });
   Check(AsEager("detach", [](const torch::Tensor &t) { return t * t.exp().detach() + t.detach(); }, x, "aot"), "detach", __FILE__, __LINE__);
   const auto inner = CladTorch::Compile([](torch::Tensor t) { return t.exp().sin(); }, {x});
   torchRuns("a compiled function", [inner](const torch::Tensor &t) { return inner(t * 2) + t; });
   const auto teacher = torch::randn({4, 4}).requires_grad_();
   torchRuns("a teacher", [teacher](const torch::Tensor &t) {
      const torch::NoGradGuard off;
      return t.matmul(teacher);
   });
}

/// Results and captured tensors that are the same.
inline void Aliases()
{
   const auto x = torch::randn({3, 4});
   const auto w = torch::randn({4}).requires_grad_();
   const auto torchRuns = [&](const char *name, const Function &function) {
      Check(AsEager(name, function, x, "autograd"), name, __FILE__, __LINE__);
   };
   torchRuns("the input", [](const torch::Tensor &t) { return t; });
   torchRuns("a view of the input", [](const torch::Tensor &t) { return t[1]; });
   torchRuns("a captured tensor", [&](const torch::Tensor &) { return w; });
   const auto same = CladTorch::Compile([](torch::Tensor t) { return Tensors{t.exp(), t.sin()}; }, {x});
   CHECK(!same.BackEnd().empty());
   const auto shared = CladTorch::Compile([](torch::Tensor t) { const auto y = t.exp(); return Tensors{y, y[0]}; }, {x});
   CHECK(shared.BackEnd() == "autograd");
   auto results = shared.CallAll({x});
   results[0].zero_();
   CHECK(results[1].abs().sum().item<float>() == 0);

   // A captured tensor that autograd computed: its gradient continues to the tensors that it was computed from.
   const auto squared = w * w;
   const auto derived = CladTorch::Compile([squared](torch::Tensor t) { return (t * squared).sum(); }, {x});
   const auto gradient = torch::autograd::grad({derived(x)}, {w}, {}, true)[0];
   CHECK(Same(gradient, 2 * w.detach() * x.sum(0)));
   auto fresh = torch::ones({4});
   torchRuns("a captured tensor that is replaced", [&](const torch::Tensor &t) {
      fresh = fresh.clone();
      return t * fresh;
   });
}

/// Cases in which the kernels' numbers were not LibTorch's.
inline void Numbers()
{
   const auto aot = [&](const char *name, const Function &function, const torch::Tensor &x) {
      Check(AsEager(name, function, x, "aot"), name, __FILE__, __LINE__);
   };
   // Codes of nuclei need 30 bits; float32 has 24.
   const auto codes = torch::tensor(std::vector<std::int64_t>{1000822080, 1000822081, 16777216, 16777217, -5, 0, 9007199254740993, -9007199254740993});
   const auto others = codes.roll(1) + torch::tensor(std::vector<std::int64_t>{0, 0, 0, 1, 0, -5, 0, 0});
   const auto x = torch::randn({8});
   using Comparison = torch::Tensor (torch::Tensor::*)(const torch::Tensor &) const;
   for (const Comparison compare : {static_cast<Comparison>(&torch::Tensor::eq), static_cast<Comparison>(&torch::Tensor::ne),
                                    static_cast<Comparison>(&torch::Tensor::lt), static_cast<Comparison>(&torch::Tensor::le),
                                    static_cast<Comparison>(&torch::Tensor::gt), static_cast<Comparison>(&torch::Tensor::ge)})
      aot("integers", [=](const torch::Tensor &t) { return torch::where((codes.*compare)(others), t, t * 2); }, x);
   for (const std::int64_t number : {1000822081L, 16777217L, 16777216L, 3L, -5L, -9007199254740993L, 9007199254740992L})
      aot("an integer",
          [=](const torch::Tensor &t) { return t * (codes == number) + t * 2 * (codes < number) + t * 4 * (codes >= number); }, x);

   const auto q = torch::randn({2, 5, 4}), keys = torch::randn({2, 3, 4});
   auto mask = torch::rand({2, 5, 3}) > 0.4;
   mask[0][2].fill_(false);
   const auto bias = torch::where(mask, torch::randn({2, 5, 3}), torch::full({}, -std::numeric_limits<float>::infinity()));
   for (const auto &given : {mask, bias}) { // of finite numbers: LibTorch keeps a NaN out of masked rows
      const Function attention = [=](const torch::Tensor &t) {
         return torch::scaled_dot_product_attention(q, t, t + keys, given);
      };
      const auto compiled = CladTorch::Compile([=](torch::Tensor t) { return attention(t); }, {torch::randn({2, 3, 4})});
      const auto t = torch::randn({2, 3, 4});
      const auto wanted = Call(attention, t), found = Call([&](const torch::Tensor &x) { return compiled(x); }, t);
      CHECK(Same(wanted.fValue, found.fValue) && Same(wanted.fGradient, found.fGradient));
   }

   const auto nan = torch::full({}, std::numeric_limits<float>::quiet_NaN());
   auto low = torch::randn({8}), high = low + 1;
   low[2] = high[4] = nan;
   aot("bounds", [=](const torch::Tensor &t) { return torch::clamp(t, low, high); }, x);
   Check(AsEager("a bound that is no number", [](const torch::Tensor &t) { return torch::clamp(t, NAN, 1.); }, x, "autograd"),
         "a bound that is no number", __FILE__, __LINE__);

   for (const double spread : {1., 1e-1}) {
      const auto far = [=](const torch::Tensor &t) { return 1e5 + t * spread; };
      const auto compiled = CladTorch::Compile([=](torch::Tensor t) { return far(t).var(1); }, {torch::randn({4, 500})});
      const auto t = torch::randn({4, 500});
      const auto exact = far(t).to(torch::kFloat64).var(1);
      CHECK(torch::allclose(compiled(t).to(torch::kFloat64), exact, 1e-5, 0));
   }
}

/// Branches on the number of rows, which one observation for all numbers does not show.
inline void Rows()
{
   CladTorch::CompileOptions options;
   options.fDynamicBatch = true;
   int calls = 0;
   const auto function = [&](torch::Tensor t) {
      ++calls;
      if (t.size(0) == 1000)
         return t.exp().sum(1);
      if (t.size(0) < 4)
         return t.sin().sum(1);
      return (t.size(0) > 100 ? t * 2 : t * 3).sum(1);
   };
   const auto compiled = CladTorch::Compile(function, {torch::randn({8, 4})}, options);
   for (const int rows : {8, 50, 99, 100, 101, 500, 999, 1000, 1001, 3, 2, 1}) {
      const auto x = torch::randn({rows, 4});
      CHECK(Same(compiled(x), function(x)));
   }
   calls = 0;
   for (const int rows : {8, 50, 1000, 3})
      compiled(torch::randn({rows, 4}));
   CHECK(calls == 0);
}

/// Shapes that displace one another are not observed repeatedly.
inline void ManyShapes()
{
   std::size_t calls = 0;
   const auto function = [&](torch::Tensor t) {
      ++calls;
      return (t * 2).sin().sum();
   };
   const auto compiled = CladTorch::Compile(function, {torch::randn({1, 2})});
   const auto observed = calls; // for one shape
   const std::size_t shapes = 700;
   for (std::size_t round = 0; round < 2; ++round)
      for (std::size_t rows = 1; rows <= shapes; ++rows) {
         const auto x = torch::ones({static_cast<std::int64_t>(rows), 2});
         CHECK(Same(compiled(x), (x * 2).sin().sum()));
      }
   CHECK(compiled.Specialisations() == 256);
   CHECK(calls < observed * 320 + 2 * shapes);
}

/// Changes between calls.
inline void Changes()
{
   const auto x = torch::randn({6, 4});
   torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::BatchNorm1d(8), torch::nn::Dropout(0.5), torch::nn::Linear(8, 2));
   const auto compiled = CladTorch::Compile(net, {x});
   const auto pointer = CladTorch::Compile(net.ptr(), {x});
   for (const bool training : {true, false, true, false}) {
      net->train(training);
      for (const auto *function : {&compiled, &pointer}) {
         const auto mean = net->named_buffers()["1.running_mean"];
         const auto before = mean.clone();
         torch::manual_seed(9);
         const auto found = (*function)(x);
         const auto after = mean.clone();
         mean.copy_(before);
         torch::manual_seed(9);
         CHECK(Same(found, net->forward(x)) && Same(mean, after));
      }
   }
   CHECK(compiled.Specialisations() >= 2);

   double factor = 2;
   auto weight = torch::ones({4});
   const auto captures = CladTorch::Compile([&](torch::Tensor t) { return t * factor * weight; }, {x});
   CHECK(Same(captures(x), 2 * x));
   weight.fill_(3); // in place: seen
   CHECK(Same(captures(x), 6 * x));
   factor = 5;
   weight = torch::full({4}, 2.f);
   captures.Reset();
   CHECK(captures.Specialisations() == 0 && Same(captures(x), 10 * x));

   // A module's parameters as torch::load and to() leave them.
   torch::nn::Linear layer(4, 2), other(4, 2);
   const auto linear = CladTorch::Compile(layer, {x});
   torch::save(other, "layer.pt");
   torch::load(layer, "layer.pt");
   CHECK(Same(linear(x), other->forward(x)));
   layer->to(torch::kFloat64);
   CHECK(Same(linear(x.to(torch::kFloat64)), layer->forward(x.to(torch::kFloat64))));

   const auto ofDefault = [](torch::Tensor t) { return t * torch::ones({4}); };
   const auto made = CladTorch::Compile(ofDefault, {x});
   torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
   CHECK(Same(made(x), ofDefault(x)) && made(x).scalar_type() == torch::kFloat64);
   torch::set_default_dtype(caffe2::TypeMeta::Make<float>());
}

inline void CheckPure()
{
   Changes();
   Numbers();
   Rows();
   ManyShapes();
   OwnTensors();
   KeptTensors();
   ReadValues();
   OwnGradients();
   Aliases();
}

#endif
