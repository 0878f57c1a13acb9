/// \file CladTorch/Waveforms.hxx
/// \brief Waveforms of compact binaries, bursts and glitches.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_WAVEFORMS
#define CLADTORCH_WAVEFORMS

#include <complex>
#include <cstddef>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {
namespace Signal {

/// A model of a binary's waveform.
enum EApproximant {
   kTaylorF2 = 0, ///< inspiral: phase to 3.5PN, amplitude at leading order, to the innermost stable circular orbit
   kPhenomD = 1,  ///< inspiral, merger and ringdown (IMRPhenomD, arXiv:1508.07253), to Mf = 0.2
};

/// Two compact objects on circular orbits, spins along the orbit's axis, seen face-on.
///
/// ~~~{.cpp}
/// CladTorch::Signal::Binary source;
/// source.fMass1 = 36;
/// source.fMass2 = 29;
/// auto strain = CladTorch::Signal::BinaryStrain(source, CladTorch::Signal::kPhenomD, 4096, 2048, 1.6);
/// ~~~
/// In Python: `Binary(fMass1=36, fMass2=29)`.
struct Binary {
   double fMass1 = 30;     ///< solar masses in the detector's frame, 0.1 to 1000; mass ratio up to 100
   double fMass2 = 30;     ///< solar masses
   double fSpin1 = 0;      ///< dimensionless, -1 to 1
   double fSpin2 = 0;      ///< dimensionless, -1 to 1
   double fDistance = 100; ///< luminosity distance in Mpc
   double fPhase = 0;      ///< in rad; a quarter turn gives the cross polarisation from the plus
   double fStart = 20;     ///< lowest frequency in Hz

   /// Called by PyROOT when it meets this class: takes fields by name, checks them, copies, pickles.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// [frequencies.size()], the Fourier transform of the plus polarisation, integral h(t) exp(-2 pi i f t) dt in 1/Hz, with the
/// coalescence at time 0. 0 below the start frequency and above the end of the model.
/// \param frequencies In Hz, in any order.
std::vector<std::complex<double>>
BinarySpectrum(const Binary &binary, EApproximant approximant, const std::vector<double> &frequencies);

/// [samples], the strain of the plus polarisation. If the waveform is longer, the window holds its end. The spectrum
/// rises from 0 over the tenth below the start frequency.
/// \param coalescence Time of coalescence in s after the first sample.
std::vector<double>
BinaryStrain(const Binary &binary, EApproximant approximant, std::size_t samples, double rate, double coalescence);

/// [samples], exp(-pi f t/Q) cos(2 pi f t) from `start` (s) on, 0 before; t counts from there.
/// \param frequency f in Hz.
/// \param quality Q, without unit.
std::vector<double> Ringdown(std::size_t samples, double rate, double frequency, double quality, double start);

/// [samples], a short broad-band glitch, (1 - 2 x^2) exp(-x^2) with x = pi f t and t counted from `arrival` (s). Its spectrum
/// peaks at f.
/// \param frequency f in Hz.
std::vector<double> Blip(std::size_t samples, double rate, double frequency, double arrival);

/// [samples], an arch of scattered light, cos(2 pi f t) sin(F/f sin(2 pi f t)) for |t| < 1/(4 f), t counted from `arrival` (s)
/// (phase: Accadia et al., Class. Quantum Grav. 27 (2010) 194011).
/// \param frequency f, at which the scattering surface swings, in Hz.
/// \param highest F, the highest fringe frequency, in Hz.
std::vector<double>
ScatteredLight(std::size_t samples, double rate, double frequency, double highest, double arrival);

/// [5, 5] row by row, the Fisher matrix of A exp(-t^2/tau^2) cos(2 pi f t + phi) by A, arrival, phi, f and tau in that order, t
/// counting from `arrival` (s). Its inverse is the covariance of the parameters at high SNR.
/// \param psd [n/2 + 1], in 1/Hz.
/// \param width tau in s.
std::vector<double> SineGaussianFisher(const std::vector<double> &psd, double rate, double amplitude, double arrival,
                                       double phase, double frequency, double width);

} // namespace Signal
} // namespace CladTorch

#endif
