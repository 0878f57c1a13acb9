/// \file compile_outputs.C
/// \brief Compiled functions of which only some outputs are used; inputs in any order of memory, with zeros of both
/// signs; conversions without effect.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

#include "check.h"
#include "compile_changes.h"

#include <iostream>
#include <memory>
#include <sstream>

using Tensors = std::vector<torch::Tensor>;
using Outputs = std::function<Tensors(const Tensors &)>;

/// Whether two tensors have the same numbers, NaN included, or are both undefined.
bool Same(const torch::Tensor &a, const torch::Tensor &b)
{
   if (!a.defined() || !b.defined())
      return a.defined() == b.defined();
   return a.sizes() == b.sizes() && torch::allclose(a, b, 1e-3, 1e-4, true);
}

Tensors Leaves(const Tensors &inputs)
{
   Tensors leaves;
   for (const auto &input : inputs)
      leaves.push_back(input.detach().clone().requires_grad_());
   return leaves;
}

/// The gradients of the sum of these outputs.
Tensors Gradients(const Outputs &function, const Tensors &inputs, const std::vector<std::size_t> &used)
{
   const auto leaves = Leaves(inputs);
   const auto outputs = function(leaves);
   torch::Tensor sum;
   for (const auto output : used)
      sum = sum.defined() ? sum + outputs[output].sum() : outputs[output].sum();
   return torch::autograd::grad({sum}, leaves, {}, {}, false, true);
}

