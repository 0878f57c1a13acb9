/// \file compile_signals.h
/// \brief Formulas of signal analysis, networks and numerical methods, as physicists write them.

#ifndef CLADTORCH_TEST_COMPILE_SIGNALS
#define CLADTORCH_TEST_COMPILE_SIGNALS

#include "compile_formulas.h"

inline std::vector<Formula> Signals()
{
   return {
      {"a matched filter", {Normal({-1, 64}), Normal({64})}, [](const Tensors &t) {
         const auto z = torch::fft_irfft(torch::fft_rfft(t[0]) * torch::fft_rfft(t[1]).conj(), 64);
         return std::get<0>(z.abs().max(1)) / (t[1].square().sum() + 1e-6).sqrt();
      }, "split"},
      {"whitening by the local deviation", {Normal({-1, 32})}, [](const Tensors &t) {
         const auto windows = t[0].unfold(1, 8, 4);
         return (windows - windows.mean(2, true)).div((windows.std(2, false) + 1e-3).unsqueeze(2)).flatten(1);
      }},
      {"autocorrelation", {Normal({-1, 16})}, [](const Tensors &t) {
         Tensors lags;
         for (int lag = 0; lag < 4; ++lag)
            lags.push_back((t[0].slice(1, 0, 16 - lag) * t[0].slice(1, lag)).mean(1));
         return torch::stack(lags, 1);
      }},
      {"a chirp in a window", {Uniform({-1, 2}, 0.5, 1.5)}, [](const Tensors &t) {
         const auto time = torch::linspace(0, 1, 32), frequency = t[0].slice(1, 0, 1) * 5, amplitude = t[0].slice(1, 1, 2);
         return amplitude * torch::sin(2 * M_PI * frequency * time * (1 + time)) * torch::hann_window(32);
      }},
      {"smoothing round a circle", {Normal({-1, 1, 12}), Uniform({1, 1, 3})}, [](const Tensors &t) {
         return torch::conv1d(F::pad(t[0], F::PadFuncOptions({1, 1}).mode(torch::kCircular)), t[1] / t[1].sum());
      }},
      {"time reversed", {Normal({-1, 10})}, [](const Tensors &t) { return (t[0] * t[0].flip({1})).cumsum(1).tanh() * 2 + t[0]; }, "split"},
      {"the phase of an inspiral", {Uniform({-1}, 0.5, 2)}, [](const Tensors &t) {
         const auto f = torch::linspace(20, 200, 24), v = (t[0].unsqueeze(1) * f * 1e-3).pow(1. / 3);
         return torch::cos(3. / 128 * v.pow(-5) * 1e-2 * (1 + 3715. / 756 * v.square() - 16 * M_PI * v.pow(3)));
      }},
      {"an antenna pattern", {Normal({-1, 3})}, [](const Tensors &t) {
         const auto c = t[0].select(1, 0).cos(), p = 2 * t[0].select(1, 1), psi = 2 * t[0].select(1, 2);
         return torch::stack({0.5 * (1 + c * c) * p.cos() * psi.cos() - c * p.sin() * psi.sin(), 0.5 * (1 + c * c) * p.cos() * psi.sin() + c * p.sin() * psi.cos()}, 1);
      }},
      {"a noise-weighted product", {Normal({-1, 16}), Normal({-1, 16}), Uniform({16}, 0.5, 2)}, [](const Tensors &t) {
         const auto product = [&](const Tensor &a, const Tensor &b) { return 4 * (a * b / t[2]).sum(1); };
         return product(t[0], t[1]) / (product(t[1], t[1]) + 1e-3).sqrt();
      }},
      {"a chi-square in bands", {Normal({-1, 16}), Normal({16})}, [](const Tensors &t) {
         const auto bands = (t[0] * t[1]).view({-1, 4, 4}).sum(2);
         return (bands - bands.mean(1, true)).square().sum(1) * 4;
      }},
      {"a ringdown", {Uniform({-1}, 1, 2), Uniform({-1}, 5, 9)}, [](const Tensors &t) {
         const auto time = torch::arange(0, 20) * 0.05;
         return torch::exp(-time / t[0].unsqueeze(1)) * torch::cos(t[1].unsqueeze(1) * time) * (time > 0.1);
      }},
      {"a sine-Gaussian", {Uniform({-1, 3}, 0.5, 1)}, [](const Tensors &t) {
         const auto time = torch::linspace(-1, 1, 21) - t[0].slice(1, 0, 1);
         return torch::exp(-(time / t[0].slice(1, 1, 2)).square()) * torch::sin(12 * t[0].slice(1, 2) * time);
      }},
      {"an exponential average", {Normal({-1, 8})}, [](const Tensors &t) {
         auto mean = t[0].select(1, 0);
         Tensors means{mean};
         for (int i = 1; i < 8; ++i)
            means.push_back(mean = 0.7 * mean + 0.3 * t[0].select(1, i));
         return torch::stack(means, 1);
      }},
      {"differences", {Normal({-1, 9})}, [](const Tensors &t) { return torch::diff(t[0], 1, 1).abs().sum(1) + torch::diff(t[0], 2, 1).square().mean(1); }},
      {"an integral by trapezoids", {Normal({-1, 9})}, [](const Tensors &t) { return torch::trapezoid(t[0].exp(), 0.25, 1) + t[0].mean(1).sin(); }},
      {"a pulse fitted by its peak", {Normal({-1, 5})}, [](const Tensors &t) {
         const auto a = t[0].select(1, 1), b = t[0].select(1, 2) + 8, c = t[0].select(1, 3);
         return 0.5 * (a - c) / (a - 2 * b + c);
      }},
      {"the area under a pulse, less its pedestal", {Normal({-1, 20}, 5, 1)}, [](const Tensors &t) {
         return (t[0].slice(1, 5, 15) - t[0].slice(1, 0, 5).mean(1, true)).clamp_min(0).sum(1);
      }},
      {"a threshold with hysteresis", {Normal({-1, 6})}, [](const Tensors &t) {
         auto on = torch::zeros_like(t[0].select(1, 0));
         for (int i = 0; i < 6; ++i) {
            const auto x = t[0].select(1, i);
            on = torch::where(x > 0.5, torch::ones_like(on), torch::where(x < -0.5, torch::zeros_like(on), on)) * x.abs();
         }
         return on;
      }},
      {"a median filter", {Normal({-1, 10})}, [](const Tensors &t) { return std::get<0>(t[0].unfold(1, 3, 1).median(2)).tanh() * 2 + t[0].mean(1, true); }, "split"},
      {"deviation from the median", {Normal({-1, 5})}, [](const Tensors &t) {
         const auto median = std::get<0>(t[0].median(1, true));
         return (t[0] - median) / (std::get<0>((t[0] - median).abs().median(1, true)) + 0.1);
      }, "split"},
      {"a power spectrum by hand", {Normal({-1, 8})}, [](const Tensors &t) {
         const auto angle = torch::outer(torch::arange(5), torch::arange(8)).to(torch::kFloat) * (2 * M_PI / 8);
         return t[0].matmul(angle.cos().t()).square() + t[0].matmul(angle.sin().t()).square();
      }},
      {"padded and pooled", {Normal({-1, 2, 9})}, [](const Tensors &t) {
         return torch::avg_pool1d(F::pad(t[0], F::PadFuncOptions({1, 2}).mode(torch::kReflect)), 3, 3) + t[0].mean(2, true);
      }},
   };
}

