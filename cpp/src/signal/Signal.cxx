#include <CladTorch/Signal.hxx>
#include <CladTorch/Guard.hxx>

#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/signal.rs.h"

#include <stdexcept>
#include <string>

namespace CladTorch {
namespace Signal {

using Internal::Copy;
using Internal::Guard;
using Internal::LongCall;
using Internal::Slice;

std::vector<double> DetectorPsd(std::size_t samples, double rate, EDesign design)
{
   return LongCall("CladTorch::Signal::DetectorPsd", [&] {
      return Copy(Core::signal_detector_psd(samples, rate, static_cast<Core::SignalDesign>(design)));
   });
}

std::vector<double> Window(EWindow shape, std::size_t samples, double fraction)
{
   return LongCall("CladTorch::Signal::Window", [&] {
      return Copy(Core::signal_window(static_cast<Core::SignalWindow>(shape), samples, fraction));
   });
}

std::vector<double>
Welch(const std::vector<double> &strain, std::size_t segment, double rate, EAverage average, EWindow window)
{
   return LongCall("CladTorch::Signal::Welch", [&] {
      return Copy(Core::signal_welch(Slice(strain), segment, rate, static_cast<Core::SignalAverage>(average),
                                     static_cast<Core::SignalWindow>(window)));
   });
}

std::vector<double> InterpolatePsd(const std::vector<double> &psd, std::size_t samples)
{
   return LongCall("CladTorch::Signal::InterpolatePsd",
                [&] { return Copy(Core::signal_interpolate_psd(Slice(psd), samples)); });
}

std::vector<double> TruncateInverse(const std::vector<double> &psd, double rate, std::size_t filter, double lowest)
{
   return LongCall("CladTorch::Signal::TruncateInverse",
                [&] { return Copy(Core::signal_truncate_inverse(Slice(psd), rate, filter, lowest)); });
}

std::vector<double> BandPass(const std::vector<double> &strain, double rate, double low, double high)
{
   return LongCall("CladTorch::Signal::BandPass",
                [&] { return Copy(Core::signal_band_pass(Slice(strain), rate, low, high)); });
}

std::vector<double> Notch(const std::vector<double> &strain, double rate, double frequency, double width)
{
   return LongCall("CladTorch::Signal::Notch",
                [&] { return Copy(Core::signal_notch(Slice(strain), rate, frequency, width)); });
}

std::vector<double> WhitenByOwn(const std::vector<double> &strain, double rate, std::size_t segment, std::size_t filter,
                                double lowest)
{
   return LongCall("CladTorch::Signal::WhitenByOwn",
                [&] { return Copy(Core::signal_whiten_by_own(Slice(strain), rate, segment, filter, lowest)); });
}

std::vector<double> Noise(const std::vector<double> &psd, double rate, std::uint64_t seed)
{
   return LongCall("CladTorch::Signal::Noise", [&] { return Copy(Core::signal_noise(Slice(psd), rate, seed)); });
}

std::vector<double> Whiten(const std::vector<double> &strain, const std::vector<double> &psd, double rate)
{
   return LongCall("CladTorch::Signal::Whiten",
                [&] { return Copy(Core::signal_whiten(Slice(strain), Slice(psd), rate)); });
}

std::vector<double> Chirp(std::size_t samples, double rate, double chirpMass, double start, double coalescence)
{
   return LongCall("CladTorch::Signal::Chirp",
                [&] { return Copy(Core::signal_chirp(samples, rate, chirpMass, start, coalescence)); });
}

std::vector<double> SineGaussian(std::size_t samples, double rate, double frequency, double quality, double arrival)
{
   return LongCall("CladTorch::Signal::SineGaussian",
                [&] { return Copy(Core::signal_sine_gaussian(samples, rate, frequency, quality, arrival)); });
}

std::vector<double> PhaseShift(const std::vector<double> &strain, double phase)
{
   return LongCall("CladTorch::Signal::PhaseShift", [&] { return Copy(Core::signal_phase_shift(Slice(strain), phase)); });
}

double Snr(const std::vector<double> &strain, const std::vector<double> &psd, double rate)
{
   return LongCall("CladTorch::Signal::Snr", [&] { return Core::signal_snr(Slice(strain), Slice(psd), rate); });
}

std::vector<double>
ScaleToSnr(const std::vector<double> &strain, const std::vector<double> &psd, double rate, double snr)
{
   return LongCall("CladTorch::Signal::ScaleToSnr",
                [&] { return Copy(Core::signal_scale_to_snr(Slice(strain), Slice(psd), rate, snr)); });
}

double AucBound(double snr, EPhase phase)
{
   return Guard("CladTorch::Signal::AucBound", [&] { return Core::signal_auc_bound(snr, phase == kKnownPhase); });
}

double EfficiencyBound(double snr, double falseAlarm, EPhase phase)
{
   return Guard("CladTorch::Signal::EfficiencyBound",
                [&] { return Core::signal_efficiency_bound(snr, falseAlarm, phase == kKnownPhase); });
}

Whitener::Whitener(const std::vector<double> &psd, double rate, std::size_t first, std::size_t length)
   : fPsd(psd), fRate(rate), fFirst(first), fLength(length)
{
   LongCall("CladTorch::Signal::Whitener", [&] {
      const std::size_t samples = psd.empty() ? 0 : 2 * (psd.size() - 1);
      if (length == 0 || first > samples || length > samples - first)
         throw std::invalid_argument("a cut of " + std::to_string(length) + " samples from sample " +
                                     std::to_string(first) + " on does not fit into a window of " +
                                     std::to_string(samples) + ", the density's; move or shorten the cut");
      // Whitening silence reveals an invalid density or rate before an event loop does.
      Core::signal_whiten(Slice(std::vector<double>(samples)), Slice(psd), rate);
   });
}

ROOT::RVecF Whitener::operator()(const ROOT::RVecF &strain) const
{
   return Guard("CladTorch::Signal::Whitener", [&] {
      const auto white = Core::signal_whiten(Slice({strain.begin(), strain.end()}), Slice(fPsd), fRate);
      const auto first = white.begin() + fFirst;
      return ROOT::RVecF(first, first + fLength);
   });
}

} // namespace Signal
} // namespace CladTorch
