/// \file compile_everyday.C
/// \brief Which plain everyday functions kernels run, and which LibTorch must: excessive caution makes functions slow.

R__LOAD_LIBRARY(libcladtorch)
#include "compile_eager.h"

using torch::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

struct Everyday {
   const char *fName;
   Function fRun;             ///< of a tensor [3, 4]
   const char *fWhy = nullptr; ///< null if kernels run it, otherwise a part of the reason why LibTorch does
};

/// A function and its module, or what else it captures.
template <class Module>
Function Applied(Module module)
{
   return [module](const Tensor &x) mutable { return module->forward(x); };
}

std::vector<Everyday> Networks()
{
   const auto evaluated = [](auto module) {
      module->eval();
      return module;
   };
   const auto asFloat = [](auto module) { // all of it: also what counts batches
      module->to(torch::kFloat);
      return module;
   };
   nn::Linear down(4, 2), up(2, 4), wide(4, 12);
   nn::Conv1d convolution(nn::Conv1dOptions(1, 2, 3).padding(1));
   nn::Embedding table(5, 4);
   nn::MultiheadAttention attention(4, 2);
   nn::TransformerEncoderLayer encoder(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(8).dropout(0));
   const auto codes = torch::tensor({3, 0, 4});
   return {
      {"a linear layer", Applied(nn::Linear(4, 2))},
      {"a perceptron", Applied(nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 8), nn::Tanh(), nn::Linear(8, 1), nn::Sigmoid()))},
      {"other activations", Applied(nn::Sequential(nn::GELU(), nn::SiLU(), nn::ELU(), nn::LeakyReLU(), nn::Softplus()))},
      {"layer normalisation", Applied(nn::LayerNorm(nn::LayerNormOptions({4})))},
      {"batch normalisation, training", Applied(nn::BatchNorm1d(nn::BatchNorm1dOptions(4).eps(0.1)))},
      {"batch normalisation, twice", [norm = nn::BatchNorm1d(nn::BatchNorm1dOptions(4).eps(0.1))](const Tensor &x) mutable { return norm(norm(x) * x); }},
      {"batch normalisation with counters in floating point", Applied(asFloat(nn::BatchNorm1d(nn::BatchNorm1dOptions(4).eps(0.1))))},
      {"batch normalisation, evaluated", Applied(evaluated(nn::BatchNorm1d(4)))},
      {"dropout, training", Applied(nn::Dropout(0.3))},
      {"dropout of channels, training", [drop = nn::Dropout2d(0.3)](const Tensor &x) mutable {
         return drop(x.unsqueeze(2).unsqueeze(3) * torch::ones({1, 1, 2, 3})).sum({2, 3});
      }},
      {"dropout, evaluated", Applied(evaluated(nn::Sequential(nn::Linear(4, 2), nn::Dropout(0.3))))},
      {"a residual block", [=](const Tensor &x) mutable { return x + up(torch::relu(down(x))); }},
      {"in order", [](const Tensor &x) { return std::get<0>((x * 2 + x.sin() * 0.1).sort(1)).square().add(1).log().mean(1); }},
      {"the highest", [](const Tensor &x) {
         const auto highest = std::get<0>(x.topk(2, 1));
         return (highest - highest.mean(1, true)).square().sum(1).add(1).sqrt();
      }},
      {"in the order of another", [](const Tensor &x) { return (x * 2).gather(1, (x * 3 + x.sin()).argsort(1, true)).tanh(); }},
      {"an embedding of a feature", [=](const Tensor &x) mutable { return table(x.abs().clamp(0, 4).to(torch::kLong)).mean(2) * x; }},
      {"without fractions", [](const Tensor &x) { return (x * 3).to(torch::kLong).to(torch::kFloat) * x; }},
      {"compared with great integers", [](const Tensor &x) {
         const auto whole = (x * 3e9).to(torch::kLong);
         return torch::where(whole > torch::tensor({1l << 31, 16777217l, -(1l << 33), 0l}), x, x.sin()) * whole.ne(16777217).to(torch::kFloat);
      }},
      {"the highest of rows with several NaN", [nan = torch::tensor({{0.f, NAN, NAN, 0.f}, {NAN, 0.f, NAN, NAN}, {0.f, 0.f, NAN, NAN}})](const Tensor &x) {
         return std::get<0>((x + nan).max(1)) + std::get<0>((x + nan).min(0)).sum() * 0 + x.sin().sum(1);
      }},
      {"the place of the highest", [](const Tensor &x) { return x * std::get<1>(x.max(1, true)) + x.argmin(1, true); }},
      {"nearest neighbours", [](const Tensor &x) {
         const auto points = x.view({3, 2, 2}), distances = (points.unsqueeze(1) - points.unsqueeze(2)).square().sum(3);
         const auto nearest = std::get<1>(distances.topk(1, 2, false)).expand({3, 2, 2});
         return points.gather(1, nearest) - points;
      }},
      {"self-attention", [=](const Tensor &x) mutable {
         const auto parts = wide(x).chunk(3, 1);
         return torch::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
      }},
      {"multi-head attention", [=](const Tensor &x) mutable {
         const auto events = x.unsqueeze(1);
         return std::get<0>(attention(events, events, events)).squeeze(1);
      }},
      {"a transformer's layer", [=](const Tensor &x) mutable { return encoder(x.unsqueeze(1)).squeeze(1); }},
      {"a convolution", [=](const Tensor &x) mutable { return torch::max_pool1d(convolution(x.unsqueeze(1)), 2).flatten(1); }},
      {"cells of a recurrent network", [cell = nn::LSTMCell(4, 4)](const Tensor &x) mutable {
         auto state = std::make_tuple(torch::zeros({3, 4}), torch::zeros({3, 4}));
         for (int step = 0; step < 3; ++step)
            state = cell(x, state);
         return std::get<0>(state);
      }},
      {"\"same\" padding", [same = nn::Conv1d(nn::Conv1dOptions(1, 2, 3).padding(torch::kSame))](const Tensor &x) mutable { return same(x.unsqueeze(1)); }},
      {"pooling over all", [=](const Tensor &x) mutable { return torch::adaptive_avg_pool1d(convolution(x.unsqueeze(1)), 1).flatten(1); }},
      {"an embedding", [=](const Tensor &x) mutable { return x * table(codes); }},
      {"a set of rows", [=](const Tensor &x) mutable { return torch::relu(down(x)).sum(0, true); }},
   };
}

