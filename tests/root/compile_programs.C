/// \file compile_programs.C
/// \brief Random programs, with LibTorch alone and compiled: values, gradients, what they change, later calls, exceptions.
///
/// A program is a list of steps over tensors [3, 4]; each step takes earlier values and adds one. CLADTORCH_PROGRAMS says how
/// many are tried; the numbers of those that once failed are in kKept. A program that fails is printed as its shortest form.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <algorithm>
#include <iostream>
#include <random>

using torch::Tensor;
using Tensors = std::vector<Tensor>;

/// Programs that a compiled function once got wrong.
const std::vector<unsigned> kKept = {};

#ifndef __CLING__ // which cannot link their nodes
struct Reversal : torch::autograd::Function<Reversal> {
   static Tensor forward(torch::autograd::AutogradContext *, Tensor x) { return x * 1; }
   static torch::autograd::variable_list backward(torch::autograd::AutogradContext *, torch::autograd::variable_list adjoints)
   {
      return {-adjoints[0]};
   }
};

struct Straight : torch::autograd::Function<Straight> {
   static Tensor forward(torch::autograd::AutogradContext *, Tensor x) { return x.round(); }
   static torch::autograd::variable_list backward(torch::autograd::AutogradContext *, torch::autograd::variable_list adjoints)
   {
      return {adjoints[0]};
   }
};
#endif

/// What a program finds outside its inputs; eager and compiled runs each have their own.
struct State {
   Tensor fWeight = torch::linspace(-1, 1, 4).requires_grad_();
   Tensor fScale = torch::linspace(0.5, 2, 12).view({3, 4});
   Tensor fSquare = torch::linspace(-1, 1, 16).view({4, 4}).requires_grad_();
   Tensor fDerived = fWeight * fWeight;
   Tensor fCount = torch::zeros({}, torch::kLong);
   Tensor fTotal = torch::zeros({4});
   Tensor fCodes = torch::tensor({16777216, 16777217, 3, 1000822081}, torch::kLong);
   Tensor fRows = torch::tensor({2, 0, 1}, torch::kLong);
   Tensor fKept;
   torch::nn::BatchNorm1d fNorm{4};

   Tensors All() const
   {
      return {fWeight, fScale, fSquare, fCount, fTotal, fNorm->running_mean, fNorm->running_var, fNorm->num_batches_tracked};
   }
};

struct Given {
   State &fState;
   const Tensor &a, &b;
   double fNumber;
};

struct Kind {
   const char *fName;
   Tensor (*fRun)(const Given &);
};

#define STEP(text, ...) Kind{text, [](const Given &g) -> Tensor { __VA_ARGS__ }}

