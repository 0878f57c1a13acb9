/// \file compile_programs.h
/// \brief Random programs, with LibTorch alone and compiled: values, gradients, what they change, later calls, exceptions.
///
/// A program is a list of steps (compile_kinds.h), each of which takes earlier values and adds one, and a list of
/// calls, which differ in their inputs, in the requested gradients and in the changes before them. A program that fails
/// is printed as code in its shortest form, with the line for compile_kept.h that keeps it.

#ifndef CLADTORCH_TEST_COMPILE_PROGRAMS
#define CLADTORCH_TEST_COMPILE_PROGRAMS

#include "compile_kinds.h"

#include "check.h" // last: LibTorch has a CHECK, too

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <sstream>

struct Step {
   std::string fKind;
   std::size_t fA, fB; ///< values: the inputs are 0 and 1, the result of the first step is 2
   double fNumber;
};

/// The settings of a call. The first of each kind is the plain one.
struct CallSpec {
   enum EGiven { kFresh, kLarge, kSameTwice, kViewOfOther, kTransposed, kMoreRows, kNotLeaves, kOneRow, kNoRows, kDouble, kCaptured, kGivens };
   enum EWanted { kBoth, kFirst, kNone, kWithoutGrad, kInference, kWanteds };
   enum EChange { kNothing, kInPlace, kFrozen, kNewData, kEval, kRebound, kIndices, kChanges };
   enum EWay { kCall, kForward, kTwice, kResultChanged, kWays };
   int fGiven, fWanted, fChange, fWay;
};

struct Program {
   std::vector<Step> fSteps;
   std::vector<std::size_t> fResults;
   std::vector<CallSpec> fCalls;
   bool fDynamicBatch;
};

inline Program RandomProgram(unsigned seed)
{
   std::mt19937 random(seed);
   const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
   static const auto operators = Operators().size();
   Program program;
   const auto steps = 1 + below(7);
   for (std::size_t i = 0; i < steps; ++i) {
      // Later values more often, so that steps build on one another.
      const auto operand = [&] { return std::max(below(i + 2), below(i + 2)); };
      const auto kind = below(below(3) ? operators : Kinds().size());
      const auto a = operand(), b = operand();
      program.fSteps.push_back({Kinds()[kind].fName, a, b, 0.5 * static_cast<double>(below(7)) - 1.5});
   }
   program.fResults = {steps + 1};
   if (below(4) == 0)
      program.fResults.push_back(below(steps + 2));
   const auto spec = [&](int count) { return below(2) ? 0 : static_cast<int>(below(static_cast<std::size_t>(count))); };
   const auto calls = 2 + below(4);
   for (std::size_t i = 0; i < calls; ++i) {
      const auto given = spec(CallSpec::kGivens), wanted = spec(CallSpec::kWanteds), change = spec(CallSpec::kChanges);
      program.fCalls.push_back({given, wanted, change, spec(CallSpec::kWays)});
   }
   program.fDynamicBatch = below(4) == 0;
   return program;
}

inline std::string AsCode(const Program &program)
{
   std::ostringstream code;
   const auto list = [&](const auto &elements, auto print) {
      for (std::size_t i = 0; i < elements.size(); ++i)
         code << (i ? ", " : ""), print(elements[i]);
   };
   code << "   const auto function = [&](Tensor v0, Tensor v1) -> Tensors {\n";
   for (std::size_t i = 0; i < program.fSteps.size(); ++i) {
      const auto &step = program.fSteps[i];
      code << "      const auto v" << i + 2 << " = [&](Tensor a, Tensor b, double n) -> Tensor { " << step.fKind << " }(v" << step.fA << ", v"
           << step.fB << ", " << step.fNumber << ");\n";
   }
   code << "      return {";
   list(program.fResults, [&](std::size_t result) { code << 'v' << result; });
   code << "};\n   };\n   {{";
   list(program.fSteps, [&](const Step &step) {
      code << "{R\"(" << step.fKind << ")\", " << step.fA << ", " << step.fB << ", " << step.fNumber << '}';
   });
   code << "}, {";
   list(program.fResults, [&](std::size_t result) { code << result; });
   code << "}, {";
   list(program.fCalls, [&](const CallSpec &call) {
      code << '{' << call.fGiven << ", " << call.fWanted << ", " << call.fChange << ", " << call.fWay << '}';
   });
   code << "}, " << (program.fDynamicBatch ? "true" : "false") << "},\n";
   return code.str();
}