/// Each subset of three outputs; the first and the last have infinite slopes at some of the values.
void CheckSubsets(const std::string &name, const Outputs &function, const Tensors &inputs, CladTorch::EBackEnd backEnd)
{
   CladTorch::CompileOptions options;
   options.fName = name;
   options.fBackEnd = backEnd;
   const auto compiled = CladTorch::Compile([=](const Tensors &tensors) { return function(tensors); }, inputs, options);
   std::cout << name << ": " << compiled.BackEnd() << " " << compiled.Reason() << std::endl;
   const auto call = [=](const Tensors &tensors) { return compiled.CallAll(tensors); };
   const auto values = call(inputs), eager = function(inputs);
   for (std::size_t i = 0; i < eager.size(); ++i)
      CHECK(Same(values[i], eager[i]));
   for (const std::vector<std::size_t> used :
        {std::vector<std::size_t>{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
      const auto found = Gradients(call, inputs, used), wanted = Gradients(function, inputs, used);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
         if (!Same(found[i], wanted[i])) {
            const auto apart = torch::isclose(found[i], wanted[i], 1e-3, 1e-4, true).logical_not().any(1).nonzero().flatten().slice(0, 0, 4);
            std::cout << "used from " << used.front() << " to " << used.back() << ", gradient of input " << i << ", rows " << apart << "\n"
                      << found[i].index({apart}) << "\ninstead of\n" << wanted[i].index({apart}) << "\nfor\n"
                      << inputs[i].index({apart}) << std::endl;
         }
         CHECK(Same(found[i], wanted[i]));
      }
   }
}

/// [rows, 4], with a zero, a large number and a NaN in some rows. The others are 1/4096 apart: rounding never makes two of a row equal.
Tensors Awkward(std::int64_t rows)
{
   auto x = (torch::rand({rows, 4}) * 4096).floor() / 4096 + 0.5, y = (torch::rand({rows, 4}) * 4096).floor() / 4096 + 0.5;
   x[0][1] = 0;
   x[rows / 2][2] = 100;
   y[rows - 1][3] = 0;
   y[1][0] = NAN;
   return {x, y};
}

void CheckUnused(CladTorch::EBackEnd backEnd)
{
   for (const std::int64_t rows : {3, 200000}) { // at once, and in blocks of rows
      const auto inputs = Awkward(rows);
      CheckSubsets("by_rows", [](const Tensors &t) -> Tensors { return {t[0].sqrt().log(), t[0] * 2, (t[0] / t[1]).log()}; },
                   inputs, backEnd);
      CheckSubsets("sums", [](const Tensors &t) -> Tensors { return {t[0].sqrt().log().sum(), (t[0] * 2).sum(), (t[0] * t[1]).log().sum(0)}; },
                   inputs, backEnd);
      CheckSubsets("after_sums", [](const Tensors &t) -> Tensors {
         const auto sum = t[0].sum(), other = t[1].sum();
         return {(sum - sum).sqrt(), sum * 2, (other / (sum - sum)).log()};
      }, inputs, backEnd);
      CheckSubsets("before_rows", [](const Tensors &t) -> Tensors {
         const auto row = t[0][0], root = row.sqrt();
         return {root * t[1], row + t[1] * 0, (row * t[1]).softmax(1)};
      }, inputs, backEnd);
      CheckSubsets("in_parts", [](const Tensors &t) -> Tensors {
         const auto sums = ((t[0] * 2 + 1).square() + t[1].nan_to_num()).cumsum(1);
         return {t[0].sqrt().log() + sums.sin(), (sums * t[0]).cos() + 1, ((t[0] / t[1]).log() * 2).cumsum(1)};
      }, inputs, backEnd);
      CheckSubsets("reductions", [](const Tensors &t) -> Tensors {
         return {t[0].sqrt().log().amax(1), t[0].softmax(1), t[1].log().softmax(0)};
      }, inputs, backEnd);
   }
}

/// 1 / x shows the sign of a zero. Shapes around the tiles of a transposed copy.
void CheckZeros()
{
   for (const std::int64_t rows : {1, 3, 5, 16, 17, 33})
      for (const std::int64_t columns : {1, 4, 9, 16, 17})
         for (const auto type : {torch::kFloat32, torch::kFloat64}) {
            const auto minus = torch::full({columns, rows}, -0., type);
            const Tensors layouts{minus.t(), minus.t().contiguous(), torch::full({rows, 2 * columns}, -0., type).slice(1, 0, {}, 2),
                                  torch::full({1, columns}, -0., type).expand({rows, columns})};
            for (const auto &x : layouts) {
               const auto compiled = CladTorch::Compile([](torch::Tensor t) { return 1 / t; }, {x});
               CHECK((compiled.Forward({x}) == -INFINITY).all().item<bool>());
               const auto captured = CladTorch::Compile([x](torch::Tensor t) { return t / x; }, {torch::ones({rows, columns}, type)});
               CHECK((captured.Forward({torch::ones({rows, columns}, type)}) == -INFINITY).all().item<bool>());
            }
         }
}

/// Numbers whose dimensions lie in memory in that order.
torch::Tensor Ordered(const std::vector<std::int64_t> &sizes, const std::vector<std::int64_t> &order, torch::ScalarType type)
{
   std::vector<std::int64_t> lying, undone(order.size());
   for (std::size_t i = 0; i < order.size(); ++i) {
      lying.push_back(sizes[order[i]]);
      undone[order[i]] = static_cast<std::int64_t>(i);
   }
   return torch::randn(lying, type).permute(undone);
}

/// Whether both go through their elements in the same order.
bool LieAlike(const torch::Tensor &a, const torch::Tensor &b)
{
   for (std::int64_t dim = 0; dim < a.dim(); ++dim)
      if (a.size(dim) != 1 && a.stride(dim) != b.stride(dim))
         return false;
   return true;
}

/// Calls without gradients of tensors in any order of memory: values of LibTorch and, of element-wise functions of tensors that lie alike,
/// its strides. What asks for contiguous elements gets them.
void CheckOrders()
{
   struct Function {
      const char *fName;
      bool fElementWise;
      Outputs fFunction;
   };
   const std::vector<Function> functions{
      {"exp", true, [](const Tensors &t) -> Tensors { return {t[0].exp()}; }},
      {"two results", true, [](const Tensors &t) -> Tensors { return {(t[0] * t[1]).tanh() + 1, t[1] - t[0] * 2}; }},
      {"where", true, [](const Tensors &t) -> Tensors { return {torch::where(t[0] > t[1], t[0].sin(), t[1] * 3)}; }},
      {"number", true, [](const Tensors &t) -> Tensors { return {t[0] * t[3] + t[1].square()}; }},
      {"row", false, [](const Tensors &t) -> Tensors { return {t[0] * t[2] + t[1].square()}; }},
      {"contiguous", false, [](const Tensors &t) -> Tensors { return {(t[0] + t[1]).contiguous(), t[0].clone(at::MemoryFormat::Contiguous)}; }},
      {"turned", false, [](const Tensors &t) -> Tensors { return {(t[0] * t[1]).transpose(0, -1), t[0].transpose(0, 1).exp()}; }},
      {"sum", false, [](const Tensors &t) -> Tensors { return {(t[0] * t[1]).sum(0), t[0].exp()}; }},
      {"part", false, [](const Tensors &t) -> Tensors { return {t[0].narrow(0, 0, 1) * t[1], t[1].select(1, 0).cos()}; }},
      {"in place", false, [](const Tensors &t) -> Tensors { auto y = t[0] * 2; y.add_(t[1]).mul_(y); return {y, t[1].reshape({-1}).exp()}; }},
   };
   torch::manual_seed(5);
   const auto random = [](std::int64_t from, std::int64_t to) { return torch::randint(from, to, {1}).item<std::int64_t>(); };
   int ordered = 0, wrong = 0;
   for (int trial = 0; trial < 250; ++trial) {
      const auto rank = random(2, 5);
      const auto type = random(0, 4) ? torch::kFloat32 : torch::kFloat64;
      std::vector<std::int64_t> sizes;
      for (std::int64_t i = 0; i < rank; ++i)
         sizes.push_back(random(0, 9) ? random(1, 6) : rank == 2 ? 90 : 17);
      const auto order = [&] {
         const auto places = torch::randperm(rank);
         return std::vector<std::int64_t>(places.data_ptr<std::int64_t>(), places.data_ptr<std::int64_t>() + rank);
      };
      const auto first = order();
      Tensors inputs{Ordered(sizes, first, type)};
      const auto kind = random(0, 5);
      inputs.push_back(kind == 0   ? Ordered(sizes, order(), type)
                       : kind == 1 ? torch::randn({sizes.back()}, type).expand(sizes)
                       : kind == 2 ? torch::cat({inputs[0], inputs[0]}, 1).slice(1, 0, {}, 2)
                                   : Ordered(sizes, first, type));
      inputs.push_back(torch::randn({sizes.back()}, type));
      inputs.push_back(torch::randn({}, type));
      for (const auto &[name, elementWise, function] : functions) {
         const torch::NoGradGuard off;
         const auto compiled = CladTorch::Compile(function, inputs);
         const auto results = compiled.CallAll(inputs), wanted = function(inputs);
         wrong += compiled.BackEnd() != "aot";
         for (std::size_t i = 0; i < wanted.size(); ++i) {
            bool good = Same(results[i], wanted[i]) && (results[i].is_contiguous() || !wanted[i].is_contiguous());
            if (elementWise && kind > 2) {
               good = good && LieAlike(results[i], wanted[i]);
               ordered += !results[i].is_contiguous();
            }
            if (!good)
               std::cout << name << " of " << inputs[0].sizes() << " in " << inputs[0].strides() << " and " << inputs[1].strides() << ": strides "
                         << results[i].strides() << " instead of " << wanted[i].strides() << std::endl;
            wrong += !good;
         }
      }
   }
   CHECK(wrong == 0 && ordered > 100);
}

/// What Print() shows of a function after a call without gradients.
std::string Shown(const Outputs &function, const Tensors &inputs)
{
   const torch::NoGradGuard off;
   const auto compiled = CladTorch::Compile(function, inputs);
   CHECK(Same(compiled.CallAll(inputs)[0], function(inputs)[0]));
   std::ostringstream text;
   auto *const before = std::cout.rdbuf(text.rdbuf());
   compiled.Print();
   std::cout.rdbuf(before);
   return text.str();
}

/// Functions of turned tensors run in blocks, whatever dimension is the first one in memory; of tensors in two orders, too.
void CheckBlocksOfOrders()
{
   const auto powers = [](const Tensors &t) -> Tensors {
      auto y = t[0];
      for (int i = 0; i < 12; ++i)
         y = y * t[0] + 0.5;
      return {y};
   };
   const auto both = [](const Tensors &t) -> Tensors { return {(t[0] * t[1]).tanh() + (t[0] - t[1]).square() * (t[0] + t[1])}; };
   const auto tall = torch::rand({4, 100000}).t();
   for (const auto &shown : {Shown(powers, {tall}), Shown(both, {tall, torch::rand({100000, 4})}), Shown(both, {tall, torch::rand({4, 100000}).t()})}) {
      const bool good = shown.find(" blocks of ") != std::string::npos && shown.find(" blocks of 1 rows") == std::string::npos;
      if (!good)
         std::cout << shown << std::endl;
      CHECK(good);
   }
}

/// Whole rows chosen by an index that is the same along each row: rows of usual and unusual lengths, indices of some and of all
/// dimensions before them, tensors in any order of memory.
void CheckChosenRows()
{
   torch::manual_seed(6);
   const std::vector<std::int64_t> orders[] = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}};
   for (const std::int64_t columns : {1, 2, 3, 4, 8, 17, 64})
      for (const auto &order : orders) {
         const auto first = torch::randint(5, {7, 6, 1}, torch::kInt64).expand({7, 6, columns});
         const auto second = torch::randint(6, {5, 9, 1}, torch::kInt64).expand({5, 9, columns});
         const auto some = torch::randint(-6, 6, {4}, torch::kInt64), whole = torch::randint(5, {1, 1, 1}, torch::kInt64).expand({1, 6, columns});
         const Tensors inputs{Ordered({5, 6, columns}, order, torch::kFloat32), Ordered({5, 9, columns}, order, torch::kFloat32)};
         const auto places = some.remainder(6);
         const auto name = "chosen rows of " + std::to_string(columns);
         CheckSubsets(name, [=](const Tensors &t) -> Tensors {
            return {t[0].gather(0, first), t[0].gather(1, second) * t[1], t[0].scatter_add(1, second, t[1])};
         }, inputs, CladTorch::kAotBackEnd);
         CheckSubsets(name, [=](const Tensors &t) -> Tensors {
            return {t[0].index({torch::indexing::Slice(), some}), t[0].gather(0, whole), (t[0] * 2).index_add(1, places, t[1].narrow(1, 0, 4))};
         }, inputs, CladTorch::kAotBackEnd);
      }
}