std::vector<Everyday> Losses()
{
   const auto label = torch::tensor({0, 2, 1}), target = torch::rand({3, 4});
   return {
      {"cross entropy", [=](const Tensor &x) { return F::cross_entropy(x, label); }},
      {"binary cross entropy", [=](const Tensor &x) { return F::binary_cross_entropy_with_logits(x, target); }},
      {"mean squared error", [=](const Tensor &x) { return F::mse_loss(x, target); }},
      {"Huber's loss", [=](const Tensor &x) { return F::smooth_l1_loss(x, target); }},
      {"a Gaussian likelihood", [=](const Tensor &x) {
         const auto width = F::softplus(x.slice(1, 2)) + 0.1;
         return (((target.slice(1, 2) - x.slice(1, 0, 2)) / width).square() / 2 + width.log()).mean();
      }},
      {"weighted", [=](const Tensor &x) { return (F::mse_loss(x, target, F::MSELossFuncOptions(torch::kNone)) * target).sum() / target.sum(); }},
      {"a penalty", [](const Tensor &x) { return x.abs().sum() + 0.5 * x.pow(2).sum(); }},
   };
}

std::vector<Everyday> Mathematics()
{
   return {
      {"an invariant mass", [](const Tensor &x) {
         const auto pt = x.select(1, 0).exp(), eta = x.select(1, 1), phi = x.select(1, 2), mass = x.select(1, 3);
         const auto px = pt * phi.cos(), py = pt * phi.sin(), pz = pt * (eta.clamp(-5, 5).exp() - eta.clamp(-5, 5).neg().exp()) / 2;
         return (px.square() + py.square() + pz.square() + mass.square() + 1e-3).sqrt();
      }},
      {"standardised", [](const Tensor &x) { return (x - x.mean(0)) / (x.std(0) + 1e-3); }},
      {"softmax", [](const Tensor &x) { return torch::log_softmax(x, 1) + torch::softmax(x, 0); }},
      {"elementary functions", [](const Tensor &x) { return x.exp().log1p() + x.sin() * torch::tanh(x) - torch::erf(x) / x.square().add(1).rsqrt(); }},
      {"cuts", [](const Tensor &x) { return torch::where(x > 0.5, x, torch::zeros_like(x)).masked_fill(x < -1, -1).clamp(-2, 2); }},
      {"a matrix product", [](const Tensor &x) { return x.matmul(x.t()).flatten(); }},
      {"shapes", [](const Tensor &x) { return torch::cat({x.reshape({4, 3}).permute({1, 0}), x.unsqueeze(0).expand({2, 3, 4}).sum(0)}, 1); }},
      {"parts", [](const Tensor &x) { return torch::stack({x.index({torch::indexing::Slice(), 1}), x.index({torch::indexing::Ellipsis, 2})}, 1); }},
      {"columns by number", [](const Tensor &x) { return x.index_select(1, torch::tensor({3, 0})) * x.gather(1, torch::tensor({{0}, {1}, {2}})); }},
      {"chunks as a whole", [](const Tensor &x) { return torch::cat((x * 2).tanh().chunk(2, 1), 0).square().add(1).sqrt(); }},
      {"the greatest", [](const Tensor &x) { return x.amax(1) - x.amin(1); }},
      {"missing values", [](const Tensor &x) {
         const auto y = x.masked_fill(x > 0.5, std::nan(""));
         return torch::where(y.isnan(), torch::zeros_like(y), y * 2);
      }},
      {"numbers from the shape", [](const Tensor &x) { return x.sum(0) / x.size(0) * std::sqrt(static_cast<double>(x.numel())); }},
      {"constants", [](const Tensor &x) { return x * torch::arange(4, x.options()) + torch::ones_like(x) * torch::tensor({1.f, 2.f, 3.f, 4.f}); }},
      {"in place", [](const Tensor &x) { auto y = x.clone(); y += 1; y.mul_(2); y.relu_(); return y; }},
      {"part by part", [](const Tensor &x) {
         auto y = torch::zeros({3, 4});
         y.select(1, 0).copy_(x.select(1, 1)).mul_(2);
         y.slice(1, 1).add_(x.slice(1, 0, 3)).clamp_(-1, 1);
         for (int row = 0; row < 3; ++row)
            y[row] += x[row].tanh();
         y.index_put_({torch::indexing::Slice(), 2}, x.select(1, 0));
         return y;
      }},
      {"numbers that are written", [](const Tensor &x) {
         auto y = x.sin(), z = torch::zeros_like(x);
         y.index_put_({torch::indexing::Slice(), 1}, 1.);
         y.index_put_({0, 2}, -1);
         z.index_put_({torch::tensor({2, 0})}, 3.);
         z.index_put_({1}, torch::tensor(0.5f));
         return y * x + z;
      }},
      {"numbers where masks are true", [](const Tensor &x) {
         auto y = x.sin();
         y.index_put_({x > 0.5}, 2.);
         y.index_put_({x.select(1, 0) < 0}, x.mean());
         y.index_put_({torch::indexing::Slice(), torch::tensor({true, false, false, true})}, 0.);
         return y * x;
      }},
      {"diagonals of a number", [](const Tensor &x) {
         auto y = x.t().matmul(x), tall = torch::cat({x.t(), x.t().exp()});
         y.fill_diagonal_(0.);
         return y.sum() + tall.fill_diagonal_(2, true) * tall.sin();
      }},
      {"rows by numbers of its own", [](const Tensor &x) {
         auto y = x.sin();
         y.index_put_({torch::tensor({2, 0})}, x.slice(0, 0, 2));
         return y * x;
      }},
      {"the least of its own great integers", [](const Tensor &x) {
         return x * torch::tensor({16777217l, 16777216l, 16777218l, 16777219l}).argmin(0);
      }},
      {"windows of nothing but -inf", [](const Tensor &x) {
         const auto y = (x + torch::full({3, 1}, -INFINITY)).view({1, 1, 3, 4});
         return torch::cat({torch::max_pool2d(y, 2, 2, 1).flatten(), torch::max_pool2d(y, 3, 2, 1, 1, true).flatten()});
      }},
      {"a weighted mean of what passes", [](const Tensor &x) {
         const auto passes = x > 0;
         return (x * passes).sum(1) / passes.sum(1).clamp_min(1);
      }},
      {"messages along edges", [](const Tensor &x) {
         const auto from = torch::tensor({0, 1, 2, 2}), to = torch::tensor({1, 2, 0, 1});
         return torch::zeros_like(x).index_add(0, to, torch::tanh(x.index_select(0, from) - x.index_select(0, to)));
      }},
      {"pairs on both sides of a table", [](const Tensor &x) {
         const auto places = torch::tril_indices(2, 2), i = places[0], j = places[1];
         auto table = torch::zeros({3, 2, 2});
         table.index_put_({torch::indexing::Slice(), i, j}, x.slice(1, 1));
         table.index_put_({torch::indexing::Slice(), j, i}, x.slice(1, 0, 3).tanh());
         return table;
      }},
      {"numbers at some places", [](const Tensor &x) {
         const auto rows = torch::arange(2, -1, -2).unsqueeze(1), columns = torch::arange(-1, 2, 2);
         return x.sin().index_put({rows, columns}, x.select(0, 1).slice(0, 0, 2)).index_put({torch::arange(-2, -1)}, x.mean(0));
      }},
      {"a table with padding", [table = nn::Embedding(nn::EmbeddingOptions(5, 4).padding_idx(0))](const Tensor &x) mutable { return x * table(torch::tensor({3, 0, 4})); }},
      {"the scores of the labels", [](const Tensor &x) { return torch::log_softmax(x, 1).index({torch::arange(3), torch::tensor({1, 3, 0})}); }},
      {"a cross product", [](const Tensor &x) { return torch::cross(x.slice(1, 0, 3), x.slice(1, 1, 4), 1).norm(2, 1); }},
      {"windows of a signal", [](const Tensor &x) { return x.unfold(1, 2, 1).mean(2) * 2; }},
      {"circular padding", [](const Tensor &x) { return F::pad(x.unsqueeze(1), F::PadFuncOptions({1, 1}).mode(torch::kCircular)).square(); }},
      {"without a gradient", [](const Tensor &x) { return (x - x.detach().mean()).square(); }},
      {"a loop", [](const Tensor &x) {
         auto state = torch::zeros({4});
         for (int row = 0; row < 3; ++row)
            state = torch::tanh(state + x[row]);
         return state;
      }},
   };
}