inline Tensors Run(const Program &program, State &state, const Tensors &inputs)
{
   static const auto known = [] {
      std::map<std::string, decltype(Kind::fRun)> all;
      for (const auto &kind : Kinds())
         all[kind.fName] = kind.fRun;
      return all;
   }();
   auto values = inputs;
   for (const auto &[kind, a, b, number] : program.fSteps)
      values.push_back(known.at(kind)(state, values[a], values[b], number));
   Tensors results;
   for (const auto result : program.fResults)
      results.push_back(values[result]);
   return results;
}

inline Tensors Given(int given)
{
   const auto x = torch::randn({3, 4}), y = torch::randn({3, 4});
   switch (given) {
   // Not so large that sqrt(x * x + 0.5) + x would be only the rounding of x * x, which a fused operation does not
   // have.
   case CallSpec::kLarge: return {(x * 64).index_put_({0, 0}, NAN), y};
   case CallSpec::kSameTwice: return {x, x};
   case CallSpec::kViewOfOther: return {x, x.flip(0)};
   case CallSpec::kTransposed: return {torch::randn({4, 3}).t(), y};
   case CallSpec::kMoreRows: return {torch::randn({5, 4}), torch::randn({5, 4})};
   case CallSpec::kOneRow: return {torch::randn({1, 4}), torch::randn({1, 4})};
   case CallSpec::kNoRows: return {torch::randn({0, 4}), torch::randn({0, 4})};
   case CallSpec::kDouble: return {x.to(torch::kDouble), y.to(torch::kDouble)};
   default: return {x, y};
   }
}

/// Everything that can be compared after a call, by name. Missing values, such as a gradient, are undefined.
struct Shown {
   std::vector<std::pair<std::string, Tensor>> fAll;
   std::string fThrown, fThrownBack; ///< by the function; on the way back

   void Add(const std::string &name, const Tensor &value) { fAll.emplace_back(name, value.defined() ? value.detach().clone() : value); }
   void Add(const std::string &name, bool flag) { fAll.emplace_back(name, torch::tensor(flag)); }
};

template <class Body>
std::string Thrown(Body body)
{
   try {
      body();
   } catch (const c10::Error &e) {
      return e.what_without_backtrace();
   } catch (const std::exception &e) {
      return e.what();
   }
   return {};
}

/// The gradients of a sum over `results`. Unneeded ones are undefined.
inline void AddGradients(Shown &seen, const Tensors &results, const Tensors &leaves, bool twice)
{
   Tensors used, wanted;
   Tensor loss = torch::zeros({});
   for (const auto &result : results)
      if (result.requires_grad())
         loss = loss + (result * torch::sigmoid(0.01 * result.detach())).sum();
   for (const auto &leaf : leaves)
      if (leaf.requires_grad())
         wanted.push_back(leaf);
   if (!loss.requires_grad() || wanted.empty())
      return;
   seen.fThrownBack = Thrown([&] {
      auto gradients = torch::autograd::grad({loss}, wanted, {}, true, twice, true);
      if (twice) {
         Tensor slope = torch::zeros({});
         for (const auto &gradient : gradients)
            if (gradient.defined())
               slope = slope + gradient.square().sum();
         if (slope.requires_grad())
            gradients = torch::autograd::grad({slope}, wanted, {}, true, false, true);
      }
      for (std::size_t i = 0; i < gradients.size(); ++i)
         // Whether a second derivative of zero exists depends on how it is computed.
         seen.Add("gradient " + std::to_string(i), twice && !gradients[i].defined() ? torch::zeros_like(wanted[i]) : gradients[i]);
   });
}