/// Rows without elements, chosen or added to, beside a result with some.
void CheckEmptyRows()
{
   const auto index = torch::tensor({2, 0, 2}), empty = index.view({3, 1}).expand({3, 0}), deep = index.view({3, 1, 1}).expand({3, 0, 0});
   const std::vector<Outputs> functions{
      [=](const Tensors &t) -> Tensors { return {torch::embedding(t[0], index), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].index_select(0, index), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].t().index_select(1, index), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].index({index}), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].index_add(0, index, t[2]), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].gather(0, index.view({3, 1}).expand({3, 0})), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].scatter_add(0, index.view({3, 1}).expand({3, 0}), t[2]), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].gather(0, empty), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].scatter_add(0, empty, t[2]), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {t[0].unsqueeze(2).expand({5, 0, 0}).gather(0, deep), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {torch::cat({t[0], t[0]}, 1).exp(), t[1] * 2}; },
      [=](const Tensors &t) -> Tensors { return {torch::cat({(t[0] * 2).unsqueeze(1).expand({5, 0, 0}), t[2].unsqueeze(1).expand({3, 0, 0})}), t[1] * 2}; },
   };
   const Tensors inputs{torch::randn({5, 0}), torch::randn({4, 5}), torch::randn({3, 0})};
   CladTorch::CompileOptions options;
   for (const auto &function : functions) {
      const torch::NoGradGuard off;
      options.fBackEnd = &function == &functions.back() ? CladTorch::kFastestBackEnd : CladTorch::kAnyBackEnd;
      const auto results = CladTorch::Compile(function, inputs, options).CallAll(inputs), wanted = function(inputs);
      CHECK(Same(results[0], wanted[0]) && Same(results[1], wanted[1]));
   }
}

