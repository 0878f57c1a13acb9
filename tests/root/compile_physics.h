/// \file compile_physics.h
/// \brief Formulas of statistics and particle physics, as physicists write them.

#ifndef CLADTORCH_TEST_COMPILE_PHYSICS
#define CLADTORCH_TEST_COMPILE_PHYSICS

#include "compile_formulas.h"

inline std::vector<Formula> Likelihoods()
{
   const auto gauss = [](const Tensor &x, const Tensor &mean, const Tensor &width) {
      return torch::exp(-0.5 * ((x - mean) / width).square()) / (width * std::sqrt(2 * M_PI));
   };
   const auto edges = torch::linspace(-2, 2, 9);
   return {
      {"an unbinned mixture", {Normal({-1}), Fixed({0.3f, 1.2f, 0.7f})}, [](const Tensors &t) {
         const auto fraction = torch::sigmoid(t[1][0]), width = F::softplus(t[1][1]);
         const auto signal = torch::exp(-0.5 * ((t[0] - 0.3) / width).pow(2)) / (width * std::sqrt(2 * M_PI));
         const auto background = torch::exp(-t[0].abs() / t[1][2].abs()) / (2 * t[1][2].abs());
         return -(fraction * signal + (1 - fraction) * background + 1e-12).log().sum();
      }},
      {"binned Poisson", {Uniform({-1}, 0.5, 1.5), Fixed({1.5f, 0.2f})}, [](const Tensors &t) {
         const auto seen = torch::floor(t[0] * 10), expected = t[1][0] * 10 * torch::exp(-t[1][1] * t[0]);
         return (expected - torch::xlogy(seen, expected) + torch::lgamma(seen + 1)).sum();
      }, "split"},
      {"a Breit-Wigner peak", {Normal({-1}, 91, 5), Fixed({91.2f, 2.5f})}, [](const Tensors &t) {
         const auto mass = t[1][0], width = t[1][1], s = t[0].square();
         return (2.0 / M_PI * mass * width / ((s - mass.square()).square() + s.square() * width.square() / mass.square())).log().mean();
      }},
      {"a Crystal Ball", {Normal({-1}, 0, 2), Fixed({1.2f, 2.5f})}, [](const Tensors &t) {
         const auto alpha = t[1][0].abs(), n = t[1][1];
         const auto a = torch::pow(n / alpha, n) * torch::exp(-0.5 * alpha * alpha), b = n / alpha - alpha;
         return torch::where(t[0] > -alpha, torch::exp(-0.5 * t[0] * t[0]), a * torch::pow((b - t[0]).clamp_min(1e-3), -n)).sum();
      }},
      {"a fit with a nuisance parameter", {Normal({-1}), Normal({3})}, [](const Tensors &t) {
         const auto basis = torch::stack({torch::ones_like(t[0]), t[0], t[0] * t[0]}, 1);
         return (basis.matmul(t[1]) - t[0].sin()).square().sum() + t[1].pow(2).sum() * 0.5;
      }},
      {"chi-square with a covariance", {Normal({-1, 4})}, [](const Tensors &t) {
         const auto x = t[0] - t[0].mean(0, true);
         const auto covariance = x.t().mm(x) / (t[0].size(0) + 1) + torch::eye(4) * 0.5;
         return (x.t() * torch::linalg_solve(covariance, x.t())).sum(0) + torch::logdet(covariance);
      }, "split"},
      {"Student's t", {Normal({-1}), Fixed({3})}, [](const Tensors &t) {
         const auto nu = t[1][0];
         return (torch::lgamma((nu + 1) / 2) - torch::lgamma(nu / 2) - 0.5 * (nu * M_PI).log() - (nu + 1) / 2 * torch::log1p(t[0].square() / nu)).sum();
      }, "split"},
      {"a mixture by logsumexp", {Normal({-1, 2}), Normal({3, 2})}, [](const Tensors &t) {
         const auto distance = t[0].unsqueeze(1) - t[1].unsqueeze(0);
         return torch::logsumexp(-0.5 * distance.square().sum(-1) - std::log(3.0), 1).neg().mean();
      }},
      {"an extended likelihood", {Normal({-1}), Fixed({5, 10})}, [=](const Tensors &t) {
         const auto density = t[1][0] * gauss(t[0], torch::tensor(0.f), torch::tensor(0.5f)) + t[1][1] * gauss(t[0], torch::tensor(0.f), torch::tensor(2.f));
         return t[1].sum() - density.log().sum();
      }},
      {"on and off regions", {Fixed({12, 30}), Fixed({3, 8})}, [](const Tensors &t) {
         const auto signal = t[1][0], background = t[1][1], on = t[0][0], off = t[0][1];
         return (signal + background) - on * (signal + background).log() + 3 * background - off * (3 * background).log();
      }},
      {"Asimov significance", {Uniform({-1}, 1, 9), Uniform({-1}, 5, 50)}, [](const Tensors &t) {
         return (2 * ((t[0] + t[1]) * torch::log1p(t[0] / t[1]) - t[0])).sqrt();
      }},
      {"profiled Asimov significance", {Uniform({-1}, 1, 9), Uniform({-1}, 5, 50)}, [](const Tensors &t) {
         const auto s = t[0], b = t[1], v = (0.1 * b).square(), n = s + b;
         return (2 * (n * (n * (b + v) / (b * b + n * v)).log() - b * b / v * torch::log1p(v * s / (b * (b + v))))).sqrt();
      }},
      {"a Landau by Moyal", {Normal({-1}), Fixed({0.2f, 0.8f})}, [](const Tensors &t) {
         const auto z = (t[0] - t[1][0]) / t[1][1];
         return (0.5 * (z + torch::exp(-z)) + t[1][1].log()).sum();
      }},
      {"a Voigt profile by pseudo-Voigt", {Normal({-1}), Fixed({0.4f, 0.9f, 0.1f})}, [=](const Tensors &t) {
         const auto mixing = torch::sigmoid(t[1][2]);
         const auto lorentz = t[1][0] / M_PI / (t[0].square() + t[1][0].square());
         return (mixing * lorentz + (1 - mixing) * gauss(t[0], torch::zeros({}), t[1][1])).log();
      }},
      {"a bifurcated Gaussian", {Normal({-1}), Fixed({0.1f, 0.7f, 1.4f})}, [](const Tensors &t) {
         const auto width = torch::where(t[0] < t[1][0], t[1][1], t[1][2]);
         return (0.5 * ((t[0] - t[1][0]) / width).square() + (t[1][1] + t[1][2]).log()).mean();
      }},
      {"Chebyshev background", {Uniform({-1}, -1, 1), Fixed({0.2f, -0.1f, 0.05f})}, [](const Tensors &t) {
         const auto x = t[0], t2 = 2 * x * x - 1, t3 = 2 * x * t2 - x;
         return (1 + t[1][0] * x + t[1][1] * t2 + t[1][2] * t3).clamp_min(1e-6).log().sum();
      }},
      {"Bernstein background", {Uniform({-1}), Fixed({0.5f, 1.f, 0.8f})}, [](const Tensors &t) {
         const auto x = t[0], c = t[1].exp();
         return (c[0] * (1 - x).square() + 2 * c[1] * x * (1 - x) + c[2] * x.square()).log() - c.sum().log();
      }},
      {"Argus", {Uniform({-1}, 0.1, 0.9), Fixed({-2})}, [](const Tensors &t) {
         const auto rest = 1 - t[0].square();
         return t[0] * rest.sqrt() * torch::exp(t[1][0] * rest);
      }},
      {"a truncated exponential", {Uniform({-1}, 0, 4), Fixed({0.7f})}, [](const Tensors &t) {
         const auto slope = t[1][0];
         return (slope.log() - slope * t[0] - torch::log(-torch::expm1(-slope * 4))).sum();
      }},
      {"an efficiency turn-on", {Normal({-1}, 30, 5), Fixed({28, 4, 0.95f})}, [](const Tensors &t) {
         return t[1][2] * 0.5 * (1 + torch::erf((t[0] - t[1][0]) / (std::sqrt(2.0) * t[1][1])));
      }},
      {"a binomial likelihood", {Uniform({-1}, -3, 3), Normal({2})}, [](const Tensors &t) {
         const auto logit = t[1][0] + t[1][1] * t[0], passed = (t[0] > 0).to(torch::kFloat);
         return -(passed * F::logsigmoid(logit) + (1 - passed) * F::logsigmoid(-logit)).sum();
      }},
      {"a smooth histogram", {Normal({-1})}, [=](const Tensors &t) {
         const auto filled = torch::sigmoid((t[0].unsqueeze(1) - edges) * 10);
         return (filled.slice(1, 0, 8) - filled.slice(1, 1)).sum(0);
      }},
      {"a kernel density", {Normal({-1}), Normal({20})}, [](const Tensors &t) {
         const auto z = (t[0].unsqueeze(1) - t[1].unsqueeze(0)) / 0.3;
         return (torch::exp(-0.5 * z * z).mean(1) / 0.3 + 1e-9).log();
      }},
      {"template morphing", {Normal({8}, 5, 1), Normal({8}, 5, 1), Normal({8}, 5, 1), Fixed({0.4f})}, [](const Tensors &t) {
         const auto theta = t[3][0];
         const auto up = torch::where(theta > 0, theta * (t[1] - t[0]), theta * (t[0] - t[2]));
         return (t[0] + up).clamp_min(1e-3).log().sum() - 0.5 * theta.square();
      }},
      {"log-normal systematics", {Uniform({-1, 3}, 1, 5), Normal({3})}, [](const Tensors &t) {
         const auto kappa = torch::tensor({1.1f, 0.9f, 1.25f});
         return (t[0] * torch::pow(kappa, t[1])).sum(1).log().sum() - 0.5 * t[1].dot(t[1]);
      }},
      {"Beeston and Barlow, light", {Uniform({-1}, 5, 20), Uniform({-1}, 5, 20)}, [](const Tensors &t) {
         const auto tau = torch::tensor(25.f), b = 1 - t[1] / tau;
         const auto beta = 0.5 * (b + (b * b + 4 * t[0] / tau).sqrt());
         return (beta * t[1] - t[0] * (beta * t[1]).log() + 0.5 * tau * (beta - 1).square()).sum();
      }},
      {"weighted mean and error", {Normal({-1}), Uniform({-1}, 0.5, 2)}, [](const Tensors &t) {
         const auto mean = (t[0] * t[1]).sum() / t[1].sum();
         return torch::stack({mean, ((t[0] - mean).square() * t[1]).sum().sqrt() / t[1].sum()});
      }},
      {"effective number of events", {Normal({-1})}, [](const Tensors &t) { return t[0].sum().square() / t[0].square().sum(); }},
      {"a correlation", {Normal({-1}), Normal({-1})}, [](const Tensors &t) {
         const auto x = t[0] - t[0].mean(), y = t[1] - t[1].mean();
         return (x * y).sum() / ((x.square().sum() * y.square().sum()).sqrt() + 1e-6);
      }},
      {"LibTorch's covariance", {Normal({3, -1})}, [](const Tensors &t) { return torch::cov(torch::cat({t[0], t[0] * 2}, 1)).tanh() * 2; }},
      {"Kullback-Leibler of histograms", {Uniform({-1, 6}, 0.1, 1), Uniform({-1, 6}, 0.1, 1)}, [](const Tensors &t) {
         const auto p = t[0] / t[0].sum(1, true), q = t[1] / t[1].sum(1, true);
         return F::kl_div(q.log(), p, F::KLDivFuncOptions(torch::kBatchMean));
      }},
      {"Jensen and Shannon", {Uniform({-1, 6}, 0.1, 1), Uniform({-1, 6}, 0.1, 1)}, [](const Tensors &t) {
         const auto p = t[0] / t[0].sum(1, true), q = t[1] / t[1].sum(1, true), m = 0.5 * (p + q);
         return (torch::xlogy(p, p / m) + torch::xlogy(q, q / m)).sum(1) / 2;
      }},
      {"a distance of energies", {Normal({-1, 2}), Normal({7, 2})}, [](const Tensors &t) {
         const auto apart = [](const Tensor &a, const Tensor &b) { return ((a.unsqueeze(1) - b).square().sum(2) + 1e-6).sqrt().mean(); };
         return 2 * apart(t[0], t[1]) - apart(t[0], t[0]) - apart(t[1], t[1]);
      }},
      {"distance correlation", {Normal({-1}), Normal({-1})}, [](const Tensors &t) {
         const auto centred = [](const Tensor &x) {
            const auto d = (x.unsqueeze(0) - x.unsqueeze(1)).abs();
            return d - d.mean(0, true) - d.mean(1, true) + d.mean();
         };
         const auto a = centred(t[0]), b = centred(t[1]);
         return (a * b).mean() / ((a * a).mean() * (b * b).mean() + 1e-6).sqrt();
      }},
      {"a hinge", {Normal({-1}), Normal({-1})}, [](const Tensors &t) {
         return F::hinge_embedding_loss(t[0] * 2, torch::where(t[1] > 0, torch::ones_like(t[1]), -torch::ones_like(t[1]))) + t[1].sin().sum();
      }, "split"},
      {"a ranking", {Normal({-1}), Normal({-1})}, [](const Tensors &t) {
         return F::margin_ranking_loss(t[0].tanh(), t[1].tanh() * 2, torch::ones_like(t[0]), F::MarginRankingLossFuncOptions().margin(0.2));
      }},
      {"triplets", {Normal({-1, 3}), Normal({-1, 3}), Normal({-1, 3})}, [](const Tensors &t) {
         return F::triplet_margin_loss(t[0] * 2, t[1].tanh(), t[2].sin());
      }},
   };
}

