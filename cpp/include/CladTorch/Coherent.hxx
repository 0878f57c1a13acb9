/// \file CladTorch/Coherent.hxx
/// \brief Searches of several detectors together for signals of unknown template, arrival, direction and SNR.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_COHERENT
#define CLADTORCH_COHERENT

#include <CladTorch/Search.hxx>

#include <ROOT/RVec.hxx>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

namespace Internal {
struct CoherentData;
}

namespace Signal {

/// How detectors see one source: the strain of detector d is Re(a h(t - delay)), a being its amplitude and h the wave's plus
/// polarisation with the cross polarisation of a face-on orbit as its imaginary part. It equals |a| times
/// BinaryStrain() with fPhase = arg(a) and the coalescence later by the delay. By default: one detector that sees the
/// wave itself.
struct Response {
   std::vector<std::complex<double>> fAmplitudes = {1}; ///< [detectors], without unit
   std::vector<double> fDelays = {0};                   ///< [detectors], s after the arrival at the centre of the Earth

   /// Called by PyROOT when it meets this class: takes fields by name, checks them, copies, pickles.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// [count], sources uniform over the sky, the orientation of the orbit and its phase. The squares of a source's
/// amplitudes sum to 1: with equal noise, scale each detector's wave to the network SNR times |a|. The same seed gives
/// the same sources; a longer list begins with the shorter one.
/// \param detectors Names, as {"H1", "L1"}.
std::vector<Response>
DrawResponses(const std::vector<std::string> &detectors, std::size_t count, std::uint64_t seed = 1);

/// A search for any of several templates, at any arrival in a range, seen in any of several ways.
///
/// ~~~{.cpp}
/// auto responses = Signal::DrawResponses({"H1", "L1"}, 400);
/// Signal::CoherentSearch search(bank, responses, 0.6, 0.8, 5, 15); // SNR uniform from 5 to 15
/// double rank = search.Statistic(strain);                          // the two windows one behind the other
/// ~~~
/// It may be called from several threads at once.
class CoherentSearch {
public:
   /// \param bank Templates, all equally likely, of one length n and one power spectral density, which is that of all detectors.
   /// \param responses How the detectors can see a source, all equally likely; the search uses the ratios of the amplitudes.
   /// \param begin, end Arrivals at the centre of the Earth, in s: from `begin` to before `end`, uniform.
   /// \param lowest, highest Network SNR of the signals, in [0, 100]; uniform.
   /// \param step Samples between the arrivals that are tried. Throws for one that loses more than 1 % of a template's power.
   CoherentSearch(const std::vector<MatchedFilter> &bank, const std::vector<Response> &responses, double begin, double end,
                  double lowest, double highest, std::size_t step = 1);
   // Not movable: a moved-from object would hold a null pointer.
   CoherentSearch(const CoherentSearch &) = default;
   CoherentSearch &operator=(const CoherentSearch &) = default;

   /// Logarithm of the likelihood ratio of such a signal to Gaussian noise, averaged over templates, arrivals, responses, phases
   /// and SNRs: no classifier ranks windows better (Neyman and Pearson), if bank and responses are as dense as the SNR
   /// can resolve.
   /// \param strain [detectors n], a window of each detector, one after the other.
   double Statistic(const std::vector<double> &strain) const;
   /// [templates], the largest network SNR of each: the root of the sum of the detectors' squares, at arrivals that they can have
   /// together.
   std::vector<double> Loudest(const std::vector<double> &strain) const;
   /// Both for `RDataFrame::Define`, in the time of one: [1 + templates], first Statistic(), then Loudest().
   ROOT::RVecF operator()(const ROOT::RVecF &strain) const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::shared_ptr<const Internal::CoherentData> fData;
};

} // namespace Signal
} // namespace CladTorch

#endif