const std::vector<Kind> &Kinds()
{
   static const std::vector<Kind> kinds = {
      STEP("a + b", return g.a + g.b;),
      STEP("a * b", return g.a * g.b;),
      STEP("a - n b", return g.a - g.fNumber * g.b;),
      STEP("n - a", return g.fNumber - g.a;),
      STEP("tanh(a)", return torch::tanh(g.a);),
      STEP("sin(a)", return g.a.sin();),
      STEP("relu(a)", return torch::relu(g.a);),
      STEP("sigmoid(a) b", return g.a.sigmoid() * g.b;),
      STEP("softmax(a)", return torch::softmax(g.a, 1);),
      STEP("a - mean(b)", return g.a - g.b.mean(1, true);),
      STEP("a / (1 + b^2)", return g.a / (1 + g.b.square());),
      STEP("where(a > b, a, n)", return torch::where(g.a > g.b, g.a, torch::full({}, static_cast<float>(g.fNumber)));),
      STEP("masked_fill(a, b > 0)", return g.a.masked_fill(g.b > 0, g.fNumber);),
      STEP("cat of halves", return torch::cat({g.a.slice(1, 2, 4), g.b.slice(1, 0, 2)}, 1);),
      STEP("turned", return g.a.t().contiguous().view({3, 4}) + g.b;),
      STEP("a @ square", return torch::tanh(g.a.matmul(g.fState.fSquare));),
      STEP("a weight", return g.a * g.fState.fWeight;),
      STEP("a scale", return g.a * g.fState.fScale;),
      STEP("a derived", return g.a * g.fState.fDerived;),
      STEP("rows of a", return g.a.index_select(0, g.fState.fRows);),
      STEP("codes", return g.a * (g.fState.fCodes == g.fState.fCodes.roll(1) + 1);),
      STEP("tensor", return g.a * torch::tensor({1.f, 2.f, 3.f, static_cast<float>(g.fNumber)});),
      STEP("ones", return g.a + torch::ones({3, 1}) * g.fNumber;),
      STEP("linspace", return g.a * torch::linspace(0, g.fNumber, 4);),
      STEP("arange", return g.a + torch::arange(4, torch::kFloat);),
      STEP("eye", return g.a.matmul(torch::eye(4)) - g.b;),
      STEP("empty, filled", return g.a * torch::empty({4}).fill_(g.fNumber);),
      STEP("zeros_like", return g.a + torch::zeros_like(g.b);),
      STEP("accessor fills", Tensor own = torch::empty({4}); for (int i = 0; i < 4; ++i) own.data_ptr<float>()[i] = static_cast<float>(i); return g.a * own;),
      STEP("in place", return g.a.clone().mul_(g.fNumber).add_(g.b);),
      STEP("in place on a view", Tensor own = g.a.clone(); own[1].mul_(g.fNumber); return own;),
      STEP("index_put", Tensor own = g.a.clone(); own.index_put_({1}, g.b[0]); return own;),
      STEP("no gradient", const torch::NoGradGuard off; return g.a.exp().clamp(0, 3);),
      STEP("half of it no gradient", Tensor scale; { const torch::AutoGradMode off(false); scale = g.a.sigmoid(); } return scale * g.b;),
      STEP("detach", return g.a.detach() * g.b;),
      STEP("data", return g.a.data() * g.b;),
#ifndef __CLING__
      STEP("reversal", return Reversal::apply(g.a) + g.b;),
      STEP("straight", return Straight::apply(g.a);),
#endif
      STEP("hook", Tensor inner = g.a * 2; if (inner.requires_grad()) inner.register_hook([](Tensor gradient) { return gradient * 3; }); return inner;),
      STEP("requires_grad", return g.a.requires_grad() ? g.a * 2 : g.a * 3;),
      STEP("item", return g.a * g.b.mean().item<double>();),
      STEP("branch on item", return g.a.sum().item<float>() > g.fNumber ? g.a : g.b.sin();),
      STEP("any isnan", return g.a.isnan().any().item<bool>() ? torch::zeros_like(g.a) : g.a * 2;),
      STEP("branch on data", return g.a.contiguous().data_ptr<float>()[5] > g.fNumber ? g.a * 2 : g.b * 3;),
      STEP("check", TORCH_CHECK(g.a.max().item<float>() < 8, "too great"); return g.a * 2;),
      STEP("masked_select", return g.b + g.a.masked_select(g.a > 0).sum();),
      STEP("dropout", return torch::dropout(g.a, 0.4, true);),
      STEP("rand_like", return g.a * torch::rand_like(g.a);),
      STEP("rand", return g.a * torch::rand({4});),
      STEP("norm", return g.fState.fNorm->forward(g.a);),
      STEP("count", g.fState.fCount.add_(1); return g.a * 2;),
      STEP("read the count", return g.a * g.fState.fCount;),
      STEP("total", g.fState.fTotal.add_(g.a.detach().mean(0)); return g.b * 2;),
      STEP("a total", return g.a + g.fState.fTotal;),
      STEP("kept", if (!g.fState.fKept.defined()) g.fState.fKept = torch::tensor({3.f, 1.f, 4.f, 1.f}); return g.a * g.fState.fKept;),
      STEP("view", return g.a.view({4, 3}).view({3, 4});),
      STEP("the same", return g.a;),
      STEP("expanded", return g.a[0].expand({3, 4});),
      STEP("input changed", g.a.mul_(g.fNumber); return g.b + g.a;),
   };
   return kinds;
}

struct Step {
   std::size_t fKind, fA, fB;
   double fNumber;
};
using Program = std::vector<Step>;

Program Random(unsigned seed)
{
   std::mt19937 random(seed);
   const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
   Program program(1 + below(7));
   for (std::size_t i = 0; i < program.size(); ++i) {
      // Later values more often: so that steps stand on one another.
      const auto operand = [&] { return std::max(below(i + 2), below(i + 2)); };
      // Half of the steps are plain operators.
      program[i] = {below(below(2) ? 21 : Kinds().size()), operand(), operand(), 0.5 * static_cast<double>(below(7)) - 1.5};
   }
   return program;
}

void Print(const Program &program)
{
   for (const auto &step : program)
      std::cout << "   " << Kinds()[step.fKind].fName << "   a = " << step.fA << ", b = " << step.fB << ", n = " << step.fNumber << '\n';
}

Tensor Run(const Program &program, State &state, const Tensor &x, const Tensor &y)
{
   Tensors values{x, y};
   for (const auto &[kind, a, b, number] : program)
      values.push_back(Kinds()[kind].fRun({state, values[a % values.size()], values[b % values.size()], number}));
   return values.back();
}

/// What a call shows: results, gradients, what has changed; or that it throws.
struct Seen {
   Tensors fTensors;
   bool fThrows = false;
};

