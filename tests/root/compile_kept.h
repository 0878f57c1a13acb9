/// \file compile_kept.h
/// \brief Programs that a compiled function once got wrong, in the form that compile_programs.h prints: steps, results, calls,
///        fDynamicBatch.

#ifndef CLADTORCH_TEST_COMPILE_KEPT
#define CLADTORCH_TEST_COMPILE_KEPT

#include "compile_programs.h"

inline std::vector<Program> KeptPrograms()
{
   return {
      // Arguments that a result does not depend on have no gradient, and a result that depends on nothing requires
      // none.
      {{{R"(return n - a;)", 1, 1, 1}}, {2}, {{0, 0, 0, 0}}, false},
      {{{R"(return (a > b).to(torch::kFloat);)", 1, 1, 1}}, {2}, {{0, 0, 0, 0}}, false},
      {{{R"(return a - n * b;)", 0, 1, -1.5}, {R"(return a * s.fWeight;)", 1, 2, -1}}, {2}, {{0, 0, 0, 0}, {0, 2, 0, 0}}, false},
      {{{R"(return a * s.fWeight;)", 1, 0, 0.5}}, {2}, {{0, 0, 0, 0}, {0, 2, 1, 0}, {0, 0, 2, 0}}, false},
      {{{R"(return torch::tanh(a);)", 0, 0, 1}, {R"(return a.sin();)", 1, 1, 1}}, {2, 3}, {{0, 0, 0, 0}, {0, 1, 0, 0}}, false},
      // Branches between which only the order of arguments, or the result, differs.
      {{{R"(return torch::GradMode::is_enabled() ? a - b : b - a;)", 1, 0, -1}}, {2}, {{0, 0, 0, 0}, {0, 3, 0, 0}}, false},
      {{{R"(return a.requires_grad() ? a - b : b - a;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {0, 2, 0, 0}}, false},
      {{{R"(return a.requires_grad() && !b.requires_grad() ? a - b : b - a;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {0, 1, 0, 0}}, false},
      {{{R"(return a.is_leaf() ? a - b : b - a;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {6, 0, 0, 0}}, false},
      // Below autograd.
      {{{R"(Tensor scale; { const at::AutoDispatchBelowAutograd off; scale = a.sigmoid(); } return scale * b;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}}, false},
      // Operators that take no more than a shape, in a function of several parts.
      {{{R"(auto v = a.sin().exp().cumsum(0).sum(); return ((v > 0).to(torch::kFloat).expand_as(a) * 2).sin();)", 0, 1, 1}, {R"(return a.sin() * b;)", 0, 1, 1}}, {2, 3}, {{0, 0, 0, 0}}, false},
      {{{R"(auto v = a.sin().exp().cumsum(0).sum(); return torch::broadcast_tensors({v.detach().exp() * 2, a.sin()})[0].sin();)", 0, 1, 1}, {R"(return a.sin() * b;)", 0, 1, 1}}, {2, 3}, {{0, 0, 0, 0}}, false},
      // Random numbers for a tensor that has gaps.
      {{{R"(const auto v = (a.cumsum(0) * 3).exp().sin().unsqueeze(0).expand({4, -1, -1}).contiguous().diagonal(0, 0, 2); return (v * 2).exp() + torch::rand_like(v);)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}}, false},
      // Tables that share their memory with another tensor.
      {{{R"(return a * torch::tensor(std::vector<float>{1, -2, 3, 4});)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {0, 1, 0, 0}}, false},
      {{{R"(auto t = torch::zeros(4); auto u = t.data(); t.add_(1); return a * u + t;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {0, 1, 0, 0}}, false},
      {{{R"(auto t = torch::zeros(4); auto u = t.data(); auto r = a * u; t.add_(1); return r + u;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {0, 1, 0, 0}}, false},
      {{{R"(auto t = torch::empty({4}); auto *p = t.data_ptr<float>(); for (int i = 0; i < 4; ++i) p[i] = 1 + i; auto u = t.data(); auto r = a * u; p[0] = 3; return r + a * u;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {0, 1, 0, 0}}, false},
      {{{R"(auto s1 = torch::zeros(4), t = torch::ones(4); s1.add_(1); s1.set_data(t); auto r = a * s1; t.add_(1); return r + a * s1;)", 0, 1, 1}}, {2}, {{0, 0, 0, 0}, {0, 1, 0, 0}}, false},
      // Random numbers that no result uses are still drawn, and in the order of the memory.
      {{{R"(return a * torch::rand_like(a);)", 1, 0, 1}, {R"(return a.masked_fill(b > 1e-3, n);)", 1, 1, 0}}, {3}, {{0, 0, 0, 0}}, false},
      {{{R"(return torch::dropout(a, 0.4, true);)", 1, 0, 1}, {R"(return a.sin();)", 1, 1, 0}}, {3}, {{0, 0, 0, 0}}, false},
      {{{R"(return s.fDropout->forward(a);)", 0, 0, 0.5}}, {2}, {{4, 0, 0, 0}, {0, 0, 4, 0}}, false},
      // Changes although no result uses them.
      {{{R"(return s.fNorm->forward(a);)", 1, 0, -1}, {R"(return a.sigmoid() * b;)", 1, 1, -0.5}}, {3}, {{0, 0, 0, 0}}, false},
      // Second derivatives where one argument is another one, or was computed from it.
      {{{R"(return a.sigmoid() * b;)", 0, 1, 0.5}}, {2}, {{2, 0, 0, 2}}, false},
      {{{R"(return torch::tanh(a.matmul(s.fSquare));)", 1, 1, 0.5}, {R"(return s.fInner(a) * b;)", 2, 1, 1}, {R"(return a.detach() * b;)", 2, 3, -1.5}}, {4}, {{0, 0, 0, 2}}, false},
      // What happens before an exception.
      {{{R"(s.fCount.add_(1); return a * 2;)", 0, 0, 0.5}, {R"(return a.view({4, -1}).view(a.sizes());)", 0, 0, -1}}, {3}, {{0, 0, 0, 0}, {4, 0, 0, 0}}, false},
      {{{R"(return torch::dropout(a, 0.4, true);)", 0, 1, -0.5}, {R"(return a.view({4, -1}).view(a.sizes());)", 2, 2, 0.5}}, {3}, {{4, 0, 0, 0}}, false},
      // A view of an argument of einsum(), which its schema does not declare.
      {{{R"(Tensor own = a * 2; torch::einsum("ij->ji", {own}).add_(1); return own;)", 0, 0, -1.5}}, {2}, {{0, 0, 0, 0}}, false},
      // NaN in a row that attention masks; no elements for statistics.
      {{{R"(return torch::scaled_dot_product_attention(a, b, b, (a.detach() > b.detach()).slice(1, 0, 1).expand({a.size(0), b.size(0)}));)", 0, 1, -0.5}}, {2}, {{1, 0, 0, 0}}, false},
      {{{R"(return s.fNorm->forward(a);)", 1, 1, -1.5}}, {2}, {{8, 0, 0, 0}}, false},
      // A weight that was frozen when any number of rows was observed.
      {{{R"(return a * s.fWeight;)", 1, 1, 1.5}}, {2}, {{0, 0, 2, 0}, {0, 0, 2, 0}}, true},
      // A tensor with a NaN is not equal to itself.
      {{{R"(return (a.square() + 0.5).sqrt() + b;)", 1, 0, 1.5}, {R"(return torch::equal(a, b) ? a * 2 : b - a;)", 2, 2, -1}}, {3}, {{0, 0, 0, 0}, {1, 0, 0, 0}}, false},
      // A tensor that is made anew in each call, from memory that is replaced.
      {{{R"(return a + b;)", 1, 1, 1}, {R"(return a * s.fWeight.data();)", 2, 2, -1}}, {3}, {{0, 0, 0, 0}, {0, 0, 3, 0}}, false},
      // Other rows.
      {{{R"(return a.size(0) > 4 ? a * 2 : b * 3;)", 0, 0, -1.5}}, {2}, {{0, 0, 0, 0}, {5, 0, 0, 0}}, false},
      {{{R"(if (!s.fKept.defined()) s.fKept = torch::tensor({3.f, 1.f, 4.f, 1.f}); return a * s.fKept;)", 0, 1, 0.5}, {R"(return a.size(0) > 4 ? a * 2 : b * 3;)", 1, 1, 0.5}}, {3}, {{0, 0, 0, 0}}, true},
      // A copy into the whole of a tensor of one's own, part of which then changes; a result that zero_() overwrites.
      {{{R"(Tensor own = torch::zeros_like(a); own.copy_(a.sin()); own.select(1, 0).mul_(2); return own * b;)", 0, 1, 1}, {R"(return a.cumsum(1);)", 2, 0, 1}, {R"(return a / (1 + b.square());)", 3, 1, 1}}, {4}, {{0, 0, 0, 0}, {4, 0, 0, 0}}, false},
      {{{R"(Tensor own = std::get<0>((a.sin() * 2).tanh().cummax(0)), seen = own.transpose(0, 1); own.zero_(); seen.add_(1); return own * 1;)", 0, 1, 1}, {R"(return (a / (1 + b.square())).exp();)", 0, 1, 1}}, {2, 3}, {{0, 0, 0, 0}}, false},
      // In parts: random numbers that are drawn in place, elements that share one place, ones that need no gradient.
      {{{R"(return a.sin();)", 0, 0, 0}, {R"(return a + torch::zeros_like(b).bernoulli_(0.5);)", 2, 2, 0.5}, {R"(return a / (1 + b.square());)", 3, 2, 1}}, {4}, {{0, 0, 0, 0}, {8, 0, 0, 0}}, false},
      {{{R"(return torch::broadcast_tensors({a, b.slice(0, 0, 1)})[1] * a;)", 0, 1, 1}, {R"(return a.t().contiguous().view_as(a) + b;)", 1, 0, 1.5}, {R"(return a / (1 + b.square());)", 2, 3, 0}}, {4}, {{0, 0, 0, 0}}, false},
      {{{R"(return torch::tanh(a);)", 0, 1, 1}, {R"(return torch::ones_like(a);)", 2, 1, -1}, {R"(return a.round() + b;)", 2, 2, -1.5}, {R"(return a / (1 + b.square());)", 2, 4, -1.5}}, {5, 3}, {{0, 0, 0, 0}}, false},
   };
}

#endif
