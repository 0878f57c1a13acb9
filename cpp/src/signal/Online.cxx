#include <CladTorch/Guard.hxx>
#include <CladTorch/Online.hxx>

#include "CoreBox.hxx"
#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/online.rs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

namespace CladTorch {

struct Internal::OnlineData {
   rust::Box<Core::OnlineSearch> fSearch;
   double fRate;
   std::size_t fDetectors, fBlock;
   double fNext = std::numeric_limits<double>::quiet_NaN(); ///< time of the next block; NaN: any
   double fBegin = 0;                                       ///< time of the first block since the last restart
   std::string fWaits = "no block has come";
};

namespace Signal {

using Internal::Guard;
using Internal::LongCall;
using Internal::Slice;

namespace {
/// Why `block` is not valid strain; empty if it is. A constant block means that the detector is off.
std::string WhyMissing(const std::vector<double> &block)
{
   if (!std::all_of(block.begin(), block.end(), [](double h) { return std::isfinite(h); }))
      return "is not finite";
   const bool isConstant = std::adjacent_find(block.begin(), block.end(), std::not_equal_to<>()) == block.end();
   return isConstant && block.size() > 1 ? "has one value throughout" : "";
}

std::string AtTime(double gps)
{
   char text[48];
   std::snprintf(text, sizeof text, "GPS %.4f", gps);
   return text;
}

/// Why the blocks at `gps` are not to be searched; empty if they are.
std::string WhyMissing(const std::vector<std::vector<double>> &blocks, double gps)
{
   for (std::size_t detector = 0; detector < blocks.size(); ++detector)
      if (const auto why = WhyMissing(blocks[detector]); !why.empty())
         return "the block of detector " + std::to_string(detector) + " at " + AtTime(gps) + " " + why;
   return "";
}
} // namespace

OnlineSearch::OnlineSearch(const Model &model, double rate, std::size_t detectors, std::size_t block, std::size_t memory,
                           std::size_t segment, std::size_t filter, double lowest)
{
   LongCall("CladTorch::Signal::OnlineSearch", [&] {
      auto search = Core::online_search(*NetworkFilter::Data(model).fCore, {detectors, rate, block, memory, segment, filter, lowest});
      fData.reset(new Internal::OnlineData{std::move(search), rate, detectors, block});
   });
}

std::vector<float> OnlineSearch::Add(double gps, const std::vector<std::vector<double>> &blocks)
{
   return Guard("CladTorch::Signal::OnlineSearch::Add", [&] {
      auto &data = *fData;
      if (!std::isfinite(gps))
         throw std::invalid_argument("the time of a block is " + std::to_string(gps) + "; give GPS time in s");
      if (blocks.size() != data.fDetectors)
         throw std::invalid_argument(std::to_string(blocks.size()) + " blocks for " + std::to_string(data.fDetectors) +
                                     " detector(s); give one for each");
      std::vector<double> joined;
      for (const auto &block : blocks) {
         if (block.size() != data.fBlock)
            throw std::invalid_argument("a block has " + std::to_string(block.size()) + " samples; give " +
                                        std::to_string(data.fBlock));
         joined.insert(joined.end(), block.begin(), block.end());
      }
      // More than half a sample cannot come from rounding of the times.
      const bool follows = std::abs(gps - data.fNext) <= 0.5 / data.fRate;
      data.fNext = gps + data.fBlock / data.fRate;
      data.fWaits = WhyMissing(blocks, gps);
      if (!follows || !data.fWaits.empty()) {
         data.fSearch->reset();
         data.fBegin = data.fWaits.empty() ? gps : data.fNext;
      }
      if (!data.fWaits.empty())
         return std::vector<float>();
      data.fWaits = "memory and window fill with the strain since " + AtTime(data.fBegin);
      try {
         const auto score = Core::online_search_add(*data.fSearch, Slice(joined));
         if (!score.empty())
            data.fWaits.clear();
         return std::vector<float>(score.begin(), score.end());
      } catch (const std::exception &e) { // the search has restarted
         data.fWaits = e.what();
         data.fBegin = data.fNext;
         throw;
      }
   });
}

std::string OnlineSearch::Waits() const
{
   return fData->fWaits;
}

double OnlineSearch::End() const
{
   return fData->fNext - fData->fSearch->delay() / fData->fRate;
}

} // namespace Signal
} // namespace CladTorch
