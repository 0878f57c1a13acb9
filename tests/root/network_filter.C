/// \file network_filter.C
/// \brief Networks slid over series give every window the result of Model::Logits(), or say why they are not slid.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <TSystem.h>

namespace nn = torch::nn;
namespace Signal = CladTorch::Signal;
using CladTorch::Model;
using Series = std::vector<std::vector<double>>;

Series MakeSeries(std::size_t detectors, std::size_t samples)
{
   const auto white = Signal::Noise(std::vector<double>(samples / 2 + 1, 2. / 512), 512, 7);
   Series series(detectors, white);
   for (std::size_t d = 1; d < detectors; ++d)
      std::rotate(series[d].begin(), series[d].begin() + 37 * d, series[d].end());
   return series;
}

/// The largest difference of the scores from the logits of windows cut out one by one.
double Difference(const Model &model, const Signal::NetworkFilter &filter, const Series &series, std::size_t stride)
{
   const auto scores = filter.Scores(series);
   const std::size_t window = filter.Window(), count = 1 + (series[0].size() - window) / stride;
   std::vector<float> windows;
   for (std::size_t w = 0; w < count; ++w)
      for (const auto &each : series)
         windows.insert(windows.end(), each.begin() + w * stride, each.begin() + w * stride + window);
   const std::vector<float> labels(count);
   CladTorch::Dataset data;
   data.Column("white", series.size() * window);
   data.Add(CladTorch::FloatView(windows).Reshape(data.Width()), CladTorch::FloatView(labels));
   const auto logits = model.Logits(data);
   CHECK(scores.size() == logits.size() && scores.size() == count * model.Outputs());
   double largest = 0;
   for (std::size_t i = 0; i < scores.size(); ++i)
      largest = std::max(largest, double(std::abs(scores[i] - logits[i])));
   return largest;
}

/// With running statistics and scales that differ from those of a new layer.
template <class Net>
Net Trained(Net net)
{
   torch::NoGradGuard guard;
   for (auto &each : net->named_buffers())
      if (each.value().is_floating_point())
         each.value().uniform_(0.5, 1.5);
   for (auto &each : net->named_parameters())
      if (each.value().dim() == 1)
         each.value().add_(0.1);
   return net;
}

void CheckSlid(const char *what, const Model &model, std::size_t detectors, std::size_t stride, double arithmetic)
{
   const Signal::NetworkFilter filter(model, stride, detectors);
   CHECK(filter.Obstacle().empty());
   const double share = filter.Arithmetic();
   // One window, a few, and more than one piece with an end that is cut off.
   for (std::size_t samples : {filter.Window(), filter.Window() + 3 * stride, 21 * filter.Window() + stride / 2 * 2}) {
      const double difference = Difference(model, filter, MakeSeries(detectors, samples), stride);
      std::cout << what << ", " << samples << " samples: within " << difference << ", arithmetic " << share << std::endl;
      CHECK(difference < 2e-5);
   }
   CHECK(share < arithmetic);
}

