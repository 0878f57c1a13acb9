/// \file gw_injections.h
/// \brief Windows of detector noise with simulated signals, for gw_search.C and gw_search.py.

#ifndef CLADTORCH_GW_INJECTIONS
#define CLADTORCH_GW_INJECTIONS

#include <CladTorch/CladTorch.hxx>

#include <ROOT/RDataFrame.hxx>
#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace Signal = CladTorch::Signal;

/// A signal to be added to noise.
struct Source {
   double fMass1, fMass2;      ///< solar masses
   double fSnr;                ///< network SNR
   double fArrival;            ///< at the centre of the Earth, s after the first sample
   Signal::Response fResponse; ///< response of the detectors
};

/// The training set of a network, and the target of a search.
struct Recipe {
   std::vector<std::string> fDetectors = {"H1"}; ///< with a single one the wave itself is its strain
   double fRate = 2048;                          ///< Hz
   std::size_t fSamples = 2560;                  ///< of a window, for each detector
   std::size_t fLength = 2048;                   ///< of a window after whitening
   std::vector<double> fPsd;                     ///< of every detector
   double fBegin = 0, fEnd = 0;                  ///< arrivals, s after the first sample
   double fLowest = 5, fHighest = 15;            ///< network SNR
   double fMassLow = 10, fMassHigh = 50;         ///< solar masses
   std::size_t fTemplates = 1;                   ///< of the search
   std::size_t fStep = 1;                        ///< samples between the arrivals that the search tries
   /// The strain of masses 1 and 2 that arrives with a phase (rad) at a time (s).
   std::function<std::vector<double>(double, double, double, double)> fWave;
   std::function<std::vector<double>(const std::vector<double> &)> fWhiten;

   explicit Recipe() = default; // no braced list, for which PyROOT would look
};

/// The recipe of the first mock-data challenge's example (MLGWSC-1, Phys. Rev. D 107 (2023) 023021): black holes without spin in
/// two detectors, windows of 1.25 s that are whitened by their own density to 1 s. Orbits are oriented uniformly.
inline Recipe Challenge()
{
   Recipe recipe;
   recipe.fDetectors = {"H1", "L1"};
   recipe.fPsd = Signal::DetectorPsd(2560, 2048, Signal::kZeroDetunedHighPower);
   recipe.fBegin = 0.625; // 0.5 s after the part cut away by whitening
   recipe.fEnd = 0.825;
   recipe.fTemplates = 64;
   recipe.fStep = 2;
   recipe.fWave = [](double mass1, double mass2, double phase, double time) {
      Signal::Binary binary;
      binary.fMass1 = mass1;
      binary.fMass2 = mass2;
      binary.fPhase = phase;
      binary.fStart = 18; // Hz
      return Signal::BinaryStrain(binary, Signal::kPhenomD, 2560, 2048, time);
   };
   // Welch's segments of 0.5 s, a filter of 0.25 s, from 18 Hz on.
   recipe.fWhiten = [](const std::vector<double> &strain) { return Signal::WhitenByOwn(strain, 2048, 1024, 512, 18); };
   return recipe;
}

/// One chirp in one detector with known noise, at an arrival uniform over 0.2 s.
inline Recipe KnownMasses(double snr = 4.5)
{
   Recipe recipe;
   recipe.fRate = 512;
   recipe.fSamples = recipe.fLength = 256;
   recipe.fPsd = Signal::DetectorPsd(256, 512);
   recipe.fBegin = 0.28;
   recipe.fEnd = 0.48;
   recipe.fLowest = recipe.fHighest = snr;
   recipe.fWave = [](double, double, double phase, double time) {
      return Signal::PhaseShift(Signal::Chirp(256, 512, 15, 45, time), phase);
   };
   recipe.fWhiten = [psd = recipe.fPsd](const std::vector<double> &strain) { return Signal::Whiten(strain, psd, 512); };
   return recipe;
}