/// A captured tensor whose signs change by its address is noticed, however many of them do.
template <class T>
void CheckFlips(torch::ScalarType type)
{
   for (const int count : {1, 2, 3, 4, 7, 8, 16, 17, 32, 33, 64}) {
      const auto signs = torch::arange(1, 65).to(type);
      const auto flips = [=](const torch::Tensor &x) {
         const auto y = x * signs;
         for (int i = 0; i < count; ++i)
            signs.data_ptr<T>()[i] *= -1;
         return y;
      };
      CHECK(CladTorch::Compile(flips, {torch::ones({64}, type)}).BackEnd() == "autograd");
   }
}

/// A result that zero_() has overwritten has gradients of zeros for all that it was computed from.
void CheckOverwritten()
{
   const auto function = [](const Tensors &t) -> Tensors {
      auto own = std::get<0>((t[0].sin() * t[1]).tanh().cummax(0));
      const auto seen = own.transpose(0, 1);
      own.zero_();
      return {own * 1, (t[0] / (1 + t[1].square())).exp(), seen + 1};
   };
   CheckSubsets("overwritten", function, {torch::randn({300, 40}), torch::randn({300, 40})}, CladTorch::kAnyBackEnd);
}

/// What has no module or function is refused; a function that resets itself goes on.
void CheckRefusals()
{
   const auto says = [](const std::function<void()> &mistake, const std::string &part) {
      try {
         mistake();
      } catch (const std::exception &e) {
         return std::string(e.what()).find(part) != std::string::npos;
      }
      return false;
   };
   const auto x = torch::ones({3, 4});
   CHECK(says([&] { CladTorch::Compile(std::shared_ptr<torch::nn::LinearImpl>(), {x}); }, "the module is a null pointer"));
   CHECK(says([&] { const c10::InferenceMode on; CladTorch::Model(torch::nn::Sequential(torch::nn::Linear(4, 1)), {4}); }, "made in inference mode"));
   torch::Tensor (*none)(const torch::Tensor &) = nullptr;
   CHECK(says([&] { CladTorch::Compile(none, {x}); }, "the function is a null pointer"));
   std::unique_ptr<CladTorch::Compiled> own;
   const auto resets = [&](torch::Tensor t) {
      if (own && t.size(0) == 5)
         own->Reset();
      return t * 2;
   };
   own = std::make_unique<CladTorch::Compiled>(CladTorch::Compile(resets, {x}));
   CHECK(own->Forward({torch::ones({5, 4})}).equal(torch::full({5, 4}, 2.f)) && own->Forward({x}).equal(x * 2));
   const auto any = CladTorch::Compile([](torch::Tensor t) { return (t > 0).any(0).to(torch::kFloat) * 2; }, {torch::ones({0, 4})});
   CHECK(any.Reason().find("reduces a dimension without elements") != std::string::npos);
}

