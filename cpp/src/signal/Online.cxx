#include <CladTorch/Guard.hxx>
#include <CladTorch/Online.hxx>

#include "CoreBox.hxx"
#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/online.rs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace CladTorch {

struct Internal::OnlineData {
   rust::Box<Core::OnlineSearch> fSearch;
   double fRate;
   std::size_t fDetectors, fBlock;
   double fNext = std::numeric_limits<double>::quiet_NaN(); ///< time of the next block; NaN: any
};

namespace Signal {

using Internal::Guard;
using Internal::LongCall;
using Internal::Slice;

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
      const bool whole = std::all_of(joined.begin(), joined.end(), [](double h) { return std::isfinite(h); });
      // Half a sample is more than the times' rounding.
      if (!whole || std::abs(gps - data.fNext) > 0.5 / data.fRate)
         data.fSearch->reset();
      data.fNext = gps + data.fBlock / data.fRate;
      if (!whole)
         return std::vector<float>();
      const auto score = Core::online_search_add(*data.fSearch, Slice(joined));
      return std::vector<float>(score.begin(), score.end());
   });
}

double OnlineSearch::End() const
{
   return fData->fNext - fData->fSearch->delay() / fData->fRate;
}

} // namespace Signal
} // namespace CladTorch
