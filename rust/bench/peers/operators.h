/// \file operators.h
/// \brief The operators of `cargo xtask bench operators`.

#ifndef CLADTORCH_BENCH_OPERATORS
#define CLADTORCH_BENCH_OPERATORS

#include <CladTorch/Torch.hxx>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using Tensors = std::vector<torch::Tensor>;

/// An operator and its inputs for a first one of n elements.
struct Operator {
   std::string fName;
   std::function<Tensors(std::int64_t)> fInputs;
   torch::Tensor (*fFunction)(const Tensors &);
};

/// Seeded numbers: none near a kink, none so great that an exponential overflows.
inline torch::Tensor Numbers(const std::vector<std::int64_t> &shape, int number = 0)
{
   const auto count = c10::multiply_integers(shape);
   const auto phase = (torch::arange(count, torch::kFloat64) + 0.4) * (0.7 + 0.1 * number);
   return (phase.sin() * 0.9).to(torch::kFloat).reshape(shape);
}

inline Tensors Row(std::int64_t n)
{
   return {Numbers({n})};
}

/// Above 0.
inline Tensors Positive(std::int64_t n)
{
   return {Numbers({n}).abs() + 0.1};
}

inline Tensors AboveOne(std::int64_t n)
{
   return {Numbers({n}).abs() + 1.1};
}

inline Tensors Pair(std::int64_t n)
{
   return {Numbers({n}), Numbers({n}, 1)};
}

inline Tensors PositivePair(std::int64_t n)
{
   return {Numbers({n}).abs() + 0.1, Numbers({n}, 1).abs() + 0.1};
}

inline std::int64_t Side(std::int64_t n)
{
   return static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(n))));
}

/// A square matrix.
inline Tensors Matrix(std::int64_t n)
{
   return {Numbers({Side(n), Side(n)})};
}

/// [m, 16, m]
inline Tensors Block(std::int64_t n)
{
   return {Numbers({Side(n / 16), 16, Side(n / 16)})};
}

inline Tensors Transposed(std::int64_t n)
{
   return {Numbers({Side(n), Side(n)}).t()};
}

inline Tensors MatrixAndRow(std::int64_t n)
{
   return {Numbers({Side(n), Side(n)}), Numbers({Side(n)}, 1)};
}

inline Tensors MatrixAndColumn(std::int64_t n)
{
   return {Numbers({Side(n), Side(n)}), Numbers({Side(n), 1}, 1)};
}

/// 16 classes for each row.
inline Tensors Scores(std::int64_t n)
{
   return {Numbers({n / 16, 16}), (torch::arange(n / 16) * 7919).remainder(16)};
}

/// Signals [events, 8, 128], weights and bias.
inline Tensors Signals(std::int64_t n)
{
   const auto length = std::min<std::int64_t>(128, n / 8);
   return {Numbers({n / 8 / length, 8, length}), Numbers({16, 8, 5}, 1), Numbers({16}, 2)};
}

#define OPERATOR(NAME, INPUTS, ...)                                                                                    \
   Operator                                                                                                            \
   {                                                                                                                   \
      NAME, INPUTS, [](const Tensors &t) -> torch::Tensor { return __VA_ARGS__; }                                      \
   }

