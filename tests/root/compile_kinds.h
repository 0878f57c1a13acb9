/// \file compile_kinds.h
/// \brief The steps of random programs, and the state that they find outside their inputs.

#ifndef CLADTORCH_TEST_COMPILE_KINDS
#define CLADTORCH_TEST_COMPILE_KINDS

#include <CladTorch/Torch.hxx>

#include <ATen/CPUGeneratorImpl.h>

#include <functional>
#include <string>
#include <vector>

using torch::Tensor;
using Tensors = std::vector<Tensor>;

#ifndef __CLING__ // which cannot link their nodes
struct Reversal : torch::autograd::Function<Reversal> {
   static Tensor forward(torch::autograd::AutogradContext *, Tensor x) { return x * 1; }
   static Tensors backward(torch::autograd::AutogradContext *, Tensors adjoints) { return {-adjoints[0]}; }
};

struct Straight : torch::autograd::Function<Straight> {
   static Tensor forward(torch::autograd::AutogradContext *, Tensor x) { return x.round(); }
   static Tensors backward(torch::autograd::AutogradContext *, Tensors adjoints) { return {adjoints[0]}; }
};

/// Its forward runs operators below autograd, as those of LibTorch's own libraries do.
struct Below : torch::autograd::Function<Below> {
   static Tensor forward(torch::autograd::AutogradContext *context, Tensor x)
   {
      const at::AutoDispatchBelowAutograd below;
      context->save_for_backward({x});
      return x.sin();
   }
   static Tensors backward(torch::autograd::AutogradContext *context, Tensors adjoints)
   {
      return {adjoints[0] * context->get_saved_variables()[0]};
   }
};
#endif

/// The state that a program finds outside its inputs; eager and compiled runs each have their own.
struct State {
   Tensor fWeight = torch::linspace(-1, 1, 4).requires_grad_();
   Tensor fScale = torch::linspace(0.5, 2, 4);
   Tensor fSquare = torch::linspace(-1, 1, 16).view({4, 4}).requires_grad_();
   Tensor fDerived = fWeight.tanh();
   Tensor fCount = torch::zeros({}, torch::kLong);
   Tensor fTotal = torch::zeros({4});
   Tensor fFresh = torch::ones({4});
   Tensor fCodes = torch::tensor({16777216, 16777217, 3, 1000822081}, torch::kLong);
   Tensor fRows = torch::tensor({2, 0, 1}, torch::kLong);
   Tensor fColumns = torch::tensor({3, 0, 1, 1}, torch::kLong);
   Tensor fNumber = torch::full({}, 0.25f);
   Tensor fKept;
   Tensor fSeen; ///< of the last run
   torch::nn::BatchNorm1d fNorm{4};
   torch::nn::Dropout fDropout{0.4};
   torch::Generator fGenerator = at::detail::createCPUGenerator(7);
   std::function<Tensor(Tensor)> fInner; ///< another compiled function; for the eager run the plain one

   /// The tensors that the program may change.
   Tensors All() const
   {
      return {fWeight, fScale, fSquare, fCount, fTotal, fNorm->running_mean, fNorm->running_var, fNorm->num_batches_tracked, fSeen};
   }
   /// The tensors that may have a gradient.
   Tensors Leaves() const { return {fWeight, fSquare, fNorm->weight, fNorm->bias}; }
};

/// A step takes two earlier values [N, 4] and a number, and makes a value [N, 4].
struct Kind {
   std::string fName;
   Tensor (*fRun)(State &s, const Tensor &a, const Tensor &b, double n);
   const char *fCode;
};