/// Draws the source `number` of a series. Sources of different series are independent.
inline Source Draw(const Recipe &recipe, unsigned series, ULong64_t number)
{
   TRandom3 random(1 + 8 * number + series);
   Source source;
   source.fMass1 = random.Uniform(recipe.fMassLow, recipe.fMassHigh);
   source.fMass2 = random.Uniform(recipe.fMassLow, recipe.fMassHigh);
   source.fSnr = random.Uniform(recipe.fLowest, recipe.fHighest);
   source.fArrival = std::ceil(random.Uniform(recipe.fBegin, recipe.fEnd) * recipe.fRate) / recipe.fRate;
   if (recipe.fDetectors.size() > 1)
      source.fResponse = Signal::DrawResponses(recipe.fDetectors, 1, 8 * number + series)[0];
   else
      source.fResponse.fAmplitudes = {std::polar(1., random.Uniform(2 * M_PI))};
   return source;
}

/// [detectors * samples], the detectors' strain of a source without noise, scaled to the network SNR fSnr within the
/// window.
inline std::vector<double> Strain(const Recipe &recipe, const Source &source)
{
   std::vector<double> all, snrs;
   for (std::size_t d = 0; d < recipe.fDetectors.size(); ++d) {
      const auto &amplitude = source.fResponse.fAmplitudes[d];
      auto wave = recipe.fWave(source.fMass1, source.fMass2, std::arg(amplitude), source.fArrival + source.fResponse.fDelays[d]);
      for (double &h : wave)
         h *= std::abs(amplitude);
      snrs.push_back(Signal::Snr(wave, recipe.fPsd, recipe.fRate));
      all.insert(all.end(), wave.begin(), wave.end());
   }
   const double scale = source.fSnr / Signal::NetworkSnr(snrs);
   for (double &h : all)
      h *= scale;
   return all;
}

/// Windows for `RDataFrame::Define`, of the column "rdfentry_": one of `every` holds a signal.
class Windows {
public:
   /// \param fresh Number of windows that are all made anew, noise and signals, each time that they are read; 0: they
   /// stay.
   Windows(const Recipe &recipe, unsigned series, unsigned every = 2, ULong64_t fresh = 0)
      : fRecipe(recipe), fSeries(series), fEvery(every), fReadings(std::make_shared<std::vector<unsigned>>(fresh))
   {
   }

   bool Label(ULong64_t entry) const { return entry % fEvery == 0; }
   /// Network SNR of the signal, 0 of noise; of windows that stay.
   float Snr(ULong64_t entry) const { return Label(entry) ? Draw(fRecipe, fSeries, entry).fSnr : 0; }

   /// [detectors * samples]
   ROOT::RVecF operator()(ULong64_t entry) const
   {
      const ULong64_t windows = fReadings->size();
      const ULong64_t number = windows ? entry + windows * (*fReadings)[entry]++ : entry;
      ROOT::RVecF strain;
      for (const auto &detector : fRecipe.fDetectors) {
         const auto noise = Signal::DetectorNoise(detector, fRecipe.fPsd, fRecipe.fRate, 8 * number + fSeries);
         strain.insert(strain.end(), noise.begin(), noise.end());
      }
      if (!Label(entry))
         return strain;
      const auto signal = Strain(fRecipe, Draw(fRecipe, fSeries, number));
      std::transform(strain.begin(), strain.end(), signal.begin(), strain.begin(), std::plus<double>());
      return strain;
   }

private:
   Recipe fRecipe;
   unsigned fSeries, fEvery;
   std::shared_ptr<std::vector<unsigned>> fReadings; ///< of each window
};

/// Whether a window contains a signal, 0 or 1, for `RDataFrame::Define`.
struct LabelOf {
   Windows fWindows;

   int operator()(ULong64_t window) const { return fWindows.Label(window); }
};

/// Its network SNR.
struct SnrOf {
   Windows fWindows;

