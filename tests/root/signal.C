// CladTorch::Signal from C++: numbers arrive intact, and unsuitable arguments cause a CladTorch::Error.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Signal.hxx>

#include <ROOT/RDataFrame.hxx>
#include <TH2D.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numeric>

#include "check.h"

using namespace CladTorch;

void CheckNumbers()
{
   const double rate = 512;
   const auto psd = Signal::DetectorPsd(256, rate);
   const auto wave = Signal::ScaleToSnr(Signal::SineGaussian(256, rate, 100, 9, 0.25), psd, rate, 5);
   CHECK(psd.size() == 129 && wave.size() == 256);
   CHECK(Near(Signal::Snr(wave, psd, rate), 5, 1e-10));

   const auto white = Signal::Whiten(wave, psd, rate);
   double power = 0;
   for (double x : white)
      power += x * x;
   CHECK(Near(power, 25, 1e-9));

   const auto cut = Signal::Whitener(psd, rate, 64, 128)(ROOT::RVecF(wave.begin(), wave.end()));
   CHECK(cut.size() == 128 && Near(cut[64], white[128], 1e-5));

   CHECK(Signal::Noise(psd, rate, 4) == Signal::Noise(psd, rate, 4));
   CHECK(Signal::Welch(Signal::Noise(psd, rate, 4), 64, rate).size() == 33);
   CHECK(Near(Signal::AucBound(2, Signal::kUnknownPhase), 0.8161, 5e-5));
   CHECK(Near(Signal::EfficiencyBound(3, 0.01, Signal::kKnownPhase), 0.750, 5e-4));
}

void CheckSpectra()
{
   const double rate = 512;
   const auto psd = Signal::DetectorPsd(4096, rate, Signal::kZeroDetunedHighPower);
   const auto strain = Signal::Noise(psd, rate, 4);
   const auto median = Signal::Welch(strain, 256, rate, Signal::kMedian, Signal::kBlackman);
   CHECK(median.size() == 129 && Signal::InterpolatePsd(median, 4096).size() == psd.size());
   CHECK(Near(median[40] / psd[640], 1, 0.6));
   CHECK(Near(Signal::Window(Signal::kTukey, 64, 0.5)[8], 0.5, 1e-12));
   CHECK(Near(Signal::Window(Signal::kTukey, 64, 0)[1], 1, 1e-12));

   const auto filter = Signal::TruncateInverse(psd, rate, 128, 15);
   CHECK(filter.size() == psd.size() && Signal::Whiten(strain, filter, rate).size() == 4096);
   CHECK(Signal::WhitenByOwn(strain, rate, 256, 128, 15).size() == 4096 - 128);
   const auto band = Signal::Notch(Signal::BandPass(strain, rate, 30, 200), rate, 60, 2);
   CHECK(Signal::Welch(band, 4096, rate)[80] < 1e-4 * Signal::Welch(strain, 4096, rate)[80]); // 10 Hz
}

void CheckWaveforms()
{
   Signal::Binary source;
   source.fMass1 = 36;
   source.fMass2 = 29;
   const auto spectrum = Signal::BinarySpectrum(source, Signal::kPhenomD, {10, 50, 100, 1e4});
   CHECK(spectrum.size() == 4 && spectrum[0] == 0. && spectrum[3] == 0. && std::abs(spectrum[1]) > std::abs(spectrum[2]));
   const auto strain = Signal::BinaryStrain(source, Signal::kPhenomD, 1024, 1024, 0.8);
   const auto peak = std::max_element(strain.begin(), strain.end()) - strain.begin();
   CHECK(strain.size() == 1024 && Near(peak / 1024., 0.8, 0.02));
   CHECK(Signal::BinaryStrain({10, 3}, Signal::kTaylorF2, 1024, 1024, 0.8).size() == 1024);
   CHECK(Near(Signal::Ringdown(64, 512, 100, 5, 0.0625)[32], 1, 1e-12));
   CHECK(Near(Signal::Blip(64, 512, 100, 0.0625)[32], 1, 1e-12));
   CHECK(Signal::ScatteredLight(1024, 512, 0.5, 50, 1).size() == 1024);
   CHECK(Near(Signal::SineGaussianFisher(std::vector<double>(2049, 2. / 4096), 4096, 0.5, 0.5, 0, 300, 0.05)[0],
              4096 * 0.05 * std::sqrt(M_PI / 8), 1e-6));
}