#define STEP(...)                                                                                                                  \
   Kind{#__VA_ARGS__, [](State &s, const Tensor &a, const Tensor &b, double n) -> Tensor { (void)s, (void)a, (void)b, (void)n; __VA_ARGS__ }, \
        #__VA_ARGS__}

/// Operators for which there are kernels, most of them; half of the steps of a program are of these.
inline std::vector<Kind> Operators()
{
   return {
      STEP(return a + b;),
      STEP(return a * b;),
      STEP(return a - n * b;),
      STEP(return n - a;),
      STEP(return torch::tanh(a);),
      STEP(return a.sin();),
      STEP(return torch::relu(a);),
      STEP(return a.clamp(-40, 40).sigmoid() * b;),
      STEP(return torch::softmax(a, 1);),
      STEP(return a.lerp(b, n);),
      STEP(return a.lerp(b, torch::where(b > 0, 1.f, b));),
      STEP(return torch::atan2(a.to(torch::kLong).to(torch::kFloat), b - 3);),
      STEP(return a - b.mean(1, true);),
      STEP(return a / (1 + b.square());),
      STEP(return torch::where(a > b, a, torch::full({}, static_cast<float>(n)));),
      STEP(return a.masked_fill(b > 1e-3, n);),
      STEP(return torch::cat({a.slice(1, 2, 4), b.slice(1, 0, 2)}, 1);),
      STEP(return a.t().contiguous().view_as(a) + b;),
      STEP(return torch::tanh(a.matmul(s.fSquare));),
      STEP(return a * s.fWeight;),
      STEP(return a * s.fScale;),
      STEP(return a * s.fDerived;),
      STEP(return a + b.index_select(0, s.fRows).sum(0);),
      STEP(return a.clamp(n, n + 1);),
      STEP(return (a > b).to(torch::kFloat);),
      STEP(return (a - b > 1e-3).to(torch::kFloat) * a;),
      STEP(return (a.square() + 0.5).sqrt() + b;),
      STEP(return a.square().mean(0, true) + b;),
      STEP(return torch::cat({a, b}, 0).slice(0, 1, 1 + a.size(0));),
   };
}

/// Everything else that a function may do.
inline std::vector<Kind> OtherKinds()
{
   return {
      // Other operators, some with derivatives that are zero, some that refuse values.
      STEP(return a.round() + b;),
      STEP(return a.floor();),
      STEP(return torch::sign(a) * b;),
      STEP(return a.argmax(1, true).to(torch::kFloat) + b;),
      STEP(return std::get<0>(a.max(1, true)) * b;),
      STEP(return std::get<0>(a.sort(1));),
      STEP(return a.gather(1, b.argsort(1, true)) * n;),
      STEP(return a.gather(1, std::get<1>(b.topk(2, 1, false)).roll(1, 1).repeat({1, 2})) - b;),
      STEP(return a.gather(0, std::get<1>(b.sort(0))) + std::get<1>(b.min(1, true));),
      STEP(return a.cumsum(1);),
      STEP(Tensor own = torch::zeros_like(a); own.copy_(b * n); own.select(1, 0).mul_(2); return own + a;),
      STEP(return torch::cat({a.slice(1, 0, 1), b}, 1).diff(1, 1);),
      STEP(return torch::trapezoid(torch::stack({a, b}, 1), n, 1);),
      STEP(return torch::hinge_embedding_loss(a, b.sign().detach(), n, at::Reduction::None);),
      STEP(return a - a.var(1, true, true);),
      STEP(return torch::layer_norm(a, {4}, s.fWeight, s.fScale);),
      STEP(return a.gather(1, s.fColumns.expand_as(a));),
      STEP(return a + torch::embedding(s.fSquare, s.fColumns).sum(0);),
      STEP(return a + torch::one_hot(s.fColumns, 4).sum(0);),
      STEP(return a + torch::binary_cross_entropy(b, torch::zeros_like(b));),
      STEP(return torch::nan_to_num(a, n);),
      STEP(return a.pow(2) + (b + 0.01).pow(n);),
      STEP(return (a.abs() + 1).log();),
      STEP(return torch::logsumexp(a, 1, true) + b;),
      STEP(return a * (s.fCodes == s.fCodes.roll(1) + 1);),
      STEP(return torch::scaled_dot_product_attention(a, b, b, (a.detach() > b.detach()).slice(1, 0, 1).expand({a.size(0), b.size(0)}));),
      STEP(return a - torch::nn::functional::mse_loss(a, b);),
      STEP(return torch::nn::functional::normalize(a) * b;),
      STEP(return torch::nn::functional::gelu(a) + torch::nn::functional::softplus(b);),
      STEP(return (a - a.mean(0)) / (a.std(0) + 1);),
      STEP(return torch::linear(a, s.fSquare, s.fScale);),
      STEP(return torch::einsum("ij,kj->ik", {a, s.fSquare});),
      STEP(return torch::broadcast_tensors({a, b.slice(0, 0, 1)})[1] * a;),
      STEP(return a.flip(1) + b.roll(1, 0);),
      STEP(return torch::stack({a, b}).amax(0);),
      STEP(return a.scatter_add(1, s.fColumns.expand_as(a), b);),
      STEP(return a.index_add(0, s.fRows, b.slice(0, 0, 3), n);),
      STEP(return a + a.index({s.fRows, s.fRows}).sum() * b;),
      STEP(return a * a.t().index({s.fRows, s.fRows}).mean() + b;),
      STEP(return a + b.index({s.fRows.view({-1, 1}), -1 - s.fColumns}).sum(0).sum() * n;),
      STEP(const auto pairs = (a.unsqueeze(2) * b.unsqueeze(1)); return a + pairs.index({torch::indexing::Slice(), s.fColumns, s.fColumns});),
      STEP(const auto pairs = torch::stack({a, b}, 1); return a * pairs.index({s.fRows, torch::indexing::Slice(), s.fRows}).sum();),
      STEP(const auto part = torch::stack({a, b, a + b}, 1).slice(1, 0, 2); const auto columns = s.fColumns.view({2, 2}).t();
           return a + part.index({torch::indexing::Slice(), torch::indexing::Slice(), columns}).sum(1).reshape({-1, 4});),
      STEP(return a.index_select(1, s.fColumns) - b.flip(0).index_select(1, s.fColumns);),
      STEP(return a.matmul(b.t().matmul(a)) * 0.01;),
      STEP(return torch::embedding(s.fSquare, s.fColumns, 1).sum(0) * a;),
      STEP(return torch::cross(a.slice(1, 0, 3), b.slice(1, 1, 4), 1).sum(1, true) + a;),
      STEP(return torch::constant_pad_nd(a.slice(1, 0, 3), {1, 0}, n) * b;),
      STEP(return torch::cat({a.unfold(1, 2, 1).mean(2), b.slice(1, 0, 1)}, 1);),
      STEP(return torch::xlogy(a, b.square() + 0.5);),
      STEP(return (a.sum() > 0).to(torch::kFloat).expand_as(b);),
      STEP(return (a.detach().sum(1, true) * n).expand_as(b).tanh();),
      STEP(const auto v = a.unsqueeze(0).expand({4, -1, -1}).contiguous().diagonal(0, 0, 2); return v.sin() + torch::rand_like(v);),
      STEP(return a * torch::tensor(std::vector<float>{1, -2, 3, 4}) + b;),
      STEP(return std::get<1>(torch::var_mean(a, 1, true, true)) * b;),
      STEP(return a.prod(1, true) + b;),
      STEP(return std::get<0>(a.topk(4, 1)) - b;),
      STEP(return (a.square() + 0.5).lgamma() * b;),
      STEP(return std::get<0>(a.median(1, true)) + b;),
      STEP(return torch::diff(a, 1, 1, b.slice(1, 0, 1));),
      STEP(return torch::fmod(a, 1.5) + b;),
      STEP(return a.scatter(1, s.fColumns.slice(0, 0, 1).expand({a.size(0), 1}), n) * b;),
      // Integers, masks, other types.
      STEP(return a * (b > 0).sum(1, true).clamp_min(1);),
      STEP(return a / ((a > n).sum() + 1);),
      STEP(return a * (b > 0).count_nonzero();),
      STEP(return a * ((s.fColumns & 1) == 1);),
      STEP(return a * (s.fCodes * 3 - s.fCodes.sum()).remainder(5);),
      STEP(return a + s.fColumns / 2;),
      STEP(return a + s.fColumns.div(2, "floor");),
      STEP(return a * (s.fColumns == 1).sum();),
      STEP(return a * s.fColumns.to(torch::kFloat).mean();),
      STEP(return a + torch::arange(4);),
      STEP(return torch::where(s.fColumns > 0, a, b);),
      STEP(return ((a > b) & (b > 0)).to(torch::kFloat) + a;),
      STEP(return a.masked_fill(~(a > b) | (b < 0), n);),
      STEP(return a * (a > b).any(1, true);),
      STEP(return (a > n) * b;),
      STEP(return a.to(torch::kInt) * b;),
      STEP(return a.to(torch::kDouble).sin().to(torch::kFloat);),
      STEP(return a.to(torch::kHalf).to(torch::kFloat) + b;),
      STEP(return a * torch::tensor(n, torch::kDouble);),
      // Constants made inside.
      STEP(return a * torch::tensor({1.f, 2.f, 3.f, static_cast<float>(n)});),
      STEP(return a + torch::ones({3, 1}).sum() * n;),
      STEP(return a * torch::linspace(0, n, 4);),
      STEP(return a + torch::arange(4, torch::kFloat);),
      STEP(return a.matmul(torch::eye(4)) - b;),
      STEP(return a * torch::empty({4}).fill_(n);),
      STEP(return a + torch::zeros_like(b);),
      STEP(return torch::ones_like(a);),
      STEP(Tensor own = torch::empty({4}); for (int i = 0; i < 4; ++i) own.data_ptr<float>()[i] = static_cast<float>(i); return a * own;),
      STEP(return a * static_cast<double>(a.numel());),
      // In place, and views.
      STEP(return a.clone().mul_(n).add_(b);),
      STEP(Tensor own = a.clone(); own[1].mul_(n); return own;),
      STEP(Tensor own = a.clone(); const auto row = b[0]; own.index_put_({1}, row); return own;),
      STEP(Tensor own = a * 2; own.index_put_({torch::indexing::Slice(), 1}, n); return own * b;),
      STEP(Tensor own = a.sin(); for (int k = 1; k < 4; ++k) own.select(1, k).add_(own.select(1, k - 1) * n); return own;),
      STEP(Tensor own = a.sin(); const auto before = own.clone(); own.select(1, 2).mul_(n); own.slice(1, 0, 2).sub_(1); return own * before + b;),
      STEP(Tensor own = a * 2; own.index_put_({0, 3}, n).index_put_({torch::tensor({2, 0})}, -n); return own + b;),
      STEP(Tensor own = a + b; own.index_put_({b > 1e-3}, n); return own;),
      STEP(Tensor own = a + b; own.index_put_({torch::indexing::Slice(), s.fColumns > 0}, n); return own * a;),
      STEP(Tensor own = a.sin(); own.index_put_({b.select(1, 1) > 1e-3}, s.fNumber); return own;),
      STEP(Tensor own = a * b; own.fill_diagonal_(n); return own;),
      STEP(Tensor own = a.t() * 2; own.fill_diagonal_(n, true); return own.t();),
      STEP(return (a * 1).index_put({torch::arange(1, -1, -1), torch::arange(-1, 3, 3)}, b[1].slice(0, 0, 2));),
      STEP(Tensor own = a * 1; const auto view = own.select(1, 2); own.mul_(b); return own + view.unsqueeze(1);),
      STEP(Tensor own = torch::zeros_like(a); own.slice(1, 0, 2).copy_(b.slice(1, 2, 4)); return own;),
      STEP(Tensor own = a + 1; const auto parts = own.chunk(2, 1); parts[0].mul_(n); return own;),
      STEP(Tensor own = torch::empty_like(a); torch::add_out(own, a.detach(), b.detach()); return own * b;),
      STEP(Tensor own = a * 1; own.masked_fill_(b > 0, n); own += 1; return own;),
      STEP(Tensor own = a * 1; own.index_add_(0, s.fRows, b.slice(0, 0, 3)); return own;),
      STEP(Tensor own = a * 2; own.detach().mul_(n); return own;),
      STEP(Tensor own = torch::linear(a, s.fSquare); own.add_(b).tanh_(); return own;),
      STEP(Tensor own = a * 1; own.select(1, 0).mul_(2).add_(1); own.select(1, 3).copy_(own.select(1, 1)); return own;),
      STEP(Tensor own = torch::zeros({a.size(0), 4}); own.select(1, 1).copy_(b.select(1, 2)); own.slice(1, 2).add_(a.slice(1, 0, 2)); return own + a;),
      STEP(Tensor own = a * 1; own.t()[0].add_(b.select(1, 0)); return own;),
      STEP(Tensor own = a * 1; const auto flat = own.view({-1}); flat.slice(0, 0, 2).fill_(n); return own + flat.view(a.sizes());),
      STEP(Tensor own = a + 0; const auto before = own + 0; const auto part = own.narrow(1, 1, 2); part.zero_(); return own * before + part.sum();),
      STEP(Tensor own = a * 1; const auto wide = own.unsqueeze(1).expand({a.size(0), 2, 4}); own.select(1, 2).mul_(n); return wide.sum(1) + b;),
      STEP(Tensor own = a * 1; own.slice(1, 0, 4, 2).copy_(b.slice(1, 1, 3)); return own;),
      STEP(Tensor own = a * 1; own.select(1, 1).masked_fill_(b.select(1, 0) > 0, n); return own;),
      STEP(Tensor own = a * 1; const auto same = own.reshape({-1}); own.select(1, 0).mul_(n); return own + same.sum();),
      STEP(Tensor own = torch::empty({a.size(0), 4}); own.slice(1, 0, 3).copy_(a.slice(1, 1)); own.select(1, 3).copy_(b.select(1, 0)); return own;),
      // Operators that may return their arguments, though their schemas do not say so.
      STEP(Tensor own = a * 2; torch::dropout(own, 0.5, false).add_(b); return own;),
      STEP(Tensor own = a * 2; own.type_as(b).mul_(n); return own;),
      STEP(Tensor own = a * 2; torch::einsum("ij->ji", {own}).add_(1); return own;),
      STEP(Tensor own = a * 2; own.sum_to_size(own.sizes()).mul_(n); return own;),
      STEP(Tensor own = a * 2; torch::atleast_2d(own).add_(n); return own;),
      STEP(Tensor own = a * 2; const auto other = torch::dropout(own, 0.5, false); own.add_(1); return other * b;),
      STEP(Tensor own = a * 2; torch::broadcast_tensors({own, b})[0].mul_(n); return own;),
      STEP(return torch::dropout(a, 0.5, false).mul_(n);),
      STEP(Tensor own = a * 2; const auto view = own.slice(1, 1); torch::dropout(own, 0.5, false).mul_(n); return own + view.sum();),
      STEP(return a.view({4, -1}).view(a.sizes());),
      STEP(return a.reshape({-1}).reshape(a.sizes());),
      STEP(return a;),
      STEP(return a[0].expand(a.sizes());),
      STEP(return a.mul_(n) + b;),
      STEP(a.add_(b); return b;),
      STEP(return a.detach().relu_() + b;),
      // Gradients that are switched off, switched on or computed by hand.
      STEP(const torch::NoGradGuard off; return a.exp().clamp(0, 3);),
      STEP(const torch::NoGradGuard off; return torch::tanh(b.matmul(s.fSquare));),
      STEP(Tensor scale; { const torch::AutoGradMode off(false); scale = a.sigmoid(); } return scale * b;),
      STEP(Tensor scale; { const at::AutoDispatchBelowAutograd off; scale = a.sigmoid(); } return scale * b;),
      STEP(const torch::AutoGradMode on(true); return a.exp().clamp(0, 3);),
      STEP(return a.detach() * b;),
      STEP(return s.fWeight.detach() * a;),
      STEP(return a.data() * b;),
      STEP(return a * s.fWeight.data();),
#ifndef __CLING__
      STEP(return Reversal::apply(a) + b;),
      STEP(return Straight::apply(a);),
      STEP(return Below::apply(a) * b;),
#endif
      STEP(Tensor inner = a * 2; if (inner.requires_grad()) inner.register_hook([](Tensor gradient) { return gradient * 3; }); return inner;),
      STEP(return a.requires_grad() ? torch::autograd::grad({a.pow(3).sum()}, {a}, {}, true, true)[0] : b * 2;),
      STEP(return a.requires_grad() ? a * 2 : a * 3;),
      STEP(return a.requires_grad() ? a - b : b - a;),
      STEP(return a.requires_grad() && !b.requires_grad() ? a - b : b - a;),
      STEP(return torch::GradMode::is_enabled() ? a - b : b - a;),
      STEP(return a.is_leaf() ? a - b : b - a;),
      // Values that are read.
      STEP(return a * b.mean().item<double>();),
      STEP(return a.sum().item<float>() > n ? a : b.sin();),
      STEP(return a.sum().item<float>() > n ? a - b : b - a;),
      STEP(return a.isnan().any().item<bool>() ? torch::zeros_like(a) : a * 2;),
      STEP(return a.numel() && a.contiguous().data_ptr<float>()[3] > n ? a * 2 : b * 3;),
      STEP(const auto own = a.contiguous(); return own.numel() && own.accessor<float, 2>()[0][0] > n ? a - b : b - a;),
      STEP(return a * s.fScale[2].item<double>();),
      STEP(TORCH_CHECK(a.max().item<float>() < 8, "too great"); return a * 2;),
      STEP(return torch::equal(a, b) ? a * 2 : b - a;),
      STEP(return b + a.masked_select(a > 0).sum();),
      STEP(return b + a.index({a > n}).sum();),
      STEP(return b * static_cast<double>(a.nonzero().size(0));),
      STEP(return a.size(0) > 4 ? a * 2 : b * 3;),
      STEP(return a.is_contiguous() ? a * 2 : b * 3;),
      // Random numbers, modules.
      STEP(return torch::dropout(a, 0.4, true);),
      STEP(return s.fDropout->forward(a);),
      STEP(return torch::feature_dropout(a, 0.4, true);),
      STEP(return torch::feature_dropout(a.unsqueeze(2) * b.unsqueeze(1), 0.4, true).sum(2);),
      STEP(return a * torch::rand_like(a);),
      STEP(return a * torch::rand({4});),
      STEP(return a * torch::rand({4}, s.fGenerator);),
      STEP(const auto y = (a.t().tanh() * 2).sigmoid(); return (y + torch::randn_like(y)).t();),
      STEP(return a + torch::zeros_like(b).bernoulli_(0.5);),
      STEP(return s.fNorm->forward(a);),
      STEP(return s.fInner(a) * b;),
      // State that is kept from call to call.
      STEP(s.fCount.add_(1); return a * 2;),
      STEP(return a * s.fCount;),
      STEP(s.fTotal.add_(a.detach().mean(0)); return b * 2;),
      STEP(return a + s.fTotal;),
      STEP(s.fFresh = s.fFresh.clone(); return a * s.fFresh;),
      STEP(if (!s.fKept.defined()) s.fKept = torch::tensor({3.f, 1.f, 4.f, 1.f}); return a * s.fKept;),
      STEP(s.fSeen = a.detach() * 0.5; return a + b;),
      STEP(s.fSeen = a.sin(); return s.fSeen * b;),
      STEP(return s.fSquare;),
      STEP(return s.fScale.expand(a.sizes());),
   };
}

inline const std::vector<Kind> &Kinds()
{
   static const auto all = [] {
      auto kinds = Operators();
      for (const auto &kind : OtherKinds())
         kinds.push_back(kind);
      return kinds;
   }();
   return all;
}

#endif
