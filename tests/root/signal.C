// CladTorch::Signal from C++: numbers arrive whole, and what does not fit arrives as CladTorch::Error.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Signal.hxx>

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
   Refuses("a negative probability",
           [&] { Signal::EfficiencyBound(3, -1, Signal::kKnownPhase); }, {"false-alarm probability"});
}

void signal()
{
   CheckNumbers();
   CheckErrors();
   Passed();
}
