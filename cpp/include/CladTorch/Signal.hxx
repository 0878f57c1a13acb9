/// \file CladTorch/Signal.hxx
/// \brief Signals in coloured Gaussian noise: spectra, filters, whitening, waveforms and the exact detection bounds.
/// Waveforms.hxx, Search.hxx, Coherent.hxx, Continuous.hxx, Online.hxx, Detectors.hxx
/// and Strain.hxx have the rest of the namespace.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_SIGNAL
#define CLADTORCH_SIGNAL

#include <CladTorch/Coherent.hxx>
#include <CladTorch/Continuous.hxx>
#include <CladTorch/Detectors.hxx>
#include <CladTorch/Online.hxx>
#include <CladTorch/Search.hxx>
#include <CladTorch/Strain.hxx>
#include <CladTorch/Waveforms.hxx>

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

/// A published sensitivity of Advanced LIGO.
enum EDesign {
   /// Analytic fit, constant below 20 Hz (Sathyaprakash and Schutz, Living Rev. Relativ. 12 (2009) 2, table 1).
   kAnalytic = 0,
   /// Zero-detuned signal recycling at high power (LIGO-T0900288), constant below 9 Hz and above 8192 Hz.
   kZeroDetunedHighPower = 1,
};

/// The shape of a window (Harris, Proc. IEEE 66 (1978) 51).
enum EWindow {
   kHann = 0,
   kTukey = 1, ///< flat, with a half cosine at each end
   kBlackman = 2,
};

/// How the periodograms of Welch's segments become one density.
enum EAverage {
   kMean = 0,   ///< least variance in Gaussian noise
   kMedian = 1, ///< insensitive to a loud glitch, its bias in Gaussian noise divided out (FINDCHIRP, gr-qc/0509116, app. B)
};

/// [samples/2 + 1], the power spectral density of a detector's design.
std::vector<double> DetectorPsd(std::size_t samples, double rate, EDesign design = kAnalytic);

/// [samples], a window with period `samples`.
/// \param fraction Of kTukey only: share of the length that rises or falls, 0 to 1.
std::vector<double> Window(EWindow shape, std::size_t samples, double fraction = 0.5);

/// [segment/2 + 1], the power spectral density of `strain` (any length from `segment`) from the periodograms of windowed
/// segments that overlap by half (Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70).
/// \param window A kTukey window rises and falls over half of its length.
std::vector<double> Welch(const std::vector<double> &strain, std::size_t segment, double rate,
                          EAverage average = kMean, EWindow window = kHann);

/// [samples/2 + 1], `psd` (any length) on the frequencies of a series of `samples` samples at the same sampling rate.
std::vector<double> InterpolatePsd(const std::vector<double> &psd, std::size_t samples);

/// [n/2 + 1], `psd` ([n/2 + 1]) changed so that whitening by it spoils `filter/2` samples at each end of a series and no more:
/// the whitening filter is cut to `filter` samples (FINDCHIRP, gr-qc/0509116, sec. VII).
/// \param lowest In Hz: lower frequencies are taken out of the filter.
std::vector<double>
TruncateInverse(const std::vector<double> &psd, double rate, std::size_t filter, double lowest = 0);

/// [n], Gaussian noise of the density `psd` ([n/2 + 1]) with period n; the same seed gives the same bits. For windows
/// that must not be periodic, cut them from a much longer series. For several detectors use DetectorNoise(), because
/// the same seed gives the same series.
std::vector<double> Noise(const std::vector<double> &psd, double rate, std::uint64_t seed);

/// [n], `strain` ([n]) divided by the amplitude spectrum of `psd` ([n/2 + 1]), without unit: Gaussian noise of that
/// density becomes independent samples of variance 1. The series is taken as periodic.
std::vector<double> Whiten(const std::vector<double> &strain, const std::vector<double> &psd, double rate);

/// [n - filter], `strain` ([n]) whitened by its own density: the median of Welch's segments of `segment` samples, with the
/// inverse spectrum truncated to `filter` samples, of which half are dropped at each end.
/// \param lowest In Hz: lower frequencies are taken out.
std::vector<double> WhitenByOwn(const std::vector<double> &strain, double rate, std::size_t segment, std::size_t filter,
                                double lowest = 0);

/// [n], `strain` ([n]) between `low` and `high` (Hz) without delay: gain 1/2 at the edges, 1.5e-5 an octave outside. 0 and half the
/// sampling rate leave that side open. The series is taken as periodic.
std::vector<double> BandPass(const std::vector<double> &strain, double rate, double low, double high);

/// [n], `strain` ([n]) without the line at `frequency` (Hz): gain 0 there, 1/2 at half the `width` (Hz) on each side.
std::vector<double> Notch(const std::vector<double> &strain, double rate, double frequency, double width);

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
/// \param snr rho, in [0, 100].
double AucBound(double snr, EPhase phase);

/// Largest detection probability of any such test at the false-alarm probability `falseAlarm`:
/// Phi(rho - Phi^-1(1 - FAP)), or Marcum's Q1(rho, sqrt(-2 ln FAP)) at unknown phase.
double EfficiencyBound(double snr, double falseAlarm, EPhase phase);

/// Whiten() for `RDataFrame::Define`, cut to the part that the ends of the window do not affect:
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