/// Parts of tensors that change in place and are read in between.
void CheckChanges()
{
   int onKernels = 0;
   for (unsigned seed = 0; seed < 150; ++seed) {
      const Changes changes(seed);
      const auto inputs = changes.Inputs();
      CladTorch::CompileOptions options;
      options.fName = "changes " + std::to_string(seed);
      const auto compiled = CladTorch::Compile([=](const Tensors &t) { return changes(t); }, inputs, options);
      onKernels += compiled.BackEnd() == "aot";
      const auto call = [&](const Tensors &t) { return compiled.CallAll(t); };
      {
         const torch::NoGradGuard off;
         const auto found = call(inputs), wanted = changes(inputs);
         for (std::size_t i = 0; i < wanted.size(); ++i)
            CHECK(Same(found[i], wanted[i]));
      }
      const auto found = Gradients(call, inputs, {0}), wanted = Gradients(changes, inputs, {0});
      for (std::size_t i = 0; i < inputs.size(); ++i) {
         if (!Same(found[i], wanted[i]))
            std::cout << options.fName << ": gradient of input " << i << std::endl;
         CHECK(Same(found[i], wanted[i]) || (!found[i].defined() && wanted[i].count_nonzero().item<int>() == 0));
      }
   }
   std::cout << onKernels << " of 150 functions of changed parts on kernels" << std::endl;
   CHECK(onKernels > 140);
}

