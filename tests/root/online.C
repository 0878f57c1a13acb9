/// \file online.C
/// \brief Strain that arrives in blocks gets the scores of windows whitened by the strain before them.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include "check.h"

#include <TStopwatch.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace nn = torch::nn;
namespace Signal = CladTorch::Signal;
using CladTorch::Model;
using Series = std::vector<std::vector<double>>;

const double kRate = 512, kStart = 1e9;
const std::size_t kBlock = 32, kMemory = 2048, kSegment = 128, kFilter = 64, kWindow = 256;

Model Network()
{
   torch::manual_seed(3);
   auto net = nn::Sequential(nn::Conv1d(2, 4, 16), nn::ELU(), nn::MaxPool1d(4), nn::Flatten(), nn::Linear(4 * 60, 1));
   return Model(net, {2, kWindow});
}

Series Strain()
{
   Series strain;
   for (const std::string detector : {"H1", "L1"})
      strain.push_back(Signal::DetectorNoise(detector, Signal::DetectorPsd(1 << 13, kRate), kRate, 5));
   return strain;
}

Series BlockOf(const Series &strain, std::size_t block)
{
   Series values;
   for (const auto &each : strain)
      values.emplace_back(each.begin() + block * kBlock, each.begin() + (block + 1) * kBlock);
   return values;
}

/// A block of one detector, whitened by the strain up to `end`.
std::vector<double> White(const std::vector<double> &strain, std::size_t end)
{
   const std::size_t known = end - end % (kSegment / 2);
   auto density = Signal::Welch({strain.begin() + known - kMemory, strain.begin() + known}, kSegment, kRate, Signal::kMedian);
   density = Signal::TruncateInverse(Signal::InterpolatePsd(density, 2 * kSegment), kRate, kFilter, 10);
   const auto white = Signal::Whiten({strain.begin() + end - 2 * kSegment, strain.begin() + end}, density, kRate);
   return {white.end() - kFilter / 2 - kBlock, white.end() - kFilter / 2};
}

void CheckScores()
{
   const auto strain = Strain();
   const auto model = Network();
   Signal::OnlineSearch search(model, kRate, 2, kBlock, kMemory, kSegment, kFilter, 10);
   Series white(2);
   std::vector<float> scores, windows;
   for (std::size_t block = 0; (block + 1) * kBlock <= strain[0].size(); ++block) {
      const std::size_t end = (block + 1) * kBlock;
      const auto score = search.Add(kStart + block * kBlock / kRate, BlockOf(strain, block));
      if (end < kMemory) {
         CHECK(score.empty());
         continue;
      }
      for (std::size_t d = 0; d < 2; ++d) {
         const auto fresh = White(strain[d], end);
         white[d].insert(white[d].end(), fresh.begin(), fresh.end());
      }
      CHECK(score.empty() == (white[0].size() < kWindow));
      CHECK(Near(search.End(), kStart + (end - kFilter / 2.) / kRate, 1e-6));
      if (score.empty())
         continue;
      scores.push_back(score[0]);
      for (const auto &each : white)
         windows.insert(windows.end(), each.end() - kWindow, each.end());
   }
   const std::vector<float> labels(scores.size());
   CladTorch::Dataset data;
   data.Column("white", 2 * kWindow);
   data.Add(CladTorch::FloatView(windows).Reshape(data.Width()), CladTorch::FloatView(labels));
   const auto logits = model.Logits(data);
   CHECK(scores.size() == 186 && logits.size() == 186);
   double largest = 0;
   for (std::size_t i = 0; i < scores.size(); ++i)
      largest = std::max(largest, double(std::abs(scores[i] - logits[i])));
   std::cout << "within " << largest << std::endl;
   CHECK(largest < 2e-5);
}

/// Blocks until the first score, from the block `first` on.
std::size_t UntilScore(Signal::OnlineSearch &search, const Series &strain, std::size_t first, double shift)
{
   for (std::size_t block = first;; ++block)
      if (!search.Add(kStart + shift + block * kBlock / kRate, BlockOf(strain, block)).empty())
         return block - first + 1;
}