/// Functions of which LibTorch runs an operator or two.
std::vector<Everyday> InParts()
{
   nn::LSTM lstm(nn::LSTMOptions(4, 5));
   nn::GRU gru(nn::GRUOptions(1, 3).batch_first(true));
   nn::ConvTranspose2d larger(nn::ConvTranspose2dOptions(1, 2, 2));
   nn::Linear down(5, 4), out(4, 2), of3(3, 4), of40(40, 4);
   nn::Dropout first(0.3), second(0.2);
   nn::BatchNorm1d norm(nn::BatchNorm1dOptions(4).eps(0.1));
   const Function head = [=](const Tensor &x) mutable { return out(torch::tanh(norm(x) * 2 + 1)); };
   const auto square = torch::eye(4) * 3 + 0.1;
   return {
      {"a recurrent network", [=](const Tensor &x) mutable {
         return head(torch::relu(down(std::get<0>(lstm(torch::tanh((x * 2 + 1).unsqueeze(0))))[0])));
      }, "aten::lstm"},
      {"gates", [=](const Tensor &x) mutable { return head(of3(std::get<0>(gru(x.unsqueeze(2))).mean(1)).sigmoid()); }, "aten::gru"},
      {"a picture", [=](const Tensor &x) mutable { return head(of40(torch::relu(larger(x.view({1, 1, 3, 4}).expand({3, 1, 3, 4})) * 2).flatten(1))); },
       "conv"},
      {"distances", [](const Tensor &x) {
         const auto distance = torch::cdist(x, x * 2 + 1);
         return torch::exp(-distance) * distance + distance.square().sum();
      }, "aten::cdist"},
      {"a solution", [=](const Tensor &x) { return (torch::linalg_solve(square, (x.square() + 1).t()).t() * x).tanh() + x.exp().log1p(); }, "linalg_solve"},
      {"a spectrum", [](const Tensor &x) { return (torch::fft_rfft((x * 2).tanh() + 1).abs().square() + 1).log().mean(1); }, "fft_rfft"},
      {"sums so far", [](const Tensor &x) { return x.cumsum(1).tanh().mul(2).add(1).square() + x.exp().log1p().cumsum(0); }, "aten::cumsum"},
      {"dropout on both sides", [=](const Tensor &x) mutable { return second(first((x * 2).tanh() + x).cumsum(1).tanh() * 2 + 1); }, "aten::cumsum"},
      {"codes", [](const Tensor &x) {
         const auto code = (x * 2).tanh().argmax(1);
         return torch::one_hot(code, 4).to(torch::kFloat) * x.square() + x.exp().log1p().sum(1, true);
      }, "one_hot"},
      {"twice as exact", [](const Tensor &x) { return (x.to(torch::kDouble).square().sum(1).to(torch::kFloat).sqrt() + 1).log() * x.tanh().mean(1); }, "float64"},
   };
}