   float operator()(ULong64_t window) const { return fWindows.Snr(window); }
};

/// Whitens each detector's window: [detectors * samples] to [detectors * length].
struct Whitening {
   Recipe fRecipe;

   ROOT::RVecF operator()(const ROOT::RVecF &strain) const
   {
      ROOT::RVecF all;
      for (auto begin = strain.begin(); begin != strain.end(); begin += fRecipe.fSamples) {
         const auto white = fRecipe.fWhiten({begin, begin + fRecipe.fSamples});
         all.insert(all.end(), white.begin(), white.end());
      }
      return all;
   }
};

/// The inputs of a perceptron: the largest SNR of each template, and the power of each detector's whitened window in
/// octaves.
struct Features {
   Recipe fRecipe;

   static constexpr int kOctaves = 4; ///< below 16, 32, 64 and 128 of 64 bins to half the sampling rate
   std::size_t Size() const { return fRecipe.fTemplates + kOctaves * fRecipe.fDetectors.size(); }

   /// \param ranks Results of the search.
   ROOT::RVecF operator()(const ROOT::RVecF &ranks, const ROOT::RVecF &white) const
   {
      ROOT::RVecF features(ranks.begin() + 1, ranks.end());
      for (auto begin = white.begin(); begin != white.end(); begin += fRecipe.fLength) {
         const auto psd = Signal::Welch({begin, begin + fRecipe.fLength}, 128, fRecipe.fRate);
         for (std::size_t first = 4; first < 64; first *= 2) {
            double power = 0;
            for (std::size_t k = first; k < 2 * first; ++k)
               power += psd[k] * fRecipe.fRate / (2 * first);
            features.push_back(std::log(power + 1e-6));
         }
      }
      return features;
   }
};

/// A search for the signals of a recipe: templates of evenly spread masses, and sources from all directions.
inline Signal::CoherentSearch MakeSearch(const Recipe &recipe)
{
   const double middle = 0.5 * (recipe.fBegin + recipe.fEnd), range = recipe.fMassHigh - recipe.fMassLow;
   std::vector<Signal::MatchedFilter> bank;
   for (std::size_t i = 0; i < recipe.fTemplates; ++i) {
      // Points that fill the square evenly: multiples of the inverse powers of the plastic number (Roberts 2018).
      const double mass1 = recipe.fMassLow + range * std::fmod(0.5 + i * 0.7548776662466927, 1);
      const double mass2 = recipe.fMassLow + range * std::fmod(0.5 + i * 0.5698402909980532, 1);
      bank.emplace_back(recipe.fWave(mass1, mass2, 0, middle), recipe.fPsd, recipe.fRate, middle);
   }
   const auto responses = recipe.fDetectors.size() > 1 ? Signal::DrawResponses(recipe.fDetectors, 500)
                                                       : std::vector<Signal::Response>(1);
   return Signal::CoherentSearch(bank, responses, recipe.fBegin, recipe.fEnd, recipe.fLowest, recipe.fHighest, recipe.fStep);
}

/// The whitened windows of a recipe as a stream: all are made anew for each epoch. A tree of labels is written to
/// `path`.
inline CladTorch::Stream FreshWindows(const Recipe &recipe, ULong64_t windows, const std::string &path)
{
   const Windows make(recipe, 0, 2, windows);
   {
      TFile file(path.c_str(), "RECREATE");
      TTree tree("labels", "Which windows hold a signal");
      int label;
      tree.Branch("label", &label);
      for (ULong64_t entry = 0; entry < windows; ++entry) {
         label = make.Label(entry);
         tree.Fill();
      }
      tree.Write();
   }
   auto frame = ROOT::RDataFrame("labels", path).Define("strain", make, {"rdfentry_"}).Define("white", Whitening{recipe}, {"strain"});
   CladTorch::Dataset data;
   data.Column("white", recipe.fDetectors.size() * recipe.fLength);
   return data.Stream().Add(frame, "label");
}

#endif