void CheckGaps()
{
   const auto strain = Strain();
   Signal::OnlineSearch search(Network(), kRate, 2, kBlock, kMemory, kSegment, kFilter, 10);
   const std::size_t whole = (kMemory + kWindow) / kBlock - 1;
   CHECK(UntilScore(search, strain, 0, 0) == whole);
   CHECK(UntilScore(search, strain, whole, 0) == 1);
   CHECK(UntilScore(search, strain, whole + 1, 2 / kRate) == whole); // two samples are missing
   auto broken = BlockOf(strain, 0);
   broken[1][3] = NAN;
   CHECK(search.Add(kStart + 2 / kRate + (2 * whole + 1) * kBlock / kRate, broken).empty());
   CHECK(UntilScore(search, strain, 2 * whole + 2, 2 / kRate) == whole);
}

/// A detector that returns zeros for longer than the memory has no scores, with the reason; the search restarts after
/// that.
void CheckSilence()
{
   const auto strain = Strain();
   auto silent = strain;
   std::fill(silent[1].begin(), silent[1].end(), 0.);
   Signal::OnlineSearch search(Network(), kRate, 2, kBlock, kMemory, kSegment, kFilter, 10);
   const std::size_t whole = (kMemory + kWindow) / kBlock - 1;
   std::size_t block = 0;
   const auto add = [&](const Series &series) {
      const auto score = search.Add(kStart + block * kBlock / kRate, BlockOf(series, block % (series[0].size() / kBlock)));
      ++block;
      return score.size();
   };
   const auto waits = [&](const char *why) { return search.Waits().find(why) != std::string::npos; };
   CHECK(waits("no block"));
   // Until a score arrives, with the reason why there is none.
   const auto fill = [&] {
      for (std::size_t number = 1; number <= whole; ++number) {
         const auto scores = add(strain);
         CHECK(scores == (number == whole) && waits("fill with the strain since GPS") == (number < whole));
      }
      CHECK(search.Waits().empty());
   };
   fill();
   for (std::size_t number = 0; number < whole; ++number) {
      const auto scores = add(silent);
      CHECK(scores == 0 && waits("detector 1 at GPS 10000") && waits("one value"));
   }
   fill();
   // Numbers that are not constant, and whose density is 0.
   auto faint = strain;
   for (std::size_t i = 0; i < faint[1].size(); ++i)
      faint[1][i] = i % 2 ? 1e-300 : 0;
   Refuses("no density", [&] {
      for (std::size_t number = 0; number < whole; ++number)
         add(faint);
   }, {"detector 1: "});
   CHECK(waits("detector 1: "));
}

void CheckRefusals()
{
   const auto model = Network();
   Refuses("detectors", [&] { Signal::OnlineSearch(model, kRate, 1, kBlock, kMemory, kSegment, kFilter); }, {"1 detector(s) for a model"});
   Refuses("none", [&] { Signal::OnlineSearch(model, kRate, 0, kBlock, kMemory, kSegment, kFilter); }, {"0 detector(s)"});
   Refuses("block", [&] { Signal::OnlineSearch(model, kRate, 2, 65, kMemory, kSegment, kFilter); }, {"a block is 65"});
   Signal::OnlineSearch search(model, kRate, 2, kBlock, kMemory, kSegment, kFilter);
   Refuses("one series", [&] { search.Add(0, {std::vector<double>(kBlock)}); }, {"1 blocks for 2 detector(s)"});
   Refuses("short", [&] { search.Add(0, {std::vector<double>(kBlock), {1, 2}}); }, {"a block has 2 samples; give 32"});
   Refuses("time", [&] { search.Add(NAN, BlockOf(Strain(), 0)); }, {"the time of a block"});
}

void online()
{
   CheckScores();
   CheckGaps();
   CheckSilence();
   CheckRefusals();
   Passed();
}