/// The user's changes before a call. `reset` tells a compiled function, if that is needed.
inline void Change(int change, State &state, const std::function<void()> &reset)
{
   const torch::NoGradGuard off;
   switch (change) {
   case CallSpec::kInPlace: state.fScale.mul_(-1.3), state.fWeight.add_(0.1), state.fNumber.add_(1); break;
   case CallSpec::kFrozen: state.fWeight.requires_grad_(!state.fWeight.requires_grad()); break;
   case CallSpec::kNewData: state.fWeight.set_data(torch::linspace(2, -1, 4)); break;
   case CallSpec::kEval: state.fNorm->train(!state.fNorm->is_training()), state.fDropout->train(!state.fDropout->is_training()), reset(); break;
   case CallSpec::kRebound: state.fScale = torch::linspace(1, 3, 4), state.fNumber = torch::full({}, -0.5f), reset(); break;
   case CallSpec::kIndices: state.fColumns.copy_(torch::tensor({1, 2, 3, 3}, torch::kLong)); break;
   default: break;
   }
}

/// \param nudge Factor of the inputs.
template <class Function, class Forward>
Shown See(const CallSpec &spec, State &state, unsigned seed, Function function, Forward forward, double nudge = 1)
{
   torch::manual_seed(seed);
   auto inputs = Given(spec.fGiven);
   if (nudge != 1) {
      const bool isSame = inputs[0].is_same(inputs[1]);
      inputs = {inputs[0] * nudge, inputs[1] * nudge};
      if (isSame)
         inputs[1] = inputs[0];
   }
   inputs[0].requires_grad_(spec.fWanted == CallSpec::kBoth || spec.fWanted == CallSpec::kFirst);
   inputs[1].requires_grad_(spec.fWanted == CallSpec::kBoth || (spec.fWanted == CallSpec::kFirst && inputs[0].is_same(inputs[1])));
   auto leaves = inputs;
   if (spec.fGiven == CallSpec::kNotLeaves)
      inputs = {inputs[0] * 2, inputs[1].sin()};
   if (spec.fGiven == CallSpec::kCaptured)
      inputs = {state.fSquare, state.fSquare.atan()};
   const auto of = state.Leaves();
   leaves.insert(leaves.end(), of.begin(), of.end());
   Shown seen;
   Tensors results;
   const bool back = spec.fWay == CallSpec::kForward;
   seen.fThrown = Thrown([&] {
      const torch::AutoGradMode mode(spec.fWanted < CallSpec::kWithoutGrad);
      std::optional<c10::InferenceMode> inference;
      if (spec.fWanted == CallSpec::kInference)
         inference.emplace();
      results = back ? forward(inputs, seen) : function(inputs);
   });
   if (!seen.fThrown.empty())
      state.fSeen = Tensor(); // of what ran before, or of a run that observed it
   for (std::size_t i = 0; i < results.size(); ++i) {
      const auto name = "result " + std::to_string(i);
      seen.Add(name, results[i]);
      if (!back) {
         seen.Add(name + " requires a gradient", results[i].requires_grad());
         for (std::size_t j = 0; j < 2; ++j)
            seen.Add(name + " is part of input " + std::to_string(j), results[i].is_alias_of(inputs[j]));
         for (std::size_t j = 0; j < i; ++j)
            seen.Add(name + " is part of result " + std::to_string(j), results[i].is_alias_of(results[j]));
      }
   }
   if (spec.fWay == CallSpec::kResultChanged && !results.empty())
      seen.fThrownBack = Thrown([&] { results[0].mul_(2); });
   if (!back && spec.fWanted != CallSpec::kInference && seen.fThrownBack.empty())
      AddGradients(seen, results, leaves, spec.fWay == CallSpec::kTwice);
   for (auto &result : results)
      if (!result.is_inference())
         result.detach().zero_(); // one that is an input or a captured tensor changes that
   for (std::size_t i = 0; i < 2; ++i)
      seen.Add("input " + std::to_string(i), inputs[i]);
   const auto all = state.All();
   for (std::size_t i = 0; i < all.size(); ++i)
      seen.Add("captured tensor " + std::to_string(i), all[i]);
   seen.Add("the next random numbers", torch::rand({2}));
   seen.Add("the next random numbers of its own generator", torch::rand({2}, state.fGenerator));
   return seen;
}