inline const std::vector<Operator> &Operators()
{
   static const std::vector<Operator> operators{
      // Number by number.
      OPERATOR("neg", Row, -t[0]),
      OPERATOR("square", Row, t[0].square()),
      OPERATOR("reciprocal", Positive, t[0].reciprocal()),
      OPERATOR("sqrt", Positive, t[0].sqrt()),
      OPERATOR("rsqrt", Positive, t[0].rsqrt()),
      OPERATOR("exp", Row, t[0].exp()),
      OPERATOR("expm1", Row, t[0].expm1()),
      OPERATOR("log", Positive, t[0].log()),
      OPERATOR("log1p", Positive, t[0].log1p()),
      OPERATOR("log10", Positive, t[0].log10()),
      OPERATOR("sin", Row, t[0].sin()),
      OPERATOR("cos", Row, t[0].cos()),
      OPERATOR("tan", Row, t[0].tan()),
      OPERATOR("asin", Row, t[0].asin()),
      OPERATOR("acos", Row, t[0].acos()),
      OPERATOR("atan", Row, t[0].atan()),
      OPERATOR("sinh", Row, t[0].sinh()),
      OPERATOR("cosh", Row, t[0].cosh()),
      OPERATOR("tanh", Row, t[0].tanh()),
      OPERATOR("asinh", Row, t[0].asinh()),
      OPERATOR("acosh", AboveOne, t[0].acosh()),
      OPERATOR("atanh", Row, t[0].atanh()),
      OPERATOR("erf", Row, t[0].erf()),
      OPERATOR("erfc", Row, t[0].erfc()),
      OPERATOR("abs", Row, t[0].abs()),
      OPERATOR("floor", Row, t[0].floor()),
      OPERATOR("sign", Row, t[0].sign()),
      OPERATOR("sigmoid", Row, t[0].sigmoid()),
      OPERATOR("relu", Row, t[0].relu()),
      OPERATOR("leaky_relu", Row, torch::leaky_relu(t[0])),
      OPERATOR("elu", Row, torch::elu(t[0])),
      OPERATOR("silu", Row, torch::silu(t[0])),
      OPERATOR("gelu", Row, torch::gelu(t[0])),
      OPERATOR("softplus", Row, torch::softplus(t[0])),
      OPERATOR("mish", Row, torch::mish(t[0])),
      OPERATOR("clamp", Row, t[0].clamp(-0.5, 0.5)),
      OPERATOR("nan_to_num", Row, t[0].nan_to_num()),
      OPERATOR("pow_2.5", Positive, t[0].pow(2.5)),
      OPERATOR("add", Pair, t[0] + t[1]),
      OPERATOR("mul", Pair, t[0] * t[1]),
      OPERATOR("div", PositivePair, t[0] / t[1]),
      OPERATOR("pow", PositivePair, t[0].pow(t[1])),
      OPERATOR("atan2", PositivePair, torch::atan2(t[0], t[1])),
      OPERATOR("hypot", PositivePair, torch::hypot(t[0], t[1])),
      OPERATOR("logaddexp", Pair, torch::logaddexp(t[0], t[1])),
      OPERATOR("remainder", PositivePair, torch::remainder(t[0], t[1])),
      OPERATOR("maximum", Pair, torch::maximum(t[0], t[1])),
      OPERATOR("where", Pair, torch::where(t[0] > t[1], t[0], t[1])),
      OPERATOR("masked_fill", Row, t[0].masked_fill(t[0] > 0.3, 2.)),
      OPERATOR("sum_of_squares", Pair, (t[0] - t[1]).square().sum()),
      // Strided and broadcast.
      OPERATOR("exp_transposed", Transposed, t[0].exp()),
      OPERATOR("mul_transposed", Matrix, t[0] * t[0].t()),
      OPERATOR("mul_row", MatrixAndRow, t[0] * t[1]),
      OPERATOR("mul_column", MatrixAndColumn, t[0] * t[1]),
      OPERATOR("copy_transposed", Matrix, t[0].t().clone(torch::MemoryFormat::Contiguous)),
      OPERATOR("cat", Matrix, torch::cat({t[0], t[0]}, 1)),
      OPERATOR("slice", Matrix, t[0].slice(1, 0, t[0].size(1), 2) * 2),
      OPERATOR("tril", Matrix, t[0].tril()),
      OPERATOR("roll", Matrix, t[0].roll(1, 1)),
      // Reductions.
      OPERATOR("sum", Matrix, t[0].sum()),
      OPERATOR("sum_0", Matrix, t[0].sum(0)),
      OPERATOR("sum_1", Matrix, t[0].sum(1)),
      OPERATOR("sum_middle", Block, t[0].sum(1)),
      OPERATOR("mean", Matrix, t[0].mean()),
      OPERATOR("var_0", Matrix, t[0].var(0)),
      OPERATOR("var_1", Matrix, t[0].var(1)),
      OPERATOR("std_1", Matrix, t[0].std(1)),
      OPERATOR("amax_0", Matrix, t[0].amax(0)),
      OPERATOR("amax_1", Matrix, t[0].amax(1)),
      OPERATOR("amax_middle", Block, t[0].amax(1)),
      OPERATOR("max", Matrix, t[0].max()),
      OPERATOR("norm_0", Matrix, t[0].norm(2, 0)),
      OPERATOR("norm_1", Matrix, t[0].norm(2, 1)),
      OPERATOR("softmax_0", Matrix, t[0].softmax(0)),
      OPERATOR("softmax_1", Matrix, t[0].softmax(1)),
      OPERATOR("softmax_middle", Block, t[0].softmax(1)),
      OPERATOR("log_softmax_1", Matrix, t[0].log_softmax(1)),
      OPERATOR("logsumexp_0", Matrix, t[0].logsumexp(0)),
      OPERATOR("logsumexp_1", Matrix, t[0].logsumexp(1)),
      // Products.
      OPERATOR("dot", Pair, t[0].dot(t[1])),
      OPERATOR("mv", MatrixAndRow, t[0].mv(t[1])),
      OPERATOR("mm", Matrix, t[0].mm(t[0])),
      OPERATOR("outer", MatrixAndRow, torch::outer(t[1], t[1])),
      // Layers and losses.
      OPERATOR("layer_norm", Matrix, torch::layer_norm(t[0], {t[0].size(1)})),
      OPERATOR("rms_norm", MatrixAndRow, torch::rms_norm(t[0], {t[0].size(1)}, t[1], 1e-5)),
      OPERATOR("group_norm", Block, torch::group_norm(t[0], 4)),
      OPERATOR("batch_norm", Matrix, torch::batch_norm(t[0], {}, {}, {}, {}, true, 0.1, 1e-5, false)),
      OPERATOR("conv1d", Signals, torch::conv1d(t[0], t[1], t[2], 1, 2)),
      OPERATOR("max_pool1d", Signals, torch::max_pool1d(t[0], 2)),
      OPERATOR("avg_pool1d", Signals, torch::avg_pool1d(t[0], 2)),
      OPERATOR("mse_loss", Pair, torch::mse_loss(t[0], t[1])),
      OPERATOR("binary_cross_entropy", Pair, torch::binary_cross_entropy_with_logits(t[0], t[1].abs())),
      OPERATOR("cross_entropy", Scores, torch::cross_entropy_loss(t[0], t[1])),
      OPERATOR("gather", Scores, t[0].gather(1, t[1].unsqueeze(1))),
      OPERATOR("index_select", Scores, t[0].index_select(0, t[1])),
   };
   return operators;
}

#endif
