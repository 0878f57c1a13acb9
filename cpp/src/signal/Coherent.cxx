#include <CladTorch/Coherent.hxx>
#include <CladTorch/Guard.hxx>

#include "FilterData.hxx"
#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/search.rs.h"

#include <stdexcept>
#include <utility>

namespace CladTorch {

struct Internal::CoherentData {
   rust::Box<Core::CoherentSearch> fSearch;
};

namespace Signal {

using Internal::Copy;
using Internal::Guard;
using Internal::LongCall;
using Internal::Slice;

namespace {

/// One after the other; throws unless all have as many detectors as the first.
Core::SignalResponses ForCore(const std::vector<Response> &responses)
{
   Core::SignalResponses found;
   found.detectors = responses.empty() ? 0 : responses[0].fAmplitudes.size();
   for (const auto &response : responses) {
      if (response.fAmplitudes.size() != found.detectors || response.fDelays.size() != found.detectors)
         throw std::invalid_argument("a response has " + std::to_string(response.fAmplitudes.size()) + " amplitudes and " +
                                     std::to_string(response.fDelays.size()) + " delays, the first one " +
                                     std::to_string(found.detectors) + "; give one of each for every detector");
      for (const auto &amplitude : response.fAmplitudes) {
         found.amplitudes.push_back(amplitude.real());
         found.amplitudes.push_back(amplitude.imag());
      }
      for (double delay : response.fDelays)
         found.delays.push_back(delay);
   }
   return found;
}

} // namespace

std::vector<Response> DrawResponses(const std::vector<std::string> &detectors, std::size_t count, std::uint64_t seed)
{
   return LongCall("CladTorch::Signal::DrawResponses", [&] {
      rust::Vec<rust::String> names;
      for (const auto &detector : detectors)
         names.push_back(rust::String::lossy(detector));
      const auto drawn = Core::draw_responses(names, count, seed);
      std::vector<Response> responses(count);
      std::size_t at = 0;
      for (auto &response : responses) {
         response.fAmplitudes.clear();
         response.fDelays.clear();
         for (std::size_t d = 0; d < drawn.detectors; ++d, ++at) {
            response.fAmplitudes.emplace_back(drawn.amplitudes[2 * at], drawn.amplitudes[2 * at + 1]);
            response.fDelays.push_back(drawn.delays[at]);
         }
      }
      return responses;
   });
}

CoherentSearch::CoherentSearch(const std::vector<MatchedFilter> &bank, const std::vector<Response> &responses, double begin,
                               double end, double lowest, double highest, std::size_t step)
{
   LongCall("CladTorch::Signal::CoherentSearch", [&] {
      const auto filters = Internal::FilterData::Bank(bank);
      fData = std::make_shared<const Internal::CoherentData>(Internal::CoherentData{
         Core::coherent_search(*filters, ForCore(responses), begin, end, lowest, highest, step)});
   });
}

double CoherentSearch::Statistic(const std::vector<double> &strain) const
{
   return LongCall("CladTorch::Signal::CoherentSearch::Statistic",
                   [&] { return Core::coherent_statistic(*fData->fSearch, Slice(strain)); });
}

std::vector<double> CoherentSearch::Loudest(const std::vector<double> &strain) const
{
   return LongCall("CladTorch::Signal::CoherentSearch::Loudest",
                   [&] { return Copy(Core::coherent_loudest(*fData->fSearch, Slice(strain))); });
}

ROOT::RVecF CoherentSearch::operator()(const ROOT::RVecF &strain) const
{
   return Guard("CladTorch::Signal::CoherentSearch", [&] {
      const auto ranks = Core::coherent_ranks(*fData->fSearch, Slice({strain.begin(), strain.end()}));
      return ROOT::RVecF(ranks.begin(), ranks.end());
   });
}

} // namespace Signal
} // namespace CladTorch
