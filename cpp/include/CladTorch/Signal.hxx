/// \file CladTorch/Signal.hxx
/// \brief Signals in coloured Gaussian noise: spectra, whitening, waveforms and the exact detection bounds.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_SIGNAL
#define CLADTORCH_SIGNAL

#include <ROOT/RVec.hxx>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

/// Signal processing in float64.
///
/// Strain is dimensionless, times are in s, frequencies and sampling rates in Hz, power spectral densities in 1/Hz.
/// A series has an even number n of samples; its spectra have n/2 + 1 bins at the frequencies k rate/n. Densities are
/// one-sided at every bin, the first and the last too: white noise of variance s^2 has 2 s^2/rate throughout.
///
/// ~~~{.cpp}
/// namespace Signal = CladTorch::Signal;
/// auto psd = Signal::DetectorPsd(256, 512);
/// auto chirp = Signal::ScaleToSnr(Signal::Chirp(256, 512, 15, 45, 0.4), psd, 512, 6);
/// auto best = Signal::AucBound(6, Signal::kUnknownPhase);
/// ~~~
///
/// All functions throw CladTorch::Error on sizes that do not fit, on NaN and on values outside their range.
namespace Signal {

/// Whether the test knows the signal's phase. Otherwise it is uniform on the circle.
enum EPhase {
   kUnknownPhase = 0,
   kKnownPhase = 1,
};

/// [samples/2 + 1], the design sensitivity of Advanced LIGO, constant below 20 Hz
/// (Sathyaprakash and Schutz, Living Rev. Relativ. 12 (2009) 2, table 1).
std::vector<double> DetectorPsd(std::size_t samples, double rate);

/// [segment/2 + 1], the power spectral density of `strain` (any length from `segment`): mean of the periodograms of
/// Hann-windowed segments that overlap by half (Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70).
std::vector<double> Welch(const std::vector<double> &strain, std::size_t segment, double rate);

/// [n], Gaussian noise of the density `psd` ([n/2 + 1]) with period n; the same seed gives the same bits. For windows
/// that must not be periodic, cut them from a much longer series.
std::vector<double> Noise(const std::vector<double> &psd, double rate, std::uint64_t seed);

/// [n], `strain` ([n]) divided by the amplitude spectrum of `psd` ([n/2 + 1]), without unit: Gaussian noise of that
/// density becomes independent samples of variance 1. The series is taken as periodic.
std::vector<double> Whiten(const std::vector<double> &strain, const std::vector<double> &psd, double rate);

/// [samples], the inspiral of two equal masses at Newtonian order (Maggiore, Gravitational Waves 1, 2008, sec. 4.1),
/// from `start` Hz to the innermost stable circular orbit, with a peak of about 1.
/// \param chirpMass In solar masses.
/// \param coalescence Time of coalescence in s after the first sample.
std::vector<double> Chirp(std::size_t samples, double rate, double chirpMass, double start, double coalescence);

/// [samples], exp(-t^2/tau^2) cos(2 pi f t) with tau = Q/(sqrt(2) pi f) and t counted from `arrival` (s)
/// (Abbott et al., Phys. Rev. D 69 (2004) 102001).
/// \param frequency f in Hz.
/// \param quality Q, without unit.
std::vector<double>
SineGaussian(std::size_t samples, double rate, double frequency, double quality, double arrival);

/// [n], `strain` ([n]) with every frequency shifted by `phase` rad. Two copies a quarter turn apart have equal SNR and
/// are orthogonal in any stationary noise. The mean and the Nyquist bin are dropped: they have no phase.
std::vector<double> PhaseShift(const std::vector<double> &strain, double phase);

/// Optimal signal-to-noise ratio of the waveform `strain` ([n]), rho^2 = 4 integral |h(f)|^2 / S(f) df, `psd` being
/// [n/2 + 1]. It is the Euclidean norm of the whitened waveform.
double Snr(const std::vector<double> &strain, const std::vector<double> &psd, double rate);

/// [n], `strain` ([n]) times the factor that makes its Snr() equal `snr`.
std::vector<double>
ScaleToSnr(const std::vector<double> &strain, const std::vector<double> &psd, double rate, double snr);

/// Largest area under the ROC curve that any test of a signal of known shape and arrival time can have (Neyman and
/// Pearson 1933): Phi(rho/sqrt(2)), or 1 - exp(-rho^2/4)/2 at unknown phase.
/// \param snr rho, of [0, 100].
double AucBound(double snr, EPhase phase);

/// Largest detection probability of any such test at the false-alarm probability `falseAlarm`:
/// Phi(rho - Phi^-1(1 - FAP)), or Marcum's Q1(rho, sqrt(-2 ln FAP)) at unknown phase.
double EfficiencyBound(double snr, double falseAlarm, EPhase phase);

/// Whiten() for `RDataFrame::Define`, cut to the part that the ends of the window do not reach:
/// `frame.Define("whitened", Signal::Whitener(psd, rate, 64, 128), {"strain"})`. It may be called from several threads
/// at once.
class Whitener {
public:
   /// \param psd [n/2 + 1], for windows of n samples.
   /// \param rate Sampling rate in Hz.
   /// \param first First sample kept.
   /// \param length Samples kept.
   Whitener(const std::vector<double> &psd, double rate, std::size_t first, std::size_t length);

   /// [n] to [length]
   ROOT::RVecF operator()(const ROOT::RVecF &strain) const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::vector<double> fPsd;
   double fRate;
   std::size_t fFirst;
   std::size_t fLength;
};

} // namespace Signal
} // namespace CladTorch

#endif