inline bool Alike(const Tensor &a, const Tensor &b)
{
   if (!a.defined() || !b.defined())
      return a.defined() == b.defined();
   if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes())
      return false;
   // Where large numbers cancel, only their last digits remain.
   const auto greatest = a.numel() ? a.detach().to(torch::kDouble).abs().nan_to_num(0, 0, 0).max().item<double>() : 0.;
   return torch::allclose(a, b, 1e-3, std::max(1e-4, 1e-6 * greatest), true);
}

/// Whether a backward pass may throw this if the other one does not.
inline bool Excused(const std::string &thrown)
{
   for (const char *part : {
           // LibTorch refuses tensors that it needs and that were changed since; kernels keep copies of some, and
           // refuse the others.
           "modified by an inplace operation", "was changed in place",
           // Results of kernels have memory of their own for each element.
           "more than one element of the written-to tensor",
           // Refused by name: random numbers, and captured tensors computed from one another.
           "a second derivative through a compiled function"})
      if (thrown.find(part) != std::string::npos)
         return true;
   return false;
}

/// Whether nothing flows back through a step: LibTorch passes zeros on, which become NaN at an infinite slope.
inline bool HasFlatStep(const Program &program)
{
   return std::any_of(program.fSteps.begin(), program.fSteps.end(), [](const Step &step) {
      return step.fKind.find("round()") != std::string::npos || step.fKind.find("floor()") != std::string::npos;
   });
}

/// The first difference; empty if there is none. `hasFlatStep`: of the program.
inline std::string Difference(const Shown &wanted, const Shown &found, bool hasFlatStep = false)
{
   // A tensor that a function makes once and keeps was made when it was compiled.
   if (wanted.fThrown.find("Inference tensors cannot be saved") != std::string::npos)
      return {};
   if (wanted.fThrown.empty() != found.fThrown.empty())
      return "LibTorch throws '" + wanted.fThrown + "', compiled '" + found.fThrown + "'";
   const bool excused = Excused(wanted.fThrownBack) || Excused(found.fThrownBack);
   if (!excused && wanted.fThrownBack.empty() != found.fThrownBack.empty())
      return "on the way back LibTorch throws '" + wanted.fThrownBack + "', compiled '" + found.fThrownBack + "'";
   const auto named = [](const Shown &seen, const std::string &name) {
      return std::find_if(seen.fAll.begin(), seen.fAll.end(), [&](const auto &one) { return one.first == name; });
   };
   for (const auto &[name, value] : wanted.fAll) {
      const auto other = named(found, name);
      if (excused && (other == found.fAll.end() || name.find("gradient ") == 0))
         continue;
      const bool isFlat = hasFlatStep && name.find("gradient ") == 0 && other != found.fAll.end() && value.defined() && other->second.defined();
      const auto expected = isFlat ? torch::where(value.isnan(), other->second, value) : value;
      if (other == found.fAll.end() || !Alike(expected, other->second)) {
         std::ostringstream text;
         text << name << " is\n" << value << "\nand compiled\n";
         other == found.fAll.end() ? text << "not there" : text << other->second;
         return text.str();
      }
   }
   for (const auto &[name, value] : found.fAll)
      if (!excused && named(wanted, name) == wanted.fAll.end())
         return name + " is there only where it is compiled";
   return {};
}