/// Sums whose adjoint is a gradient, beside others.
void CheckSums()
{
   const std::vector<std::pair<const char *, Outputs>> functions{
      {"sum", [](const Tensors &t) -> Tensors { return {t[0] + t[1], t[2].exp(), t[2] * 2}; }},
      {"sum with a value", [](const Tensors &t) -> Tensors { return {t[0] + t[1].tanh(), t[1] * t[2], t[2] + t[2]}; }},
      {"sum that is read again", [](const Tensors &t) -> Tensors {
          const auto sum = t[0] + t[1];
          return {sum, sum * 2, t[2] + 1};
       }},
      {"input that is read again", [](const Tensors &t) -> Tensors { return {t[0] + t[1], t[0].sin(), t[2] + t[2].t()}; }},
      {"broadcast", [](const Tensors &t) -> Tensors { return {t[0] + t[1][0], t[1] + 2, t[2] + t[2].sum()}; }},
      {"multiple", [](const Tensors &t) -> Tensors { return {torch::add(t[0], t[1], 3), t[2] + 0, t[1] - 1}; }}};
   const Tensors inputs{torch::randn({4, 4}), torch::randn({4, 4}), torch::randn({4, 4})};
   for (const auto &[name, function] : functions)
      for (const auto backEnd : {CladTorch::kAotBackEnd, CladTorch::kFastestBackEnd})
         CheckSubsets(name, function, inputs, backEnd);

   // The adjoint stays the caller's, and a change to a gradient does not change another one.
   const auto compiled = CladTorch::Compile([](torch::Tensor x, torch::Tensor y) { return x + y; }, {inputs[0], inputs[1]});
   auto leaves = Leaves({inputs[0], inputs[1]});
   const auto adjoint = torch::full({4, 4}, 2.f);
   for (int call = 0; call < 2; ++call)
      compiled(leaves[0], leaves[1]).backward(adjoint);
   leaves[0].mutable_grad().zero_();
   CHECK((leaves[1].grad() == 4).all().item<bool>() && (adjoint == 2).all().item<bool>());
}

/// Options for which the kernels' formulas are not valid, and numbers at the corners of functions.
void CheckOptions()
{
   constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
   const auto x = torch::tensor({-inf, -3.f, -2.9999998f, -1.f, -0.f, 0.f, 1.f, 2.9999998f, 3.f, 3.0000002f, 1e10f, 3e38f, inf, nan});
   const auto y = torch::zeros_like(x);
   using Function = std::function<torch::Tensor(const torch::Tensor &)>;
   const std::vector<std::tuple<const char *, const char *, Function>> functions{
      {"hardsigmoid", "aot", [](const torch::Tensor &t) { return torch::hardsigmoid(t); }},
      {"hardtanh of NaN", "autograd", [](const torch::Tensor &t) { return torch::hardtanh(t, std::nan(""), 1); }},
      {"smooth_l1 of 0", "autograd", [=](const torch::Tensor &t) { return torch::smooth_l1_loss(t, y, at::Reduction::None, 0); }},
      {"huber of infinity", "autograd", [=](const torch::Tensor &t) { return torch::huber_loss(t, y, at::Reduction::None, INFINITY); }},
      {"softplus of 0", "autograd", [](const torch::Tensor &t) { return torch::softplus(t, 0); }},
      {"softplus of a large product", "aot", [](const torch::Tensor &t) { return torch::softplus(t, 2, 10); }},
      {"celu of a large quotient", "aot", [](const torch::Tensor &t) { return torch::celu(t.slice(0, 0, -1), 1e-30); }}, // not at NaN
      {"batch_norm without eps", "split",
       [](const torch::Tensor &t) {
          const auto features = torch::stack({torch::zeros_like(t), torch::arange(t.numel(), t.options())}, 1) + 0 * t[3];
          return torch::batch_norm(features, {}, {}, {}, {}, true, 0.1, 0, false);
       }},
      {"elu of infinity", "autograd", [](const torch::Tensor &t) { return torch::elu(t, INFINITY); }},
      {"celu of infinity", "autograd", [](const torch::Tensor &t) { return torch::celu(t, INFINITY); }}};
   for (const auto &[name, backEnd, function] : functions) {
      const auto compiled = CladTorch::Compile([f = function](torch::Tensor t) { return f(t); }, {x});
      std::cout << name << ": " << compiled.BackEnd() << " " << compiled.Reason() << std::endl;
      CHECK(compiled.BackEnd() == backEnd);
      const auto found = Leaves({x}), wanted = Leaves({x});
      const auto value = compiled(found[0]), eager = function(wanted[0]);
      value.backward(torch::ones_like(value));
      eager.backward(torch::ones_like(eager));
      CHECK(torch::allclose(value, eager, 1e-6, 0, true) && torch::allclose(found[0].grad(), wanted[0].grad(), 1e-6, 0, true));
   }
}