std::vector<Everyday> ForLibTorch()
{
   const auto columns = torch::tensor({{0, 1}, {2, 3}}), great = torch::tensor({16777217l, 16777216l, 16777218l, 16777219l});
   const auto inner = CladTorch::Compile([](Tensor x) { return x.sin() * 2; }, {torch::ones({3, 4})});
   return {
      {"a compiled function", [=](const Tensor &x) { return inner(x).square(); }, "calls a compiled function"},
      {"a compiled function's value", [=](const Tensor &x) { return x * inner.Forward({x.detach()}); }, "calls a compiled function"},
      {"a mask and numbers for it", [](const Tensor &x) { auto y = x.sin(); y.index_put_({x > 0}, x.index({x > 0})); return y; }, "depends on the values"},
      {"noise", [](const Tensor &x) { return x + torch::randn_like(x); }, "randn_like"},
      {"a value", [](const Tensor &x) { return x / x.detach().max().item<float>(); }, "item"},
      {"selected values", [](const Tensor &x) { return x.index({x > 0}).sum(); }, "depends on the values"},
      {"no gradient", [](const Tensor &x) { const torch::NoGradGuard off; return x * 2; }, "NoGradGuard"},
      {"the input itself", [](const Tensor &x) { return x; }, "return a clone()"},
      {"a shared part in place", [](const Tensor &x) { auto y = x * 1; const auto rows = y.reshape({-1}); y.select(1, 0).mul_(2); return y + rows.sum(); }, "aten::mul_"},
      {"chosen by integers in another order", [=](const Tensor &x) { return x.index_select(1, columns.t().reshape({-1})) * columns.t().reshape({-1}).to(torch::kFloat); }, "aten::reshape"},
      {"the place of the least of great integers", [=](const Tensor &x) { return x * great.argmin(0); }, "aten::argmin"},
      {"a place that is taken twice", [](const Tensor &x) { return x.sin().index_put({torch::arange(1, -3, -3)}, x.select(0, 0)); }, "aten::index_put"},
      {"sums at some places", [](const Tensor &x) { return x.sin().index_put({torch::arange(1, 3)}, x.slice(0, 1), true); }, "aten::index_put"},
      {"an operator without a kernel", [](const Tensor &x) { return torch::special_i1(x); }, "special_i1"},
   };
}

/// A module whose results lie in tuples within one another.
void CheckNestedResults()
{
   nn::LSTM lstm(nn::LSTMOptions(4, 5));
   const auto x = torch::randn({3, 2, 4});
   const auto results = CladTorch::Compile(lstm, {x}).CallAll({x});
   const auto [outputs, state] = lstm(x);
   CHECK(results.size() == 3 && results[0].allclose(outputs) && results[1].allclose(std::get<0>(state)) && results[2].allclose(std::get<1>(state)));
}

void compile_everyday()
{
   torch::manual_seed(1);
   CheckNestedResults();
   const auto x = torch::randn({3, 4});
   std::string different;
   const std::pair<const char *, std::vector<Everyday>> lists[] = {
      {"aot", Networks()}, {"aot", Losses()}, {"aot", Mathematics()}, {"split", InParts()}, {"autograd", ForLibTorch()}};
   for (const auto &[backEnd, list] : lists)
      for (const auto &[name, run, why] : list)
         if (!AsEager(name, run, x, backEnd, why ? why : ""))
            different += std::string("\n   ") + name;
   std::printf("not as expected:%s\n", different.empty() ? " none" : different.c_str());
   CHECK(different.empty());
   Passed();
}