inline std::vector<Formula> Networks()
{
   nn::Linear in(4, 8), out(8, 4), gate(8, 4), wide(4, 12);
   nn::LSTMCell cell(4, 4);
   nn::GRUCell gru(4, 4);
   nn::Embedding codes(nn::EmbeddingOptions(5, 4).padding_idx(0));
   nn::BatchNorm1d norm(nn::BatchNorm1dOptions(4).momentum(0.2));
   norm->eval();
   nn::LayerNorm layers(nn::LayerNormOptions({4}));
   nn::GroupNorm groups(2, 4);
   nn::Conv1d conv(nn::Conv1dOptions(4, 4, 3).padding(1)), depthwise(nn::Conv1dOptions(4, 4, 3).padding(1).groups(4));
   nn::PReLU prelu;
   const auto frequencies = torch::randn({4, 16}), phases = torch::rand({16}), labels = torch::tensor({0L, 2L, 4L, 0L});
   return {
      {"a gated residual", {Normal({-1, 4})}, [=](const Tensors &t) mutable {
         const auto hidden = torch::silu(in(t[0])), open = torch::sigmoid(gate(hidden));
         return t[0] * (1 - open) + out(hidden * hidden) * open;
      }},
      {"steps of an LSTM cell", {Normal({-1, 3, 4})}, [=](const Tensors &t) mutable {
         auto state = std::make_tuple(torch::zeros({t[0].size(0), 4}), torch::zeros({t[0].size(0), 4}));
         for (int i = 0; i < 3; ++i)
            state = cell(t[0].select(1, i), state);
         return std::get<0>(state);
      }},
      {"steps of a GRU cell", {Normal({-1, 3, 4})}, [=](const Tensors &t) mutable {
         auto state = torch::zeros({t[0].size(0), 4});
         for (int i = 0; i < 3; ++i)
            state = gru(t[0].select(1, i), state);
         return state;
      }},
      {"embedded codes", {Normal({-1, 4, 4})}, [=](const Tensors &t) mutable { return (t[0] * codes(labels)).sum(2).relu(); }},
      {"squeeze and excite", {Normal({-1, 4, 6})}, [=](const Tensors &t) mutable {
         return t[0] * torch::sigmoid(out(torch::relu(in(torch::adaptive_avg_pool1d(t[0], 1).squeeze(2))))).unsqueeze(2);
      }},
      {"straight through", {Normal({-1, 4})}, [](const Tensors &t) {
         const auto p = torch::sigmoid(t[0]);
         return ((p > 0.5).to(torch::kFloat) - p).detach() + p;
      }},
      {"random features", {Normal({-1, 4})}, [=](const Tensors &t) { return torch::cos(t[0].mm(frequencies) + phases * 6.28) * std::sqrt(2.0 / 16); }},
      {"batch normalisation, evaluated", {Normal({-1, 4})}, [=](const Tensors &t) mutable { return norm(t[0]).pow(3); }},
      {"a pre-normalised block", {Normal({-1, 4})}, [=](const Tensors &t) mutable { return t[0] + out(F::gelu(in(layers(t[0])))); }},
      {"group normalisation", {Normal({-1, 4, 6})}, [=](const Tensors &t) mutable { return torch::relu(groups(conv(t[0]))) + t[0]; }},
      {"separable convolutions", {Normal({-1, 4, 6})}, [=](const Tensors &t) mutable { return F::elu(conv(depthwise(t[0]))).mean(2); }},
      {"heads of attention", {Normal({-1, 5, 4})}, [=](const Tensors &t) mutable {
         const auto parts = wide(t[0]).view({-1, 5, 3, 2, 2}).permute({2, 0, 3, 1, 4}).unbind(0);
         return torch::scaled_dot_product_attention(parts[0], parts[1], parts[2]).transpose(1, 2).reshape({-1, 5, 4});
      }},
      {"a mixture of experts", {Normal({-1, 4}), Normal({3, 4, 2})}, [=](const Tensors &t) mutable {
         const auto share = torch::softmax(in(t[0]).slice(1, 0, 3), 1);
         return (share.unsqueeze(2) * torch::einsum("ni,eio->neo", {t[0], t[1]})).sum(1);
      }},
      {"an affine coupling", {Normal({-1, 8})}, [=](const Tensors &t) mutable {
         const auto kept = t[0].slice(1, 0, 4), hidden = out(torch::tanh(in(kept)));
         return torch::cat({kept, t[0].slice(1, 4) * torch::exp(torch::tanh(hidden)) + hidden}, 1);
      }},
      {"the log-likelihood of a flow", {Normal({-1, 4})}, [=](const Tensors &t) mutable {
         const auto scale = torch::tanh(out(torch::relu(in(t[0]))));
         return (scale - 0.5 * (t[0] * scale.exp()).square() - 0.5 * std::log(2 * M_PI)).sum(1);
      }},
      {"a Gaussian mixture density", {Normal({-1, 4}), Normal({-1})}, [=](const Tensors &t) mutable {
         const auto parts = wide(t[0]).chunk(3, 1);
         const auto width = F::softplus(parts[1]) + 0.1;
         return -torch::logsumexp(torch::log_softmax(parts[0], 1) - 0.5 * ((t[1].unsqueeze(1) - parts[2]) / width).square() - width.log(), 1).mean();
      }},
      {"a variational loss", {Normal({-1, 4}), Normal({-1, 4})}, [=](const Tensors &t) mutable {
         const auto mean = out(torch::relu(in(t[0]))), logarithm = t[0].tanh();
         const auto seen = mean + torch::exp(0.5 * logarithm) * t[1];
         return (seen - t[0]).square().sum() - 0.5 * (1 + logarithm - mean.square() - logarithm.exp()).sum();
      }},
      {"a contrastive loss", {Normal({-1, 4}), Normal({-1, 4})}, [](const Tensors &t) {
         const auto a = F::normalize(t[0]), b = F::normalize(t[1]);
         const auto score = a.matmul(b.t()) / 0.2;
         return (torch::logsumexp(score, 1) - score.diagonal()).mean();
      }},
      {"cosine embedding", {Normal({-1, 4}), Normal({-1, 4})}, [](const Tensors &t) {
         return F::cosine_embedding_loss(t[0] * 2, t[1].tanh(), torch::ones({t[0].size(0)}));
      }, "autograd"},
      {"focal loss", {Normal({-1}), Normal({-1})}, [](const Tensors &t) {
         const auto label = (t[1] > 0).to(torch::kFloat), loss = F::binary_cross_entropy_with_logits(t[0], label, F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
         return ((1 - torch::exp(-loss)).square() * loss).mean();
      }},
      {"labels smoothed", {Normal({-1, 4}), Uniform({-1, 4})}, [](const Tensors &t) {
         return -(torch::log_softmax(t[0], 1) * (0.9 * torch::softmax(t[1], 1) + 0.025)).sum(1).mean();
      }},
      {"a quantile loss", {Normal({-1}), Normal({-1})}, [](const Tensors &t) {
         const auto d = t[0] - t[1];
         return torch::maximum(0.9 * d, -0.1 * d).mean() + F::smooth_l1_loss(t[0], t[1]);
      }},
      {"weights clipped", {Normal({-1}), Normal({-1})}, [](const Tensors &t) {
         auto weight = t[1].exp();
         weight = torch::where(weight > weight.mean() * 3, weight.mean() * 3, weight);
         return (t[0] * weight).sum() / weight.sum();
      }},
      {"other activations", {Normal({-1, 4})}, [=](const Tensors &t) mutable {
         return prelu(t[0]) + F::mish(t[0]) + F::hardtanh(t[0]) + torch::selu(t[0]) + F::softshrink(t[0]) + torch::celu(t[0]) + torch::hardswish(t[0]) + F::relu6(t[0] * 4);
      }},
      {"a gated linear unit", {Normal({-1, 8})}, [](const Tensors &t) { return F::glu(t[0], F::GLUFuncOptions(1)) + F::softmin(t[0].slice(1, 0, 4), F::SoftminFuncOptions(1)); }},
   };
}

inline std::vector<Formula> Numerics()
{
   const auto pendulum = [](const Tensor &y) { return torch::stack({y.select(1, 1), -y.select(1, 0).sin()}, 1); };
   return {
      {"columns changed in place", {Normal({-1, 4})}, [](const Tensors &t) {
         auto y = t[0].clone();
         y.select(1, 0).mul_(2).add_(1);
         y.index_put_({Slice(), 1}, t[0].select(1, 2).tanh());
         y.slice(1, 2, 4).clamp_(-1, 1);
         return y * 3;
      }},
      {"rows put together", {Normal({-1, 3})}, [](const Tensors &t) {
         auto y = torch::zeros({t[0].size(0), 4});
         y.select(1, 0).copy_(t[0].norm(2, 1));
         y.slice(1, 1).copy_(t[0]);
         return y.exp() - y.select(1, 0).unsqueeze(1);
      }},
      {"Runge and Kutta", {Normal({-1, 2})}, [=](const Tensors &t) {
         auto y = t[0];
         for (int i = 0; i < 3; ++i) {
            const auto k1 = pendulum(y), k2 = pendulum(y + 0.05 * k1), k3 = pendulum(y + 0.05 * k2), k4 = pendulum(y + 0.1 * k3);
            y = y + (k1 + 2 * k2 + 2 * k3 + k4) * (0.1 / 6);
         }
         return y;
      }},
      {"leapfrog", {Normal({-1, 3}), Normal({-1, 3})}, [](const Tensors &t) {
         auto x = t[0], v = t[1];
         for (int i = 0; i < 4; ++i) {
            x = x + 0.05 * v;
            v = v - 0.1 * x / (x.square().sum(1, true) + 1).pow(1.5);
            x = x + 0.05 * v;
         }
         return torch::cat({x, v}, 1);
      }},
      {"Newton's method", {Uniform({-1}, 1, 4)}, [](const Tensors &t) {
         auto x = torch::ones_like(t[0]) * 1.5;
         for (int i = 0; i < 4; ++i)
            x = x - (x * x * x - t[0]) / (3 * x * x);
         return x;
      }},
      {"Kepler's equation", {Uniform({-1}, 0, 3), Uniform({-1}, 0, 0.5)}, [](const Tensors &t) {
         auto e = t[0];
         for (int i = 0; i < 4; ++i)
            e = e - (e - t[1] * e.sin() - t[0]) / (1 - t[1] * e.cos());
         return torch::atan2((1 - t[1].square()).sqrt() * e.sin(), e.cos() - t[1]);
      }},
      {"a branch on the shape", {Normal({-1, 4})}, [](const Tensors &t) {
         return t[0].size(0) > 5 ? std::get<0>(t[0].topk(3, 0)).mean(0) : t[0].mean(0);
      }},
      {"a check of the shape", {Uniform({-1})}, [](const Tensors &t) {
         TORCH_CHECK(t[0].dim() == 1, "one dimension");
         return torch::log(t[0] + 0.1) / std::log(10.0);
      }},
      {"an interpolation", {Uniform({-1}), Normal({5})}, [](const Tensors &t) {
         const auto nodes = torch::linspace(0, 1, 5);
         return (torch::relu(1 - (t[0].unsqueeze(1) - nodes).abs() * 4) * t[1]).sum(1);
      }},
      {"a spline's basis", {Uniform({-1})}, [](const Tensors &t) {
         const auto x = t[0], r = 1 - x;
         return torch::stack({r.pow(3) / 6, (3 * x.pow(3) - 6 * x.pow(2) + 4) / 6, (3 * r.pow(3) - 6 * r.pow(2) + 4) / 6, x.pow(3) / 6}, 1);
      }},
      {"Horner's scheme", {Normal({-1}), Normal({6})}, [](const Tensors &t) {
         auto y = torch::zeros_like(t[0]);
         for (int i = 0; i < 6; ++i)
            y = y * t[0].tanh() + t[1][i];
         return y;
      }},
      {"Gauss and Legendre", {Uniform({-1}, 0.5, 2)}, [](const Tensors &t) {
         const auto node = torch::tensor({-0.7745967f, 0.f, 0.7745967f}), weight = torch::tensor({0.5555556f, 0.8888889f, 0.5555556f});
         const auto x = t[0].unsqueeze(1) * (node + 1) / 2;
         return (weight * torch::exp(-x * x)).sum(1) * t[0] / 2;
      }},
      {"a Bessel function by its series", {Uniform({-1}, 0, 2)}, [](const Tensors &t) {
         auto term = torch::ones_like(t[0]), sum = term;
         for (int k = 1; k < 8; ++k)
            sum = sum + (term = term * -(t[0] / 2).square() / (k * k));
         return sum;
      }},
      {"an Ising energy", {Normal({-1, 4, 4})}, [](const Tensors &t) {
         const auto spin = torch::tanh(t[0]);
         return -(spin * (spin.roll(1, 1) + spin.roll(1, 2))).sum({1, 2});
      }},
      {"Lennard-Jones", {Normal({-1, 3}, 0, 3)}, [](const Tensors &t) {
         const auto d = t[0].unsqueeze(0) - t[0].unsqueeze(1);
         const auto r2 = d.square().sum(2) + torch::eye(t[0].size(0)) * 1e6 + 0.5, s6 = 1 / (r2 * r2 * r2);
         return (s6 * s6 - s6).sum() * 2;
      }},
      {"a Laplacian", {Normal({-1, 6, 6})}, [](const Tensors &t) {
         const auto in = Slice(1, -1);
         return t[0].index({Slice(), Slice(2, None), in}) + t[0].index({Slice(), Slice(None, -2), in}) + t[0].index({Slice(), in, Slice(2, None)}) +
                t[0].index({Slice(), in, Slice(None, -2)}) - 4 * t[0].index({Slice(), in, in});
      }},
      {"a determinant of 3 by 3", {Normal({-1, 3, 3})}, [](const Tensors &t) {
         return (torch::cross(t[0].select(1, 0), t[0].select(1, 1), 1) * t[0].select(1, 2)).sum(1) + torch::diagonal(t[0], 0, 1, 2).sum(1);
      }},
      {"a matrix with a diagonal", {Normal({-1, 3})}, [](const Tensors &t) { return torch::diag_embed(t[0].exp()).matmul(torch::ones({3, 3})) + torch::eye(3); }},
      {"a power series of a matrix", {Normal({3, 3}, 0, 0.2), Normal({-1, 3})}, [](const Tensors &t) {
         auto term = torch::eye(3), sum = term;
         for (int k = 1; k < 5; ++k)
            sum = sum + (term = term.matmul(t[0]) / k);
         return t[1].matmul(sum) + torch::trace(sum);
      }},
      {"what is left of a division", {Normal({-1}, 0, 4), Uniform({-1}, 1, 2)}, [](const Tensors &t) { return torch::fmod(t[0], t[1]) + torch::logaddexp2(t[0], t[1]); }},
      {"a table by linear interpolation", {Uniform({-1}, 0.1, 3.9), Normal({5})}, [](const Tensors &t) {
         const auto below = t[0].detach().floor().to(torch::kLong).clamp(0, 3);
         const auto share = t[0] - below;
         return t[1].index({below}) * (1 - share) + t[1].index({below + 1}) * share;
      }, "split"},
      {"numbers that are missing", {Normal({-1, 4})}, [](const Tensors &t) {
         const auto seen = torch::where(t[0] > -1, t[0], torch::full_like(t[0], std::nan(""))), is = ~seen.isnan();
         return torch::nan_to_num(seen).sum(1) / is.sum(1).clamp_min(1) + torch::where(is, seen, torch::zeros_like(seen)).square().sum(1);
      }},
      {"the sum that is stable", {Normal({-1, 6}, 0, 30)}, [](const Tensors &t) {
         const auto greatest = t[0].amax(1, true);
         return (greatest + (t[0] - greatest).exp().sum(1, true).log()).squeeze(1) - torch::logsumexp(t[0], 1);
      }},
      {"heads and tails of a list", {Normal({-1, 4})}, [](const Tensors &t) {
         return torch::hstack({t[0].slice(1, 2), torch::vstack({t[0].slice(0, 1), t[0].slice(0, 0, 1)}).tanh()});
      }},
   };
}

#endif