inline std::vector<Formula> Kinematics()
{
   const auto cartesian = [](const Tensor &pt, const Tensor &eta, const Tensor &phi, const Tensor &mass) {
      const auto px = pt * phi.cos(), py = pt * phi.sin(), pz = pt * eta.sinh();
      return torch::stack({(px.square() + py.square() + pz.square() + mass.square()).sqrt(), px, py, pz}, -1);
   };
   const auto metric = torch::tensor({1.f, -1.f, -1.f, -1.f});
   const auto mass = [=](const Tensor &p) { return (p.square() * metric).sum(-1).clamp_min(1e-6).sqrt(); };
   return {
      {"masses of pairs", {Normal({-1, 3, 4})}, [](const Tensors &t) {
         const auto e = torch::sqrt((t[0].index({Ellipsis, Slice(1)}) * t[0].index({Ellipsis, Slice(1)})).sum(-1) + 0.01);
         Tensors masses;
         for (int i = 0; i < 3; ++i)
            for (int j = i + 1; j < 3; ++j) {
               const auto sum = t[0].select(1, i).slice(1, 1) + t[0].select(1, j).slice(1, 1);
               masses.push_back(((e.select(1, i) + e.select(1, j)).square() - sum.square().sum(1)).clamp_min(1e-6).sqrt());
            }
         return torch::stack(masses, 1);
      }},
      {"a boost", {Normal({-1, 4}), Normal({-1, 3}, 0, 0.2)}, [](const Tensors &t) {
         const auto square = t[1].square().sum(1, true).clamp_max(0.9), gamma = 1 / (1 - square).sqrt();
         const auto p = t[0].slice(1, 1), e = t[0].slice(1, 0, 1), along = (t[1] * p).sum(1, true);
         const auto factor = torch::where(square > 0, (gamma - 1) / square, torch::zeros_like(square));
         return torch::cat({gamma * (e + along), p + factor * along * t[1] + gamma * t[1] * e}, 1);
      }},
      {"delta R", {Normal({-1, 2}, 0, 3), Normal({-1, 2}, 0, 3)}, [](const Tensors &t) {
         const auto turned = torch::remainder(t[0].select(1, 1) - t[1].select(1, 1) + M_PI, 2 * M_PI) - M_PI;
         return torch::hypot(t[0].select(1, 0) - t[1].select(1, 0), turned);
      }},
      {"the angle between two momenta", {Normal({-1, 3}), Normal({-1, 3})}, [](const Tensors &t) {
         return torch::atan2(torch::cross(t[0], t[1], 1).norm(2, 1), (t[0] * t[1]).sum(1));
      }},
      {"missing momentum", {Normal({-1, 5, 3})}, [](const Tensors &t) {
         const auto pt = t[0].index({Slice(), Slice(), 0}).exp(), phi = t[0].index({Slice(), Slice(), 1});
         const auto mask = t[0].index({Slice(), Slice(), 2}) > 0;
         const auto x = (pt * phi.cos() * mask).sum(1), y = (pt * phi.sin()).masked_fill(~mask, 0).sum(1);
         return torch::sqrt(x * x + y * y + 1e-9) / mask.sum(1).clamp_min(1);
      }},
      {"four-momenta from pt, eta and phi", {Uniform({-1}, 20, 90), Normal({-1}), Normal({-1}), Uniform({-1}, 0, 5)}, [=](const Tensors &t) {
         return cartesian(t[0], t[1], t[2], t[3]);
      }},
      {"a dimuon mass", {Uniform({-1, 2}, 20, 60), Normal({-1, 2}), Normal({-1, 2})}, [=](const Tensors &t) {
         return mass(cartesian(t[0], t[1], t[2], torch::full_like(t[0], 0.105)).sum(1));
      }},
      {"a mass without masses", {Uniform({-1, 2}, 20, 60), Normal({-1, 2}), Normal({-1, 2})}, [](const Tensors &t) {
         const auto eta = t[1].select(1, 0) - t[1].select(1, 1), phi = t[2].select(1, 0) - t[2].select(1, 1);
         return (2 * t[0].prod(1) * (torch::cosh(eta) - torch::cos(phi)) + 1e-3).sqrt();
      }, "split"},
      {"transverse mass", {Uniform({-1}, 20, 60), Uniform({-1}, 20, 60), Normal({-1})}, [](const Tensors &t) {
         return (2 * t[0] * t[1] * (1 - t[2].cos())).clamp_min(1e-6).sqrt();
      }},
      {"rapidity", {Normal({-1, 3})}, [](const Tensors &t) {
         const auto e = (t[0].square().sum(1) + 1).sqrt();
         return 0.5 * torch::log((e + t[0].select(1, 2)) / (e - t[0].select(1, 2)));
      }},
      {"pseudorapidity", {Normal({-1, 3})}, [](const Tensors &t) { return torch::asinh(t[0].select(1, 2) / t[0].slice(1, 0, 2).norm(2, 1)); }},
      {"Collins and Soper's angle", {Normal({-1, 4}), Normal({-1, 4})}, [](const Tensors &t) {
         const auto plus = [](const Tensor &p) { return (p.select(1, 0).abs() + 2 + p.select(1, 3)) / std::sqrt(2.0); };
         const auto minus = [](const Tensor &p) { return (p.select(1, 0).abs() + 2 - p.select(1, 3)) / std::sqrt(2.0); };
         const auto sum = t[0] + t[1];
         return 2 * (plus(t[0]) * minus(t[1]) - minus(t[0]) * plus(t[1])) / (sum.square().sum(1) + 1).sqrt();
      }},
      {"Armenteros and Podolanski", {Normal({-1, 3}), Normal({-1, 3})}, [](const Tensors &t) {
         const auto sum = t[0] + t[1], length = sum.norm(2, 1).clamp_min(0.1);
         const auto first = (t[0] * sum).sum(1) / length, second = (t[1] * sum).sum(1) / length;
         return torch::stack({(first - second) / (first + second + 5), (t[0].square().sum(1) - first.square()).clamp_min(1e-6).sqrt()}, 1);
      }},
      {"sphericity's tensor", {Normal({-1, 6, 3})}, [](const Tensors &t) {
         const auto weight = t[0].square().sum({1, 2}).unsqueeze(1).unsqueeze(2);
         return torch::einsum("nia,nib->nab", {t[0], t[0]}) / weight;
      }},
      {"thrust along a given axis", {Normal({-1, 6, 3}), Normal({3})}, [](const Tensors &t) {
         return t[0].matmul(t[1] / t[1].norm()).abs().sum(1) / t[0].norm(2, 2).sum(1);
      }},
      {"an impact parameter", {Normal({-1, 3}), Normal({-1, 3})}, [](const Tensors &t) {
         const auto direction = t[1] / (t[1].norm(2, 1, true) + 1e-3);
         return (t[0] - (t[0] * direction).sum(1, true) * direction).norm(2, 1);
      }},
      {"a helix", {Normal({-1, 3}), Uniform({-1}, 0.5, 2)}, [](const Tensors &t) {
         const auto angle = torch::linspace(0, 1, 5).unsqueeze(0) * t[1].unsqueeze(1);
         return torch::stack({t[0].slice(1, 0, 1) + angle.sin(), t[0].slice(1, 1, 2) + 1 - angle.cos(), t[0].slice(1, 2) * angle}, 2);
      }},
      {"a Dalitz boundary", {Uniform({-1}, 1, 2)}, [](const Tensors &t) {
         const auto e2 = t[0] / 2, e3 = (4 - t[0].square() - 0.01) / (2 * t[0]);
         return (e2 + e3).square() - ((e2.square() - 0.02).clamp_min(0).sqrt() - (e3.square() - 0.02).clamp_min(0).sqrt()).square();
      }},
      {"Källén's function", {Uniform({-1}, 4, 9), Uniform({-1}), Uniform({-1})}, [](const Tensors &t) {
         return t[0].square() + t[1].square() + t[2].square() - 2 * (t[0] * t[1] + t[1] * t[2] + t[2] * t[0]);
      }},
      {"spherical harmonics", {Uniform({-1}, -1, 1), Normal({-1})}, [](const Tensors &t) {
         const auto c = t[0], s = (1 - c.square()).clamp_min(0).sqrt();
         return torch::stack({c, s * t[1].cos(), s * t[1].sin(), 0.5 * (3 * c.square() - 1), s * c * t[1].cos(), s.square() * torch::cos(2 * t[1])}, 1);
      }},
      {"Legendre polynomials", {Uniform({-1}, -1, 1)}, [](const Tensors &t) {
         Tensors p{torch::ones_like(t[0]), t[0]};
         for (int l = 2; l < 6; ++l)
            p.push_back(((2 * l - 1) * t[0] * p[l - 1] - (l - 1) * p[l - 2]) / l);
         return torch::stack(p, 1);
      }},
      {"an angular distribution", {Uniform({-1}, -1, 1), Normal({-1}), Fixed({0.6f, 0.1f, -0.2f})}, [](const Tensors &t) {
         const auto s2 = 1 - t[0].square();
         return (0.75 * (1 - t[2][0]) * s2 + t[2][0] * t[0].square() + t[2][1] * s2 * torch::cos(2 * t[1]) + t[2][2] * s2 * torch::sin(2 * t[1]) + 1).log().mean();
      }},
      {"neutrino oscillations", {Uniform({-1}, 0.5, 5), Fixed({0.85f, 2.5f})}, [](const Tensors &t) {
         return 1 - torch::sin(2 * t[1][0]).square() * torch::sin(1.27 * t[1][1] * 1.3 / t[0]).square();
      }},
      {"mixing of mesons", {Uniform({-1}, 0, 6), Fixed({0.5f, 0.7f})}, [](const Tensors &t) {
         const auto decay = torch::exp(-t[0] / 1.5);
         return decay * (torch::cosh(t[1][0] * t[0] / 2) + t[1][1] * torch::cos(0.5 * t[0]) - 0.3 * torch::sin(0.5 * t[0]));
      }},
      {"a parton density", {Uniform({-1}, 0.05, 0.9), Fixed({0.5f, 3, 1})}, [](const Tensors &t) {
         return t[0].pow(t[1][0]) * (1 - t[0]).pow(t[1][1]) * (1 + t[1][2] * t[0].sqrt());
      }},
      {"a running coupling", {Uniform({-1}, 5, 200), Fixed({0.118f})}, [](const Tensors &t) {
         return t[1][0] / (1 + t[1][0] * 23 / (6 * M_PI) * (t[0] / 91.2).log());
      }},
      {"Bethe and Bloch", {Uniform({-1}, 0.3, 0.95)}, [](const Tensors &t) {
         const auto b2 = t[0].square(), g2 = 1 / (1 - b2);
         return (0.5 * torch::log(1.02e6 * b2 * g2 / 173) * 2 - b2) / b2;
      }},
      {"an energy resolution", {Uniform({-1}, 1, 100), Fixed({0.1f, 0.01f, 0.2f})}, [](const Tensors &t) {
         return (t[1][0].square() / t[0] + t[1][1].square() + (t[1][2] / t[0]).square()).sqrt();
      }},
      {"a time of flight", {Uniform({-1}, 0.5, 3), Fixed({0.14f, 0.494f, 0.938f})}, [](const Tensors &t) {
         const auto beta = t[0].unsqueeze(1) / (t[0].unsqueeze(1).square() + t[1].square()).sqrt();
         return torch::log_softmax(-0.5 * ((1 / beta - 1.1) / 0.05).square(), 1);
      }},
      {"a Cherenkov angle", {Uniform({-1}, 0.97, 0.999)}, [](const Tensors &t) { return torch::acos((1 / (1.05 * t[0])).clamp(-0.999, 0.999)); }},
      {"angles in degrees", {Normal({-1, 2})}, [](const Tensors &t) { return torch::rad2deg(torch::atan2(t[0].select(1, 1), t[0].select(1, 0))) + torch::deg2rad(t[0]).sum(1); }},
      {"a rotation", {Normal({-1, 3}), Fixed({0.3f})}, [](const Tensors &t) {
         const auto c = t[1][0].cos(), s = t[1][0].sin(), zero = torch::zeros({}), one = torch::ones({});
         return t[0].matmul(torch::stack({c, -s, zero, s, c, zero, zero, zero, one}).view({3, 3}));
      }},
   };
}