void CheckConversions()
{
   using Function = torch::Tensor (*)(torch::Tensor);
   const Function functions[] = {
      [](torch::Tensor x) { return (x * 2).to(x.scalar_type()).sum(); },
      [](torch::Tensor x) { return x.sin().to(x.options()).sum(1); },
      [](torch::Tensor x) { return (x + 1).type_as(x) * x; },
      [](torch::Tensor x) { return x.matmul(x.t()).to(x.dtype()).exp(); },
      [](torch::Tensor x) { return x.cos().to(torch::kCPU).contiguous().clone(); },
   };
   for (const auto type : {torch::kFloat32, torch::kFloat64})
      for (const auto function : functions) {
         const auto x = torch::randn({5, 3}, type);
         const auto compiled = CladTorch::Compile(function, {x});
         std::cout << compiled.BackEnd() << " " << compiled.Reason() << std::endl;
         CHECK(compiled.BackEnd() == "aot");
         CHECK(Same(compiled.Forward({x}), function(x)));
      }
}

/// Functions that throw, within the braces of their results, for matrices that are not symmetric or not positive-definite:
/// observing them for others must not.
void CheckCovariances()
{
   const auto a = torch::randn({5, 3, 3}, torch::kFloat64);
   const auto s = a.matmul(a.mT()) + torch::eye(3, torch::kFloat64);
   const auto checked = [](const torch::Tensor &t) {
      TORCH_CHECK(torch::allclose(t, t.mT()), "not symmetric");
      return t.square();
   };
   const std::vector<Outputs> functions{
      [](const Tensors &t) { return Tensors{t[0] * 2, torch::linalg_cholesky(t[0]), t[0] + 1}; },
      [](const Tensors &t) { return Tensors{torch::linalg_cholesky(t[0] * 3).diagonal(0, -2, -1).log().sum(-1), t[0].sin().mean()}; },
      [&](const Tensors &t) { return Tensors{t[0].cos().sum(), checked(t[0])}; },
   };
   const Tensors examples{s, s[0], s.mT(), s.to(torch::kFloat32), torch::stack({s, s}, 1), s[0].expand({4, 3, 3}), s.slice(0, 0, 5, 2)};
   for (const auto &function : functions)
      for (const auto &x : examples) {
         const auto compiled = CladTorch::Compile(function, {x});
         std::cout << compiled.BackEnd() << " " << compiled.Reason() << std::endl;
         const auto found = compiled.ForwardAll({x}), wanted = function({x});
         for (std::size_t i = 0; i < wanted.size(); ++i)
            CHECK(Same(found[i], wanted[i]));
      }
}

void compile_outputs()
{
   torch::manual_seed(1);
   CheckCovariances();
   CheckZeros();
   CheckOrders();
   CheckBlocksOfOrders();
   CheckChosenRows();
   CheckEmptyRows();
   CheckChanges();
   CheckFlips<float>(torch::kFloat32);
   CheckFlips<double>(torch::kFloat64);
   CheckOverwritten();
   CheckRefusals();
   CheckConversions();
   CheckSums();
   CheckOptions();
   CheckUnused(CladTorch::kAnyBackEnd);
   CheckUnused(CladTorch::kFastestBackEnd); // jit where there is a compiler
   std::cout << "ALL CHECKS PASSED" << std::endl;
}
