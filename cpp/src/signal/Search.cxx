#include <CladTorch/Guard.hxx>
#include <CladTorch/Search.hxx>

#include "FilterData.hxx"
#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/search.rs.h"

#include <TAxis.h>
#include <TDirectory.h>
#include <TH2D.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace CladTorch {

namespace Signal {

using Internal::Copy;
using Internal::CopyComplex;
using Internal::Guard;
using Internal::LongCall;
using Internal::Slice;

MatchedFilter::MatchedFilter(const std::vector<double> &waveform, const std::vector<double> &psd, double rate,
                             double reference)
{
   LongCall("CladTorch::Signal::MatchedFilter", [&] {
      fData = std::make_shared<const Internal::FilterData>(
         Internal::FilterData{Core::matched_filter(Slice(waveform), Slice(psd), rate, reference)});
   });
}

std::vector<double> MatchedFilter::Series(const std::vector<double> &strain) const
{
   return LongCall("CladTorch::Signal::MatchedFilter::Series",
                [&] { return Copy(Core::filter_series(*fData->fFilter, Slice(strain))); });
}

std::vector<std::complex<double>> MatchedFilter::ComplexSeries(const std::vector<double> &strain) const
{
   return LongCall("CladTorch::Signal::MatchedFilter::ComplexSeries",
                [&] { return CopyComplex(Core::filter_complex_series(*fData->fFilter, Slice(strain))); });
}

ROOT::RVecF MatchedFilter::operator()(const ROOT::RVecF &strain) const
{
   return Guard("CladTorch::Signal::MatchedFilter", [&] {
      const auto series = Core::filter_series(*fData->fFilter, Slice({strain.begin(), strain.end()}));
      return ROOT::RVecF(series.begin(), series.end());
   });
}

Trigger MatchedFilter::Max(const std::vector<double> &strain, double begin, double end, std::size_t bands) const
{
   return LongCall("CladTorch::Signal::MatchedFilter::Max", [&] {
      const auto found = Core::filter_max(*fData->fFilter, Slice(strain), begin, end, bands);
      return Trigger{found.snr, found.time, found.phase, found.chi_squared};
   });
}

double BayesStatistic(const std::vector<double> &series, double snr)
{
   return LongCall("CladTorch::Signal::BayesStatistic", [&] { return Core::bayes_statistic(Slice(series), snr); });
}

namespace {

Reach Made(const Core::SignalReach &reach)
{
   return {reach.auc, reach.auc_error, Copy(reach.efficiencies), Copy(reach.efficiency_errors)};
}

int Bins(std::size_t bins)
{
   if (bins > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw std::length_error("the map has more columns than a histogram: use a larger stride");
   return static_cast<int>(bins);
}

/// Edges of bins around `centres`, which are evenly spaced in f, or in ln f. In a directory the histogram would replace the
/// user's of that name.
TH2D *Histogram(const Core::SignalMap &map, double step, bool logarithmic, const char *name, const char *title)
{
   const TDirectory::TContext none(nullptr);
   const int columns = Bins(map.times.size()), rows = Bins(map.frequencies.size());
   const auto &f = map.frequencies;
   std::vector<double> edges(rows + 1);
   const double distance = rows < 2 ? (logarithmic ? 0.1 : 1) : logarithmic ? std::log(f[1] / f[0]) : f[1] - f[0];
   for (int i = 0; i <= rows; ++i)
      edges[i] = logarithmic ? f[0] * std::exp((i - 0.5) * distance) : f[0] + (i - 0.5) * distance;
   const double first = map.times[0] - 0.5 * step;
   auto *histogram = new TH2D(name, title, columns, first, first + columns * step, rows, edges.data());
   histogram->SetStats(false);
   for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x)
         histogram->SetBinContent(x + 1, y + 1, map.values[std::size_t(y) * columns + x]);
   return histogram;
}

} // namespace

Bounds SearchBounds(const std::vector<MatchedFilter> &bank, double snr, double begin, double end,
                    const std::vector<double> &falseAlarms, std::size_t noiseWindows, std::size_t signalWindows,
                    std::uint64_t seed)
{
   return LongCall("CladTorch::Signal::SearchBounds", [&] {
      const auto filters = Internal::FilterData::Bank(bank);
      const auto found = Core::search_bounds(*filters, snr, begin, end, Slice(falseAlarms), noiseWindows,
                                             signalWindows, seed);
      return Bounds{Made(found.bayes), Made(found.maximised)};
   });
}

TH2D *Spectrogram(const std::vector<double> &strain, double rate, std::size_t segment, std::size_t stride)
{
   return LongCall("CladTorch::Signal::Spectrogram", [&] {
      const auto map = Core::spectrogram(Slice(strain), rate, segment, stride);
      return Histogram(map, stride / rate, false, "spectrogram",
                       "Spectrogram;Time [s];Frequency [Hz];Power spectral density [Hz^{-1}]");
   });
}

TH2D *QTransform(const std::vector<double> &whitened, double rate, double quality, double low, double high,
                 std::size_t frequencies, std::size_t times)
{
   return LongCall("CladTorch::Signal::QTransform", [&] {
      const auto map = Core::q_transform(Slice(whitened), rate, quality, low, high, frequencies, times);
      return Histogram(map, whitened.size() / rate / map.times.size(), true, "q_transform",
                       "Q-transform;Time [s];Frequency [Hz];Normalised energy");
   });
}

} // namespace Signal
} // namespace CladTorch
