/// \file black_scholes.C
/// \brief Prices and Greeks of European options: a compiled function and its gradient against closed forms and LibTorch.
///
/// Black and Scholes, "The Pricing of Options and Corporate Liabilities", J. Polit. Econ. 81 (1973) 637. The price is a
/// function of LibTorch's operators. One Backward() gives the derivatives of every price by spot, strike, time, rate and
/// volatility, among them delta, theta, rho and vega. The time of a call is compared with that of a copy of as many
/// bytes as the call has to move.
///
///     root -l -b -q root_macros/black_scholes.C
///     root -l 'root_macros/black_scholes.C("cuda:0", 4000000)'
///
/// The device "" is a GPU if there is one. Half of the options are calls, half are puts, with parameters from a seed.

R__LOAD_LIBRARY(libcladtorch)
#include "compiled_cases.h"

#include <array>
#include <cmath>
#include <cstdint>

const int kInputs = 5; // spot, strike, time, rate, volatility
const int kResults = 1 + kInputs;
const std::array<const char *, kResults> kColumns = {"price", "delta", "d price / d strike", "theta", "rho", "vega"};

/// Values of one option, or of all.
using Columns = std::array<double, kResults>;

/// [options]; `sign` is 1 for a call and -1 for a put. Time is in years to expiry, rate and volatility are per year.
Tensor Price(Tensor sign, Tensor spot, Tensor strike, Tensor time, Tensor rate, Tensor volatility)
{
   const auto normal = [](const Tensor &x) { return 0.5 * torch::erfc(-M_SQRT1_2 * x); };
   const auto width = volatility * time.sqrt();
   const auto d1 = ((spot / strike).log() + rate * time) / width + 0.5 * width;
   const auto discounted = strike * (-rate * time).exp();
   return sign * (spot * normal(sign * d1) - discounted * normal(sign * (d1 - width)));
}

/// Price and Greeks of one option by the closed forms, in the order of kColumns.
Columns ClosedForm(double sign, double spot, double strike, double time, double rate, double volatility)
{
   const auto normal = [](double x) { return 0.5 * std::erfc(-M_SQRT1_2 * x); };
   const double root = std::sqrt(time), width = volatility * root;
   const double d1 = (std::log(spot / strike) + rate * time) / width + 0.5 * width, d2 = d1 - width;
   const double discount = std::exp(-rate * time), density = std::exp(-0.5 * d1 * d1) / std::sqrt(2 * M_PI);
   const double first = sign * normal(sign * d1), second = sign * discount * normal(sign * d2);
   const double theta = -0.5 * spot * density * volatility / root - rate * strike * second;
   return {spot * first - strike * second, first, -second, theta, strike * time * second, spot * density * root};
}

/// [kInputs] tensors of shape [options], drawn on the CPU, so that the values are the same on all devices.
Tensors Market(std::size_t options)
{
   const double low[kInputs] = {80, 80, 0.25, 0.01, 0.1}, high[kInputs] = {120, 120, 2, 0.05, 0.5};
   torch::manual_seed(1);
   Tensors market;
   for (int i = 0; i < kInputs; ++i)
      market.push_back(low[i] + (high[i] - low[i]) * torch::rand({static_cast<std::int64_t>(options)}, torch::kFloat64));
   return market;
}

/// [options], alternating 1 and -1.
Tensor Signs(std::size_t options)
{
   return 1 - 2 * torch::arange(static_cast<std::int64_t>(options)).remainder(2).to(torch::kFloat64);
}

Tensors To(const Tensors &tensors, torch::Device device, torch::ScalarType type)
{
   Tensors moved;
   for (const auto &tensor : tensors)
      moved.push_back(tensor.to(device, type));
   return moved;
}

/// The price as a function of the market. The signs are captured: no derivatives by them are wanted.
std::function<Tensor(const Tensors &)> PriceOf(const Tensor &sign)
{
   return [sign](const Tensors &market) { return Price(sign, market[0], market[1], market[2], market[3], market[4]); };
}

/// In the order of kColumns. Theta is the derivative by the elapsed time, not by the time to expiry.
Tensors PriceAndGreeks(const CladTorch::Compiled &compiled, const Tensors &market, const Tensor &ones)
{
   Tensors columns = {compiled.Forward(market)};
   for (auto &derivative : compiled.Backward({ones}))
      columns.push_back(derivative);
   columns[3] = -columns[3];
   return columns;
}

