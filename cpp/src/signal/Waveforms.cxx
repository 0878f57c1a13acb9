#include <CladTorch/Guard.hxx>
#include <CladTorch/Waveforms.hxx>

#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/signal.rs.h"

namespace CladTorch {
namespace Signal {

using Internal::Copy;
using Internal::CopyComplex;
using Internal::LongCall;
using Internal::Slice;

namespace {

Core::SignalBinary Shared(const Binary &binary)
{
   return {{binary.fMass1, binary.fMass2},
           {binary.fSpin1, binary.fSpin2},
           binary.fDistance,
           binary.fPhase,
           binary.fStart};
}

} // namespace

std::vector<std::complex<double>>
BinarySpectrum(const Binary &binary, EApproximant approximant, const std::vector<double> &frequencies)
{
   return LongCall("CladTorch::Signal::BinarySpectrum", [&] {
      const auto parts = Core::signal_binary_spectrum(
         Shared(binary), static_cast<Core::SignalApproximant>(approximant), Slice(frequencies));
      return CopyComplex(parts);
   });
}

std::vector<double>
BinaryStrain(const Binary &binary, EApproximant approximant, std::size_t samples, double rate, double coalescence)
{
   return LongCall("CladTorch::Signal::BinaryStrain", [&] {
      return Copy(Core::signal_binary_strain(Shared(binary), static_cast<Core::SignalApproximant>(approximant), samples,
                                             rate, coalescence));
   });
}

std::vector<double> Ringdown(std::size_t samples, double rate, double frequency, double quality, double start)
{
   return LongCall("CladTorch::Signal::Ringdown",
                [&] { return Copy(Core::signal_ringdown(samples, rate, frequency, quality, start)); });
}

std::vector<double> Blip(std::size_t samples, double rate, double frequency, double arrival)
{
   return LongCall("CladTorch::Signal::Blip", [&] { return Copy(Core::signal_blip(samples, rate, frequency, arrival)); });
}

std::vector<double> ScatteredLight(std::size_t samples, double rate, double frequency, double highest, double arrival)
{
   return LongCall("CladTorch::Signal::ScatteredLight",
                [&] { return Copy(Core::signal_scattered_light(samples, rate, frequency, highest, arrival)); });
}

std::vector<double> SineGaussianFisher(const std::vector<double> &psd, double rate, double amplitude, double arrival,
                                       double phase, double frequency, double width)
{
   return LongCall("CladTorch::Signal::SineGaussianFisher", [&] {
      return Copy(Core::signal_sine_gaussian_fisher(Slice(psd), rate, amplitude, arrival, phase, frequency, width));
   });
}

} // namespace Signal
} // namespace CladTorch