inline std::vector<Formula> Jets()
{
   return {
      {"subjettiness", {Normal({-1, 6, 3}), Normal({2, 2})}, [](const Tensors &t) {
         const auto pt = t[0].select(2, 0).exp(), distance = (t[0].slice(2, 1).unsqueeze(2) - t[1]).square().sum(-1).add(1e-9).sqrt();
         return (pt * std::get<0>(distance.min(2))).sum(1) / pt.sum(1);
      }},
      {"an energy correlation", {Uniform({-1, 5}, 0.1, 1.1), Normal({-1, 5, 2})}, [](const Tensors &t) {
         const auto distance = (t[1].unsqueeze(2) - t[1].unsqueeze(1)).square().sum(-1), weight = t[0].unsqueeze(2) * t[0].unsqueeze(1);
         return (weight * (distance + 1e-6).sqrt() * torch::triu(torch::ones({5, 5}), 1)).sum({1, 2}) / t[0].sum(1).square();
      }},
      {"a jet image", {Uniform({-1, 8}, 0.1, 1)}, [](const Tensors &t) {
         const auto bins = torch::tensor({0L, 1L, 1L, 2L, 3L, 3L, 0L, 2L});
         return (torch::zeros({t[0].size(0), 4}).index_add(1, bins, t[0]) + 0.1).sqrt();
      }},
      {"messages round a ring", {Normal({-1, 4})}, [](const Tensors &t) {
         const auto n = t[0].size(0);
         const auto from = torch::arange(n), to = (from + 1).remainder(n);
         const auto message = torch::tanh(t[0].index_select(0, from) - t[0].index_select(0, to));
         return torch::zeros_like(t[0]).scatter_add(0, to.unsqueeze(1).expand({n, 4}), message) + t[0];
      }},
      {"the leading two", {Normal({-1, 6})}, [](const Tensors &t) {
         const auto top = std::get<0>(t[0].topk(2, 1));
         return (top.select(1, 0) - top.select(1, 1)) / (top.sum(1).abs() + 1);
      }},
      {"in the order of momentum", {Normal({-1, 5}), Normal({-1, 5})}, [](const Tensors &t) {
         return t[1].gather(1, t[0].argsort(1, true)).cumsum(1) * 0.5 + t[0].exp();
      }, "split"},
      {"soft drop by a mask", {Uniform({-1, 6})}, [](const Tensors &t) {
         const auto z = t[0] / t[0].sum(1, true), keep = z > 0.1;
         return torch::where(keep, z, torch::zeros_like(z)).sum(1) + keep.sum(1) * 0.1;
      }},
      {"a jet's mass", {Uniform({-1, 7}, 1, 20), Normal({-1, 7}, 0, 0.3), Normal({-1, 7}, 0, 0.3)}, [](const Tensors &t) {
         const auto px = (t[0] * t[2].cos()).sum(1), py = (t[0] * t[2].sin()).sum(1), pz = (t[0] * t[1].sinh()).sum(1);
         return ((t[0] * t[1].cosh()).sum(1).square() - px.square() - py.square() - pz.square()).clamp_min(1e-3).sqrt();
      }},
      {"girth", {Uniform({-1, 7}, 1, 20), Normal({-1, 7, 2}, 0, 0.3)}, [](const Tensors &t) {
         const auto axis = (t[0].unsqueeze(2) * t[1]).sum(1, true) / t[0].sum(1).view({-1, 1, 1});
         return (t[0] * torch::hypot((t[1] - axis).select(2, 0), (t[1] - axis).select(2, 1))).sum(1) / t[0].sum(1);
      }},
      {"a jet's charge", {Uniform({-1, 7}, 1, 20), Normal({-1, 7})}, [](const Tensors &t) {
         return (t[1].sign() * t[0].pow(0.5)).sum(1) / t[0].sum(1).pow(0.5);
      }},
      {"an energy flow network", {Uniform({-1, 6}), Normal({-1, 6, 2}), Normal({2, 8}), Normal({8, 3})}, [](const Tensors &t) {
         const auto latent = torch::relu(t[1].matmul(t[2]));
         return torch::einsum("np,npk->nk", {t[0] / t[0].sum(1, true), latent}).matmul(t[3]);
      }},
      {"deep sets with padding", {Normal({-1, 6, 3}), Normal({3, 8})}, [](const Tensors &t) {
         const auto mask = (t[0].select(2, 0) > -0.3).unsqueeze(2), latent = torch::relu(t[0].matmul(t[1]));
         return torch::cat({(latent * mask).sum(1) / mask.sum(1).clamp_min(1), latent.masked_fill(~mask, -1e9).amax(1).clamp_min(-10)}, 1);
      }},
      {"attention between particles", {Normal({-1, 5, 4}), Normal({4, 4}), Normal({-1, 5, 5})}, [](const Tensors &t) {
         const auto query = t[0].matmul(t[1]), score = query.matmul(t[0].transpose(1, 2)) / 2 + t[2];
         return torch::softmax(score, -1).matmul(t[0]);
      }},
      {"features of pairs", {Uniform({-1, 5}, 1, 20), Normal({-1, 5}), Normal({-1, 5})}, [](const Tensors &t) {
         const auto delta = [](const Tensor &x) { return x.unsqueeze(2) - x.unsqueeze(1); };
         const auto r2 = delta(t[1]).square() + delta(t[2]).square() + 1e-4;
         const auto least = torch::minimum(t[0].unsqueeze(2), t[0].unsqueeze(1));
         return torch::stack({0.5 * r2.log(), (least * r2.sqrt()).log(), (least / (t[0].unsqueeze(2) + t[0].unsqueeze(1))).log()}, 1);
      }},
      {"a cut flow", {Normal({-1, 4})}, [](const Tensors &t) {
         const auto passed = (t[0].select(1, 0) > -0.5) & (t[0].select(1, 1).abs() < 2) & ~(t[0].select(1, 2) > 1);
         return t[0].select(1, 3) * passed + torch::logical_xor(passed, t[0].select(1, 3) > 0).sum();
      }},
      {"soft cuts", {Normal({-1, 3}), Normal({3})}, [](const Tensors &t) { return torch::sigmoid((t[0] - t[1]) * 5).prod(1).mul(2).add(1).log(); }, "split"},
      {"the second highest by a mask", {Normal({-1, 5})}, [](const Tensors &t) {
         const auto highest = t[0].amax(1, true);
         return t[0].masked_fill(t[0] == highest, -100).amax(1) - highest.squeeze(1);
      }},
      {"a mass of the best pair", {Uniform({-1, 4}, 20, 60)}, [](const Tensors &t) {
         const auto pairs = t[0].unsqueeze(2) + t[0].unsqueeze(1);
         return (pairs - 91.2).abs().flatten(1).amin(1) / 10;
      }},
      {"a grid of two axes", {Normal({5}), Normal({4})}, [](const Tensors &t) {
         const auto grid = torch::meshgrid({t[0], t[1]}, "ij");
         return torch::exp(-(grid[0].square() + grid[1].square()) / 2) * grid[0];
      }},
      {"outer products of states", {Normal({2, 2}), Normal({3, 3})}, [](const Tensors &t) { return (torch::kron(t[0], t[1]) * 2 + 1).tanh(); }},
   };
}

#endif