std::vector<double> Numbers(const Tensor &tensor)
{
   const auto values = tensor.to(torch::kCPU, torch::kFloat64).contiguous();
   return std::vector<double>(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
}

/// The closed forms for all options.
std::vector<Columns> Exact(const Tensor &sign, const Tensors &market)
{
   const auto kinds = Numbers(sign);
   std::vector<std::vector<double>> inputs;
   for (const auto &input : market)
      inputs.push_back(Numbers(input));
   std::vector<Columns> exact;
   exact.reserve(kinds.size());
   for (std::size_t i = 0; i < kinds.size(); ++i)
      exact.push_back(ClosedForm(kinds[i], inputs[0][i], inputs[1][i], inputs[2][i], inputs[3][i], inputs[4][i]));
   return exact;
}

/// The largest error of column `k`, relative to the value or to the mean size of the column, whichever is larger: out
/// of the money prices go to 0, and are differences of larger numbers. Not finite if a value is not.
double LargestError(const Tensor &column, const std::vector<Columns> &exact, std::size_t k)
{
   const auto found = Numbers(column);
   double size = 0, error = 0;
   for (const auto &row : exact)
      size += std::fabs(row[k]) / exact.size();
   for (std::size_t i = 0; i < found.size(); ++i) {
      const double relative = std::fabs(found[i] - exact[i][k]) / std::max(std::fabs(exact[i][k]), size);
      if (!std::isfinite(relative))
         return relative;
      error = std::max(error, relative);
   }
   return error;
}

/// Against the closed forms, evaluated for the values as rounded to this type.
void Check(torch::Device device, torch::ScalarType type, double bound, std::size_t options)
{
   const auto market = To(Market(options), device, type);
   const auto sign = Signs(options).to(device, type);
   const auto compiled = CladTorch::Compile(PriceOf(sign), market);
   RequireKernels(compiled);
   const auto exact = Exact(sign, market);
   const auto columns = PriceAndGreeks(compiled, market, torch::ones_like(sign));
   const auto what = std::string(c10::toString(type)) + ", relative error of ";
   for (std::size_t k = 0; k < columns.size(); ++k)
      RequireBelow(LargestError(columns[k], exact, k), bound, what + kColumns[k]);
}

/// A copy that reads and writes `bytes` in all.
std::function<void()> CopyOf(double bytes, torch::Device device)
{
   const auto from = torch::ones({static_cast<std::int64_t>(bytes / 2 / sizeof(float))}, torch::device(device));
   return [from, to = torch::empty_like(from)] { to.copy_(from); };
}

/// One call computes all prices and their derivatives by five inputs, in float32.
void Time(torch::Device device, std::size_t options)
{
   const auto market = To(Market(options), device, torch::kFloat32);
   const auto sign = Signs(options).to(device, torch::kFloat32), ones = torch::ones_like(sign);
   const auto leaves = Leaves(market);
   const auto price = PriceOf(sign);
   const auto compiled = CladTorch::Compile(price, market);
   // Market, signs and adjoints are read, prices and derivatives written.
   const double floor = sizeof(float) * options * ((kInputs + 2.) + (1 + kInputs));
   const auto timings = TimeInTurn({[&] {
                                       compiled.Forward(market);
                                       compiled.Backward({ones});
                                    },
                                    [&] { torch::autograd::grad({price(leaves)}, leaves, {ones}); }, CopyOf(floor, device)},
                                   device);
   Print("prices and Greeks, compiled", timings[0]);
   Print("prices and Greeks, LibTorch", timings[1]);
   Print("copy of as many bytes", timings[2]);
   std::printf("compiled is %.2f times as fast as LibTorch\n", timings[1].fMedian / timings[0].fMedian);
   const auto rate = [&](int i) { return 1e-9 * floor / timings[i].fMedian; };
   std::printf("memory floor %.1f MB per call: %.1f GB/s, %.0f %% of the copy's %.1f GB/s\n", 1e-6 * floor, rate(0),
               100 * rate(0) / rate(2), rate(2));
}

void black_scholes(const char *device = "", std::size_t options = 100000)
{
   const auto place = DeviceFor(device);
   std::printf("%zu options on %s\n", options, place.str().c_str());
   Check(place, torch::kFloat64, 1e-12, std::min<std::size_t>(options, 100000));
   Check(place, torch::kFloat32, 2e-5, options);
   Time(place, options);
}
