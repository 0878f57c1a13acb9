#include <CladTorch/Continuous.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "FilePath.hxx"
#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/search.rs.h"
#include "cladtorch/src/bridge/signal.rs.h"
#include "cladtorch/src/bridge/strain.rs.h"

#include <stdexcept>

namespace CladTorch {

struct Internal::NetworkFilterData {
   rust::Box<Core::NetworkFilter> fFilter;
   std::size_t fDetectors;
};

namespace Signal {

using Internal::Copy;
using Internal::FilePath;
using Internal::Guard;
using Internal::LongCall;
using Internal::Slice;

std::vector<double> WhitenInBlocks(const std::vector<double> &strain, double rate, std::size_t block, std::size_t segment,
                                   std::size_t filter, double lowest)
{
   return LongCall("CladTorch::Signal::WhitenInBlocks", [&] {
      return Copy(Core::signal_whiten_in_blocks(Slice(strain), rate, block, segment, filter, lowest));
   });
}

namespace {

/// [detectors, n], one after the other; throws unless all have the same length.
std::vector<float> Joined(const std::vector<std::vector<double>> &series, std::size_t detectors)
{
   if (series.size() != detectors)
      throw std::invalid_argument(std::to_string(series.size()) + " series for " + std::to_string(detectors) +
                                  " detector(s); give one for each");
   std::vector<float> joined;
   for (const auto &each : series) {
      if (each.size() != series[0].size())
         throw std::invalid_argument("a series has " + std::to_string(each.size()) + " samples, the first one " +
                                     std::to_string(series[0].size()) + "; cut them to the same times");
      joined.insert(joined.end(), each.begin(), each.end());
   }
   return joined;
}

rust::Vec<Core::SignalCandidate> ForCore(const std::vector<Candidate> &candidates)
{
   rust::Vec<Core::SignalCandidate> list;
   list.reserve(candidates.size());
   for (const auto &each : candidates)
      list.push_back({each.fTime, each.fStatistic});
   return list;
}

} // namespace

NetworkFilter::NetworkFilter(const Model &model, std::size_t stride, std::size_t detectors)
{
   LongCall("CladTorch::Signal::NetworkFilter", [&] {
      fData = std::make_shared<const Internal::NetworkFilterData>(
         Internal::NetworkFilterData{Core::network_filter(*Data(model).fCore, detectors, stride), detectors});
   });
}

const Internal::ModelData &NetworkFilter::Data(const Model &model)
{
   return model.Data();
}

std::vector<float> NetworkFilter::Scores(const std::vector<std::vector<double>> &series) const
{
   return LongCall("CladTorch::Signal::NetworkFilter::Scores", [&] {
      const auto joined = Joined(series, fData->fDetectors);
      const auto scores = Core::network_filter_scores(*fData->fFilter, Slice(joined), Internal::Threads(0));
      return std::vector<float>(scores.begin(), scores.end());
   });
}

std::size_t NetworkFilter::Window() const
{
   return fData->fFilter->window();
}

std::string NetworkFilter::Obstacle() const
{
   return std::string(fData->fFilter->obstacle());
}

double NetworkFilter::Arithmetic() const
{
   return fData->fFilter->arithmetic();
}

std::vector<Candidate>
FindCandidates(const std::vector<float> &scores, double start, double step, double threshold, double gap)
{
   return LongCall("CladTorch::Signal::FindCandidates", [&] {
      std::vector<Candidate> candidates;
      for (const auto &each : Core::find_candidates(Slice(scores), start, step, threshold, gap))
         candidates.push_back({each.time, each.statistic});
      return candidates;
   });
}

std::vector<Sensitivity> SensitiveDistance(const std::vector<Candidate> &foreground, const std::vector<Candidate> &background,
                                           const std::vector<Injection> &injections, double duration,
                                           const std::vector<double> &rates, double tolerance)
{
   return LongCall("CladTorch::Signal::SensitiveDistance", [&] {
      rust::Vec<Core::SignalInjection> sources;
      for (const auto &each : injections)
         sources.push_back({each.fTime, each.fDistance, each.fChirpMass});
      const auto found = Core::sensitive_distance(ForCore(foreground), ForCore(background), sources, duration, Slice(rates), tolerance);
      std::vector<Sensitivity> sensitivities;
      for (const auto &each : found)
         sensitivities.push_back({rates[sensitivities.size()], each.threshold, each.fraction, each.fraction_error, each.distance,
                                  each.distance_error});
      return sensitivities;
   });
}

void WriteCandidates(const std::string &file, const std::vector<Candidate> &candidates, double tolerance)
{
   LongCall("CladTorch::Signal::WriteCandidates", [&] {
      std::vector<double> times, statistics;
      for (const auto &each : candidates) {
         times.push_back(each.fTime);
         statistics.push_back(each.fStatistic);
      }
      Core::strain_write_candidates(FilePath(file), Slice(times), Slice(statistics), tolerance);
   });
}

} // namespace Signal
} // namespace CladTorch