template <class F>
Seen Call(F function, State &state, unsigned seed, double size, bool gradients)
{
   torch::manual_seed(seed);
   const auto x = torch::randn({3, 4}) * size, y = torch::randn({3, 4});
   if (size > 100)
      x[0][0] = NAN;
   x.requires_grad_(gradients);
   y.requires_grad_(gradients);
   Seen seen;
   try {
      CladTorch::Internal::TorchGuard("program", [&] {
         const auto z = function(x, y);
         seen.fTensors = {z.detach().clone(), torch::tensor(z.requires_grad())};
         if (z.requires_grad()) {
            const Tensors leaves = gradients ? Tensors{x, y, state.fWeight, state.fSquare} : Tensors{state.fWeight, state.fSquare};
            for (const auto &gradient : torch::autograd::grad({(z * torch::sigmoid(0.01 * z.detach())).sum()}, leaves, {}, true, false, true))
               seen.fTensors.push_back(gradient.defined() ? gradient : torch::zeros({}));
         }
         z.detach().zero_(); // a result that is an input or a captured tensor changes that
      });
   } catch (const CladTorch::Error &) {
      seen.fThrows = true;
   }
   seen.fTensors.push_back(x.detach().clone());
   for (const auto &tensor : state.All())
      seen.fTensors.push_back(tensor.detach().clone());
   seen.fTensors.push_back(torch::rand({2})); // the random numbers go on alike
   return seen;
}

bool Same(const Tensor &a, const Tensor &b)
{
   if (a.dim() > 0 && b.dim() > 0 && a.sizes() != b.sizes())
      return false;
   // No gradient is a single zero.
   const auto both = torch::broadcast_tensors({a.to(torch::kFloat), b.to(torch::kFloat)});
   return torch::allclose(both[0], both[1], 1e-3, 1e-4, true);
}

std::string gBackEnd;

/// Whether a program, compiled, does the same.
bool Agrees(const Program &program)
{
   State eager, compiled;
   const auto direct = [&](const Tensor &x, const Tensor &y) { return Run(program, eager, x, y); };
   std::optional<CladTorch::Compiled> function;
   try {
      torch::manual_seed(1);
      function.emplace(CladTorch::Compile([&](Tensor x, Tensor y) { return Run(program, compiled, x, y); },
                                          {torch::randn({3, 4}), torch::randn({3, 4})}));
   } catch (const CladTorch::Error &) {
      gBackEnd = "none";
      return Call(direct, eager, 1, 1, false).fThrows; // what cannot run at all
   }
   gBackEnd = function->BackEnd();
   for (unsigned call = 0; call < 5; ++call) {
      const double size = call == 2 ? 20 : call == 4 ? 1000 : 1;
      const auto wanted = Call(direct, eager, call, size, call != 1);
      const auto found = Call([&](const Tensor &x, const Tensor &y) { return (*function)(x, y); }, compiled, call, size, call != 1);
      // LibTorch's own backward refuses what was changed in place since; kernels that kept the value need not.
      if (wanted.fThrows)
         return true;
      if (found.fThrows || wanted.fTensors.size() != found.fTensors.size() ||
          !std::equal(wanted.fTensors.begin(), wanted.fTensors.end(), found.fTensors.begin(), Same))
         return false;
      for (auto *state : {&eager, &compiled}) {
         const torch::NoGradGuard off;
         state->fScale.mul_(-1.3);
         state->fWeight.add_(0.1);
      }
   }
   return true;
}

/// Without every step that it fails without.
Program Reduced(Program program)
{
   for (std::size_t i = program.size(); i-- > 0;) {
      auto shorter = program;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      if (!shorter.empty() && !Agrees(shorter))
         program = shorter;
   }
   return program;
}

void compile_programs()
{
   torch::set_num_threads(1);
   const char *wanted = gSystem->Getenv("CLADTORCH_PROGRAMS");
   auto seeds = kKept;
   for (unsigned seed = 0; seed < static_cast<unsigned>(wanted ? std::atoi(wanted) : 500); ++seed)
      seeds.push_back(seed);
   std::map<std::string, int> backEnds;
   int failures = 0;
   for (const auto seed : seeds) {
      const auto program = Random(seed);
      if (Agrees(program)) {
         ++backEnds[gBackEnd];
         continue;
      }
      std::cout << "program " << seed << " on " << gBackEnd << " differs; in short:\n";
      Print(Reduced(program));
      if (++failures == 20)
         break;
   }
   for (const auto &[backEnd, count] : backEnds)
      std::cout << count << " programs on " << backEnd << std::endl;
   CHECK(failures == 0 && backEnds["aot"] > static_cast<int>(seeds.size()) / 10);
   Passed();
}