void CheckSearch()
{
   const double rate = 512;
   const auto psd = Signal::DetectorPsd(256, rate);
   const auto chirp = Signal::Chirp(256, rate, 15, 45, 0.4);
   const Signal::MatchedFilter filter(chirp, psd, rate, 0.4);
   const auto strain = Signal::ScaleToSnr(chirp, psd, rate, 9);
   const auto found = filter.Max(strain, 0.1, 0.5);
   CHECK(Near(found.fSnr, 9, 0.05) && Near(found.fTime, 0.4, 1 / rate) && found.fChiSquared < 0.1);
   const auto series = filter.Series(strain);
   CHECK(series.size() == 256 && Near(*std::max_element(series.begin(), series.end()), found.fSnr, 1e-6));

   // As a column, with copies of the filter on every thread.
   ROOT::RDataFrame frame(20);
   auto best = frame.Define("strain", [&] { return ROOT::RVecF(strain.begin(), strain.end()); })
                  .Define("snr", filter, {"strain"})
                  .Define("best", "Max(snr)")
                  .Mean("best");
   CHECK(Near(*best, found.fSnr, 1e-3));

   const auto bounds = Signal::SearchBounds({filter, filter}, 5, 0, 0.2, {0.1, 0.01}, 2000, 2000, 3);
   CHECK(Near(bounds.fBayes.fAuc, 0.988, 5 * bounds.fBayes.fAucError + 0.001));
   CHECK(bounds.fMaximised.fEfficiencies.size() == 2 && bounds.fBayes.fEfficiencyErrors[1] > 0);
   CHECK(Near(Signal::BayesStatistic({0}, 3), -4.5, 1e-12));

   std::unique_ptr<TH2D> map(Signal::Spectrogram(Signal::Noise(Signal::DetectorPsd(8192, rate), rate, 1), rate, 128, 64));
   CHECK(map->GetNbinsX() == 127 && map->GetNbinsY() == 65 && map->GetDirectory() == nullptr);
   CHECK(Near(map->GetXaxis()->GetBinCenter(1), 64 / rate, 1e-9) && Near(map->GetYaxis()->GetBinCenter(3), 8, 1e-9));
   const auto tone = Signal::SineGaussian(4096, rate, 60, 8, 5);
   std::unique_ptr<TH2D> energy(Signal::QTransform(tone, rate, 8, 20, 150, 50, 1024));
   int x, y, z;
   energy->GetBinXYZ(energy->GetMaximumBin(), x, y, z);
   CHECK(Near(energy->GetXaxis()->GetBinCenter(x), 5, 0.05) && Near(energy->GetYaxis()->GetBinCenter(y), 60, 4));
}

void CheckDetectors()
{
   const double gps = 1126259462.4;
   const auto [plus, cross] = Signal::AntennaPattern("H1", 1, 0.3, 0.5, gps);
   CHECK(plus * plus + cross * cross < 1);
   CHECK(std::abs(Signal::Delay("H1", 1, 0.3, gps) - Signal::Delay("L1", 1, 0.3, gps)) < 0.01002);
   const auto wave = Signal::SineGaussian(256, 512, 100, 9, 0.25);
   CHECK(Near(Signal::Project(wave, wave, 512, "V1", 1, 0.3, 0.5, gps).size(), 256, 0));
   CHECK(Near(Signal::NetworkSnr({3, 4}), 5, 1e-12));
   // One seed for all detectors is not a mistake here.
   const std::vector<double> white(4097, 2. / 512);
   const auto h = Signal::DetectorNoise("H1", white, 512, 1), l = Signal::DetectorNoise("L1", white, 512, 1);
   CHECK(std::abs(std::inner_product(h.begin(), h.end(), l.begin(), 0.) / 8192) < 4.5 / std::sqrt(8192.));
}

