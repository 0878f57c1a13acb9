/// \file CladTorch/Search.hxx
/// \brief Searches for signals in strain: matched filters, maps of time and frequency, and the reach of the best test.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_SEARCH
#define CLADTORCH_SEARCH

#include <ROOT/RVec.hxx>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct _object; // Python's PyObject
class TH2D;

namespace CladTorch {

namespace Internal {
struct FilterData;
}

namespace Signal {

/// The highest point of an SNR series.
struct Trigger {
   double fSnr = 0;        ///< modulus of the matched filter
   double fTime = 0;       ///< of the template's reference, in s after the first sample of the strain
   double fPhase = 0;      ///< how far the signal is ahead of the template, in rad
   double fChiSquared = 0; ///< per degree of freedom: 1 on average in Gaussian noise, with or without a signal

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// A template, whitened and normalised once, for windows of its length (FINDCHIRP, gr-qc/0509116).
///
/// ~~~{.cpp}
/// Signal::MatchedFilter filter(chirp, psd, 512, 0.4); // a chirp with its coalescence at 0.4 s
/// auto best = filter.Max(strain, 0.1, 0.5);
/// auto series = frame.Define("snr", filter, {"strain"}); // [n] for each window
/// ~~~
/// It may be called from several threads at once.
class MatchedFilter {
public:
   /// \param waveform [n], the template.
   /// \param psd [n/2 + 1], in 1/Hz.
   /// \param reference Time in the template, in s after its first sample, whose arrival is sought.
   MatchedFilter(const std::vector<double> &waveform, const std::vector<double> &psd, double rate,
                 double reference = 0);
   // Not movable: a moved-from object would hold a null pointer.
   MatchedFilter(const MatchedFilter &) = default;
   MatchedFilter &operator=(const MatchedFilter &) = default;

   /// [n] to [n]: the SNR of a signal whose reference arrives at each sample. In Gaussian noise its square is chi-squared
   /// with two degrees of freedom at any one sample. The series is taken as periodic.
   std::vector<double> Series(const std::vector<double> &strain) const;
   /// [n] to [n]: the same before the modulus is taken. The argument of a sample is how far a signal's phase is ahead of the
   /// template's; in noise the real and the imaginary part are normal with variance 1.
   std::vector<std::complex<double>> ComplexSeries(const std::vector<double> &strain) const;
   /// Series() for `RDataFrame::Define`.
   ROOT::RVecF operator()(const ROOT::RVecF &strain) const;
   /// The largest SNR of arrivals from `begin` (s) to before `end` (s), with the chi-squared test over `bands` frequency bands
   /// (Allen, Phys. Rev. D 71 (2005) 062001).
   Trigger Max(const std::vector<double> &strain, double begin, double end, std::size_t bands = 16) const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend struct Internal::FilterData;

   std::shared_ptr<const Internal::FilterData> fData;
};

/// The performance of a test, with standard errors.
struct Reach {
   double fAuc = 0;      ///< area under the ROC curve
   double fAucError = 0; ///< its standard error
   std::vector<double> fEfficiencies;      ///< detection probability at each false-alarm probability asked for
   std::vector<double> fEfficiencyErrors;  ///< their standard errors

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// The bounds that SearchBounds() finds.
struct Bounds {
   Reach fBayes;     ///< of BayesStatistic(): no classifier is better
   Reach fMaximised; ///< of the largest SNR over arrivals and templates

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// Logarithm of the mean of I0(rho z) exp(-rho^2/2) over `series`, the SNRs z at all arrival times and of all templates
/// that are possible: the best statistic for a signal of optimal SNR rho at unknown phase, arrival and template.
/// \param snr rho, in [0, 100].
double BayesStatistic(const std::vector<double> &series, double snr);

/// The performance of the best test on windows of Gaussian noise, by Monte Carlo on all threads. A signal has the shape
/// of one of the `bank`, a phase uniform on the circle and an arrival uniform over the samples from `begin` (s) to
/// before `end` (s); all have the optimal SNR `snr`. The same seed gives the same figures.
/// \param falseAlarms Each at least 1/noiseWindows.
Bounds SearchBounds(const std::vector<MatchedFilter> &bank, double snr, double begin, double end,
                    const std::vector<double> &falseAlarms, std::size_t noiseWindows, std::size_t signalWindows,
                    std::uint64_t seed = 1);

/// Densities in 1/Hz of Hann-windowed segments of `segment` samples every `stride` samples, against time (s, x) and frequency
/// (Hz, y). The histogram belongs to the caller.
TH2D *Spectrogram(const std::vector<double> &strain, double rate, std::size_t segment, std::size_t stride);

/// Normalised energy of the Q-transform (Chatterji et al., Class. Quantum Grav. 21 (2004) S1809) of a whitened series against
/// time (s, x) and frequency (Hz, y, logarithmic): exponential with mean 1 in Gaussian noise. The histogram belongs to the
/// caller.
/// \param whitened [n], as Whiten() gives it.
/// \param quality Q of the tiles, frequency over bandwidth.
/// \param low Lowest frequency in Hz.
/// \param high Highest frequency in Hz.
/// \param times Bins in time, an even number up to n; 0: as many as the highest frequency needs.
TH2D *QTransform(const std::vector<double> &whitened, double rate, double quality, double low, double high,
                 std::size_t frequencies = 100, std::size_t times = 0);

} // namespace Signal
} // namespace CladTorch

#endif