/// Forward() and Backward(), by LibTorch alone.
inline Tensors ForwardEagerly(const Program &program, State &state, const Tensors &inputs, Shown &seen)
{
   const c10::InferenceMode normal(false);
   const torch::AutoGradMode recording(true);
   Tensors leaves, wanted;
   for (const auto &input : inputs)
      leaves.push_back(input.detach().requires_grad_());
   const auto results = Run(program, state, leaves);
   Tensor loss = torch::zeros({});
   for (const auto &result : results)
      loss = loss + result.sum();
   Tensors gradients(leaves.size());
   if (loss.requires_grad())
      seen.fThrownBack = Thrown([&] { gradients = torch::autograd::grad({loss}, leaves, {}, true, false, true); });
   for (std::size_t i = 0; i < leaves.size(); ++i)
      seen.Add("gradient " + std::to_string(i),
               gradients[i].defined() || !seen.fThrownBack.empty() ? gradients[i] : torch::zeros_like(leaves[i]));
   Tensors detached;
   for (const auto &result : results)
      detached.push_back(result.detach());
   return detached;
}

inline Tensors ForwardCompiled(const CladTorch::Compiled &function, const Tensors &inputs, Shown &seen)
{
   const auto results = function.ForwardAll(inputs);
   Tensors gradients(inputs.size()), adjoints;
   for (const auto &result : results)
      adjoints.push_back(torch::ones_like(result));
   seen.fThrownBack = Thrown([&] { gradients = function.Backward(adjoints); });
   for (std::size_t i = 0; i < inputs.size(); ++i)
      seen.Add("gradient " + std::to_string(i), gradients[i]);
   return results;
}

/// The part of the state that differs between eager and compiled runs.
inline Tensor Inner(const Tensor &square, const Tensor &x)
{
   return torch::tanh(x.matmul(square));
}

/// Whether LibTorch's own results of call `last` are as far apart for inputs that differ by one rounding: as where a batch normalisation
/// divides by a spread that is one.
inline bool IsIllConditioned(const Program &program, unsigned last)
{
   Shown seen[2];
   for (int nudged : {0, 1}) {
      State state;
      torch::manual_seed(1);
      state.fInner = [square = state.fSquare](Tensor x) { return Inner(square, x); };
      const auto direct = [&](const Tensors &inputs) { return Run(program, state, inputs); };
      for (unsigned i = 0; i <= last; ++i) {
         Change(program.fCalls[i].fChange, state, [] {});
         seen[nudged] = See(program.fCalls[i], state, i, direct, [&](const Tensors &inputs, Shown &shown) { return ForwardEagerly(program, state, inputs, shown); },
                            nudged && i == last ? 1 + 1.2e-7 : 1);
      }
   }
   return !Difference(seen[0], seen[1]).empty();
}

/// How a compiled program differs; empty if it does not.
inline std::string Differs(const Program &program, std::string &backEnd)
{
   State eager, compiled;
   torch::manual_seed(1);
   eager.fInner = [square = eager.fSquare](Tensor x) { return Inner(square, x); };
   const auto other = CladTorch::Compile([square = compiled.fSquare](Tensor x) { return Inner(square, x); }, {torch::randn({3, 4})});
   compiled.fInner = [&](Tensor x) { return other(x); };
   const auto direct = [&](const Tensors &inputs) { return Run(program, eager, inputs); };
   CladTorch::CompileOptions options;
   options.fDynamicBatch = program.fDynamicBatch;
   std::optional<CladTorch::Compiled> function;
   const Tensors examples{torch::randn({3, 4}), torch::randn({3, 4})};
   const auto thrown = Thrown([&] {
      function.emplace(CladTorch::Compile([&](const Tensors &inputs) { return Run(program, compiled, inputs); }, examples, options));
   });
   if (thrown.find("fDynamicBatch") != std::string::npos) // refused by name
      return {};
   if (!function) { // what cannot run at all
      backEnd = "none";
      const auto copies = [&] { return Tensors{examples[0].clone(), examples[1].clone()}; };
      return Thrown([&] { direct(copies()); }).empty() ? "Compile throws '" + thrown + "'" : "";
   }
   backEnd = function->BackEnd();
   compiled.fSeen = Tensor(); // of the runs that observed it
   for (unsigned i = 0; i < program.fCalls.size(); ++i) {
      const auto &spec = program.fCalls[i];
      Change(spec.fChange, eager, [] {});
      Change(spec.fChange, compiled, [&] { function->Reset(); });
      const auto wanted = See(spec, eager, i, direct, [&](const Tensors &inputs, Shown &seen) { return ForwardEagerly(program, eager, inputs, seen); });
      const auto found = See(spec, compiled, i, [&](const Tensors &inputs) { return function->CallAll(inputs); },
                             [&](const Tensors &inputs, Shown &seen) { return ForwardCompiled(*function, inputs, seen); });
      const auto difference = Difference(wanted, found, HasFlatStep(program));
      if (!difference.empty() && !IsIllConditioned(program, i))
         return "call " + std::to_string(i) + ": " + difference;
   }
   return {};
}