void CheckCoherentSearch()
{
   const double rate = 512;
   const auto psd = Signal::DetectorPsd(256, rate);
   const auto wave = [rate](double phase, double time) { return Signal::PhaseShift(Signal::Chirp(256, rate, 15, 50, time), phase); };
   const Signal::MatchedFilter filter(wave(0, 0.4), psd, rate, 0.4);
   const auto responses = Signal::DrawResponses({"H1", "L1"}, 50, 2);
   CHECK(responses.size() == 50 && responses[7].fAmplitudes.size() == 2 && responses[7].fDelays.size() == 2);
   const Signal::CoherentSearch search({filter, filter}, responses, 0.36, 0.44, 5, 15);
   std::vector<double> strain;
   for (int d = 0; d < 2; ++d) {
      const auto amplitude = responses[7].fAmplitudes[d];
      const auto signal = Signal::ScaleToSnr(wave(std::arg(amplitude), 0.4 + responses[7].fDelays[d]), psd, rate, 10 * std::abs(amplitude));
      strain.insert(strain.end(), signal.begin(), signal.end());
   }
   const auto loudest = search.Loudest(strain);
   CHECK(loudest.size() == 2 && Near(loudest[0], 10, 0.3) && loudest[0] == loudest[1]);
   // Without noise the logarithm is about half the square of the SNR, less the cost of the unknowns.
   const double statistic = search.Statistic(strain);
   CHECK(statistic > 30 && statistic < 50);
   const auto column = search(ROOT::RVecF(strain.begin(), strain.end()));
   CHECK(column.size() == 3 && Near(column[0], statistic, 1e-4) && Near(column[2], loudest[1], 1e-5));

   // One detector: the statistic of its series.
   const Signal::CoherentSearch alone({filter}, {Signal::Response()}, 0, 0.5, 5, 5);
   const std::vector<double> one(strain.begin(), strain.begin() + 256);
   CHECK(Near(alone.Statistic(one), Signal::BayesStatistic(filter.Series(one), 5), 1e-3));
   Refuses("responses of one and of two detectors",
           [&] { Signal::CoherentSearch({filter}, {Signal::Response(), responses[0]}, 0, 0.5, 5, 5); }, {"a response has 2 amplitudes"});
   Refuses("an unknown detector of a network", [&] { Signal::DrawResponses({"H1", "K2"}, 5); }, {"detector 'K2' is unknown"});
   Refuses("a window of one detector", [&] { search.Statistic(one); }, {"strain has 256 samples", "256 of each of 2"});
}

void CheckErrors()
{
   const auto psd = Signal::DetectorPsd(256, 512);
   Refuses("noise without a density", [&] { Signal::Noise({}, 512, 1); }, {"0 samples"});
   Refuses("a density of another size",
           [&] { Signal::Whiten(std::vector<double>(128), psd, 512); }, {"129 bins for a series of 128"});
   Refuses("NaN as a frequency", [&] { Signal::Chirp(256, 512, 15, NAN, 0.36); }, {"start frequency"});
   Refuses("a cut beyond the window",
           [&] { Signal::Whitener(psd, 512, 200, 100); }, {"does not fit into a window of 256"});
   Refuses("a sampling rate of 0", [&] { Signal::Whitener(psd, 0, 64, 128); }, {"sampling rate"});
   Refuses("a cut from nothing", [&] { Signal::Whitener({}, 512, 0, 1); }, {"window of 0"});
   Refuses("a window of another size", [&] { Signal::Whitener(psd, 512, 64, 128)(ROOT::RVecF(255)); }, {"255 samples"});
   Refuses("a negative mass", [&] { Signal::BinaryStrain({-3}, Signal::kPhenomD, 256, 512, 0.1); }, {"mass 1", "-3"});
   Refuses("a waveform of years", [&] { Signal::BinaryStrain({1, 1, 0, 0, 1, 0, 0.01}, Signal::kTaylorF2, 256, 512, 0.1); },
           {"the waveform lasts", "raise the start frequency"});
   Refuses("an unknown approximant", [&] { Signal::BinarySpectrum({}, Signal::EApproximant(7), {50}); },
           {"approximant 7 is unknown"});
   Refuses("an unknown detector", [&] { Signal::Delay("G1", 0, 0, 1e9); }, {"detector 'G1' is unknown", "H1, L1, V1"});
   Refuses("a filter for other windows",
           [&] { Signal::MatchedFilter(Signal::Blip(256, 512, 50, 0.1), psd, 512).Series({1, 2}); }, {"2 samples"});
   Refuses("a band upside down", [&] { Signal::QTransform(std::vector<double>(4096), 4096, 8, 150, 20); },
           {"from 150 to 20 Hz", "lowest one first"});
   Refuses("a bank without templates", [&] { Signal::SearchBounds({}, 5, 0, 0.1, {0.1}, 1000, 1000); }, {"no template"});
   Refuses("a spectrogram of nothing", [&] { Signal::Spectrogram({}, 512, 64, 32); }, {"strain has 0 samples"});
   Refuses("a negative probability",
           [&] { Signal::EfficiencyBound(3, -1, Signal::kKnownPhase); }, {"false-alarm probability"});
}

void signal()
{
   CheckNumbers();
   CheckSpectra();
   CheckWaveforms();
   CheckSearch();
   CheckDetectors();
   CheckCoherentSearch();
   CheckErrors();
   Passed();
}