void CheckAllSlid()
{
   torch::manual_seed(3);
   auto plain = Trained(nn::Sequential(nn::BatchNorm1d(2), nn::Conv1d(2, 4, 16), nn::ELU(), nn::MaxPool1d(4), nn::Conv1d(4, 8, 9),
                                       nn::BatchNorm1d(8), nn::GELU(), nn::MaxPool1d(3), nn::Dropout(0.5), nn::Flatten(),
                                       nn::Linear(8 * 17, 8), nn::ELU(), nn::Linear(8, 1)));
   CheckSlid("plain", Model(plain, {2, 256}), 2, 24, 0.25);
   auto stepping = Trained(nn::Sequential(nn::Conv1d(nn::Conv1dOptions(1, 4, 8).stride(2)), nn::ReLU(),
                                          nn::Conv1d(nn::Conv1dOptions(4, 4, 5).dilation(3).groups(2)), nn::Tanh(),
                                          nn::AvgPool1d(nn::AvgPool1dOptions(4).stride(2)), nn::AdaptiveMaxPool1d(1), nn::Flatten(),
                                          nn::Linear(4, 3)));
   CheckSlid("strides, dilation, groups, three outputs", Model(stepping, {1, 200}), 1, 20, 0.5);
   nn::Conv1d first(1, 6, 7), same(6, 6, 1);
   nn::Linear last(6 * 58, 1);
   const auto residual = [=](torch::Tensor x) mutable {
      auto y = torch::silu(first(x));
      y = y + torch::tanh(same(y)) * 0.5;
      return last(y.flatten(1));
   };
   CheckSlid("residual", Model(residual, {1, 64}), 1, 8, 1);
   nn::Conv1d before(1, 6, 7);
   nn::Linear gain(6, 6), after(6 * 58, 1);
   // A factor learned from the whole window scales its channels: that belongs to the head.
   const auto excited = [=](torch::Tensor x) mutable {
      auto y = torch::elu(before(x));
      y = torch::tanh(y * torch::sigmoid(gain(y.mean(2))).unsqueeze(2));
      return after(y.flatten(1));
   };
   CheckSlid("gains of whole windows", Model(excited, {1, 64}), 1, 8, 1);
   CladTorch::FitOptions options;
   options.fEpochs = 1;
   options.fVerbose = 0;
   options.fStandardise = false;
   const std::vector<float> windows(8 * 64, 0.5), labels{0, 1, 0, 1, 0, 1, 0, 1};
   CladTorch::Dataset data;
   data.Column("white", 64);
   data.Add(CladTorch::FloatView(windows).Reshape(64), CladTorch::FloatView(labels));
   Model fitted(nn::Sequential(nn::Conv1d(1, 4, 9), nn::ReLU(), nn::Flatten(), nn::Linear(4 * 56, 1)), {1, 64});
   fitted.Fit(data, options);
   CheckSlid("fitted", fitted, 1, 8, 1);
   // Model files contain only operators.
   Model(plain, {2, 256}).Save("slid.ct");
   CheckSlid("from a file", Model::Load("slid.ct"), 2, 24, 0.25);
}

void CheckWindowByWindow(const Model &model, std::size_t detectors, std::size_t stride, const std::string &why)
{
   const Signal::NetworkFilter filter(model, stride, detectors);
   std::cout << filter.Obstacle() << std::endl;
   CHECK(filter.Obstacle().find(why) != std::string::npos);
   CHECK(filter.Arithmetic() == 1);
   CHECK(Difference(model, filter, MakeSeries(detectors, 5 * filter.Window()), stride) < 2e-5);
}

void CheckObstacles()
{
   const auto net = [] {
      return nn::Sequential(nn::Conv1d(1, 4, 9), nn::ReLU(), nn::MaxPool1d(4), nn::Flatten(), nn::Linear(4 * 14, 1));
   };
   CheckWindowByWindow(Model(net(), {1, 64}), 1, 6, "stride is not a multiple of 4 samples");
   CheckWindowByWindow(Model(nn::Sequential(nn::Conv1d(nn::Conv1dOptions(1, 4, 9).padding(4)), nn::Flatten(), nn::Linear(256, 1)), {1, 64}),
                       1, 4, "pads its input");
   CheckWindowByWindow(Model(nn::Sequential(nn::InstanceNorm1d(1), nn::Conv1d(1, 4, 9), nn::Flatten(), nn::Linear(4 * 56, 1)), {1, 64}), 1,
                       4, "is not the same at all times");
   const auto both = [first = nn::Conv1d(1, 4, 9), last = nn::Linear(4 * 56 + 64, 1)](torch::Tensor x) mutable {
      return last(torch::cat({first(x).flatten(1), x.flatten(1)}, 1));
   };
   CheckWindowByWindow(Model(both, {1, 64}), 1, 4, "are used otherwise");
   CheckWindowByWindow(CladTorch::Mlp({64, 4, 1}), 1, 4, "events of shape");
   nn::LSTM lstm(nn::LSTMOptions(1, 4).batch_first(true));
   nn::Linear out(4, 1);
   const auto recurrent = [=](torch::Tensor x) mutable {
      return out(std::get<0>(lstm(x.transpose(1, 2))).select(1, 31));
   };
   CheckWindowByWindow(Model(recurrent, {1, 32}), 1, 8, "LibTorch runs the network");

   Model standardised(net(), {1, 64});
   std::vector<double> mean(64, 0.), deviation(64);
   for (int i = 0; i < 64; ++i)
      deviation[i] = 1 + 0.01 * i;
   standardised.SetScaler(mean, deviation);
   CheckWindowByWindow(standardised, 1, 4, "fStandardise = false");
}

