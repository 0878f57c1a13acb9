/// \file CladTorch/Continuous.hxx
/// \brief Continuous searches: long strain whitened, networks slid over it, candidates, and how far a search sees.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_CONTINUOUS
#define CLADTORCH_CONTINUOUS

#include <CladTorch/Model.hxx>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

namespace Internal {
struct ModelData;
struct NetworkFilterData;
}

namespace Signal {

/// [n - filter], `strain` (an even number n of samples) whitened in blocks of `block` samples: each by its own density, as
/// WhitenByOwn() does. Neighbouring blocks overlap by the filter, so that no sample between them is lost. Computes on all threads.
/// \param block Even; a shorter series is one block. Longer blocks give densities that fluctuate less but follow the
///        detector later: 64 s with segments of 0.5 s is usual.
/// \param segment Samples of a segment of Welch's estimate.
/// \param filter Samples of the whitening filter, of which half are dropped at each end of the series.
/// \param lowest In Hz: lower frequencies are taken out.
std::vector<double> WhitenInBlocks(const std::vector<double> &strain, double rate, std::size_t block, std::size_t segment,
                                   std::size_t filter, double lowest = 0);

/// A network that was trained on windows, slid over long series.
///
/// ~~~{.cpp}
/// Signal::NetworkFilter filter(model, 192, 2);       // a window of two detectors every 192 samples
/// auto scores = filter.Scores({whiteH1, whiteL1});   // one for each window
/// auto found = Signal::FindCandidates(scores, gps + 0.6, 192 / rate, 0);
/// ~~~
/// Time-invariant layers run once over long pieces of the series, as one convolution, and only what follows them
/// (Flatten and Linear, or a pool over the window) runs for each window: at a stride of a tenth of the window this is
/// about a tenth of the arithmetic. Scores are those of Model::Logits() within the rounding of float32. It may be
/// called from several threads at once.
///
/// Time-invariant layers are convolutions and pools without padding, batch normalisation, dropout, and element-wise
/// functions. A network with any other first layer, a stride that is not a multiple of the product of the
/// layers' strides, a network that standardises its features (fit with `FitOptions::fStandardise = false`) and one that LibTorch
/// runs are computed window by window: Obstacle() says why.
class NetworkFilter {
public:
   /// \param model Takes windows [detectors, samples], for one detector [1, samples]. Later changes of it have no
   ///        effect.
   /// \param stride Samples between the beginnings of two windows, up to a window.
   /// \param detectors Number of series.
   NetworkFilter(const Model &model, std::size_t stride, std::size_t detectors = 1);
   // Not movable: a moved-from object would hold a null pointer.
   NetworkFilter(const NetworkFilter &) = default;
   NetworkFilter &operator=(const NetworkFilter &) = default;

   /// [1 + (n - Window()) / stride, C] row-major: the logits of the windows in order of time, on all threads.
   /// \param series n samples for each detector, whitened like the windows that the network was trained on.
   std::vector<float> Scores(const std::vector<std::vector<double>> &series) const;

   /// Samples of a window of one detector.
   std::size_t Window() const;
   /// Why each window is computed by itself; empty: the network slides as one convolution.
   std::string Obstacle() const;
   /// Number of multiplications for a long series, relative to computing each of its windows by itself.
   double Arithmetic() const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class OnlineSearch;

   static const Internal::ModelData &Data(const Model &model);

   std::shared_ptr<const Internal::NetworkFilterData> fData;
};

/// A time at which a search sees something. In Python: `Candidate(fTime=1e9, fStatistic=7)`.
struct Candidate {
   double fTime = 0;      ///< s
   double fStatistic = 0; ///< what the search ranks by

   /// Called by PyROOT when it meets this class: takes fields by name, checks them, copies, pickles.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// A signal that was put into strain. In Python: `Injection(fTime=1e9, fDistance=800, fChirpMass=25)`.
struct Injection {
   double fTime = 0;      ///< of the coalescence, s
   double fDistance = 1;  ///< Mpc
   double fChirpMass = 1; ///< solar masses

   /// Called by PyROOT when it meets this class: takes fields by name, checks them, copies, pickles.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// How far a search sees at a false-alarm rate.
struct Sensitivity {
   double fRate = 0;          ///< false alarms per s
   double fThreshold = 0;     ///< what candidates have to exceed
   double fFraction = 0;      ///< share of the injections that are found
   double fFractionError = 0; ///< its standard error
   double fDistance = 0;      ///< Mpc, radius of a sphere of the sensitive volume
   double fDistanceError = 0; ///< its standard error, of the finite number of injections

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// The largest of each cluster of scores above `threshold`, in order of time. Scores belong to one cluster as long as no more than
/// `gap` lies between two above the threshold.
/// \param scores Of one output, as NetworkFilter::Scores() gives them.
/// \param start Time of the first score, in s: the start of its window plus the place of the signals in the training
///        windows.
/// \param step Between two scores, in s.
std::vector<Candidate>
FindCandidates(const std::vector<float> &scores, double start, double step, double threshold, double gap = 0.35);

/// [rates.size()], how far a search sees, as the mock-data challenge MLGWSC-1 defines it (Phys. Rev. D 107 (2023) 023021).
///
/// An injection is found if a candidate of the foreground above the threshold is within the tolerance of it, and nearer to it than
/// to any other. The sensitive volume is 4/3 pi d^3, d being the largest distance of an injection, times the mean over the injections of
/// 1 (found) or 0, weighted by (chirp mass/largest chirp mass)^(5/2). The injections must therefore be uniform in the
/// cube of the chirp distance, d (1.22/chirp mass)^(5/6), or, with one chirp mass for all, in that of the distance.
/// \param foreground Candidates in strain with injections.
/// \param background Candidates in noise of the same kind and length, without them.
/// \param duration Of the background, in s.
/// \param rates False alarms per s, each at least 1/duration: rate * duration candidates of the background (rounded
///        down) pass the threshold.
/// \param tolerance In s.
std::vector<Sensitivity> SensitiveDistance(const std::vector<Candidate> &foreground, const std::vector<Candidate> &background,
                                           const std::vector<Injection> &injections, double duration,
                                           const std::vector<double> &rates, double tolerance = 0.2);

/// Writes an HDF5 file as MLGWSC-1's `evaluate.py` reads it, with the datasets `time`, `stat` and `var` (the tolerance, s).
void WriteCandidates(const std::string &file, const std::vector<Candidate> &candidates, double tolerance = 0.2);

} // namespace Signal
} // namespace CladTorch

#endif