/// Without the step: its users take its operands instead.
inline Program Without(Program program, std::size_t step)
{
   const auto value = step + 2, instead = program.fSteps[step].fA;
   const auto renumber = [&](std::size_t &used) { used = used == value ? instead : used > value ? used - 1 : used; };
   program.fSteps.erase(program.fSteps.begin() + static_cast<std::ptrdiff_t>(step));
   for (auto &other : program.fSteps)
      renumber(other.fA), renumber(other.fB);
   for (auto &result : program.fResults)
      renumber(result);
   return program;
}

/// Without all steps that the failure does not need.
inline Program Reduced(Program program)
{
   std::string backEnd;
   const auto shorten = [&](const Program &shorter) {
      const bool fails = !Differs(shorter, backEnd).empty();
      if (fails)
         program = shorter;
      return fails;
   };
   for (std::size_t i = program.fSteps.size(); i-- > 0;)
      shorten(Without(program, i));
   for (std::size_t i = program.fCalls.size(); i-- > 0;) {
      auto shorter = program;
      shorter.fCalls.erase(shorter.fCalls.begin() + static_cast<std::ptrdiff_t>(i));
      if (shorten(shorter))
         continue;
      for (int CallSpec::*part : {&CallSpec::fGiven, &CallSpec::fWanted, &CallSpec::fChange, &CallSpec::fWay}) {
         shorter = program;
         shorter.fCalls[i].*part = 0;
         shorten(shorter);
      }
   }
   if (program.fResults.size() > 1) {
      auto shorter = program;
      shorter.fResults.pop_back();
      shorten(shorter);
   }
   auto shorter = program;
   shorter.fDynamicBatch = false;
   shorten(shorter);
   return program;
}

/// `count` programs of the seeds from `first` on that have a step with `part` in its code.
inline std::vector<Program> RandomPrograms(unsigned first, std::size_t count, const std::string &part = "")
{
   std::vector<Program> programs;
   for (auto seed = first; programs.size() < count; ++seed) {
      auto program = RandomProgram(seed);
      const auto &steps = program.fSteps;
      if (std::any_of(steps.begin(), steps.end(), [&](const Step &step) { return step.fKind.find(part) != std::string::npos; }))
         programs.push_back(std::move(program));
   }
   return programs;
}

/// Reports each program that fails, twenty at most, and requires that none does. Returns how many ran on each back end.
inline std::map<std::string, std::size_t> TryPrograms(const std::vector<Program> &programs)
{
   std::map<std::string, std::size_t> backEnds;
   int failures = 0;
   for (const auto &program : programs) {
      std::string backEnd;
      if (Differs(program, backEnd).empty()) {
         ++backEnds[backEnd];
         continue;
      }
      const auto reduced = Reduced(program);
      std::cout << "a program on " << backEnd << " differs; in short:\n" << AsCode(reduced) << Differs(reduced, backEnd) << '\n' << std::endl;
      if (++failures == 20)
         break;
   }
   for (const auto &[backEnd, count] : backEnds)
      std::cout << count << " programs on " << backEnd << std::endl;
   CHECK(failures == 0);
   return backEnds;
}

#endif