void CheckRefusals()
{
   auto net = nn::Sequential(nn::Conv1d(2, 4, 9), nn::Flatten(), nn::Linear(4 * 56, 1));
   const Model model(net, {2, 64});
   Refuses("1 detector(s) for a model", [&] { Signal::NetworkFilter(model, 4, 1); }, {"1 detector(s) for a model"});
   Refuses("a stride of 0 samples", [&] { Signal::NetworkFilter(model, 0, 2); }, {"a stride of 0 samples"});
   Refuses("a stride of 65 samples", [&] { Signal::NetworkFilter(model, 65, 2); }, {"a stride of 65 samples"});
   const Signal::NetworkFilter filter(model, 4, 2);
   Refuses("1 series for 2 detector(s)", [&] { filter.Scores(MakeSeries(1, 64)); }, {"1 series for 2 detector(s)"});
   Refuses("series of 62 samples for windows of 64", [&] { filter.Scores(MakeSeries(2, 62)); }, {"series of 62 samples for windows of 64"});
   auto uneven = MakeSeries(2, 128);
   uneven[1].pop_back();
   Refuses("a series has 127 samples, the first one 128", [&] { filter.Scores(uneven); }, {"a series has 127 samples, the first one 128"});
   Refuses("no threshold", [&] { Signal::FindCandidates({0, 1}, 0, 0.1, NAN); }, {"threshold is NaN; give a finite number"});
   Refuses("score 1 is no number", [&] { Signal::FindCandidates({0, NAN}, 0, 0.1, 0); }, {"score 1 is no number"});
}

/// The filter is that of the model as it was.
void CheckFrozen()
{
   auto net = nn::Sequential(nn::Conv1d(1, 4, 9), nn::Flatten(), nn::Linear(4 * 56, 1));
   Model model(net, {1, 64});
   const Signal::NetworkFilter filter(model, 4);
   const auto series = MakeSeries(1, 512);
   const auto before = filter.Scores(series);
   model.SetParameters(std::vector<float>(model.Parameters().Size(), 0.5f));
   CHECK(filter.Scores(series) == before);
   CHECK(Signal::NetworkFilter(model, 4).Scores(series) != before);
}

void CheckCandidates()
{
   const auto found = Signal::FindCandidates({0, 2, 3, 0, 0, 0, 5, 0, 0, 0, 0, 4}, 100, 0.1, 1);
   CHECK(found.size() == 3 && Near(found[0].fTime, 100.2, 1e-9) && found[0].fStatistic == 3 && found[2].fStatistic == 4);
   Signal::WriteCandidates("candidates.hdf", found, 0.25);
   auto spoiled = found;
   spoiled[1].fTime = NAN;
   Refuses("a candidate at no time", [&] { Signal::WriteCandidates("spoiled.hdf", spoiled); }, {"time of candidate 1 is NaN"});
   Refuses("a tolerance below 0", [&] { Signal::WriteCandidates("spoiled.hdf", found, -1); }, {"tolerance is -1 s"});
   CHECK(gSystem->AccessPathName("spoiled.hdf"));
   CHECK(Signal::ReadHdf5("candidates.hdf", "time") == (std::vector<double>{found[0].fTime, found[1].fTime, found[2].fTime}));
   CHECK(Signal::ReadHdf5("candidates.hdf", "stat") == (std::vector<double>{3, 5, 4}));
   CHECK(Signal::ReadHdf5("candidates.hdf", "var") == (std::vector<double>{0.25, 0.25, 0.25}));
   const auto far = Signal::SensitiveDistance(found, {{3, 2.5}, {9, 1.5}}, {{100.3, 100, 1}, {101.2, 50, 1}}, 10, {0.1});
   CHECK(far.size() == 1 && far[0].fThreshold == 1.5 && far[0].fFraction == 1 && Near(far[0].fDistance, 100, 1e-9));
   Refuses("give rates from 0.1", [&] { Signal::SensitiveDistance(found, found, {{100, 100, 1}}, 10, {0.01}); }, {"give rates from 0.1"});
}

void network_filter()
{
   CheckAllSlid();
   CheckObstacles();
   CheckRefusals();
   CheckFrozen();
   CheckCandidates();
   Passed();
}
