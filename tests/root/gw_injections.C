/// \file gw_injections.C
/// \brief The windows of gw_search.C: noise, SNRs and arrivals have the distributions that the recipes say, and streams are fresh.

R__LOAD_LIBRARY(libcladtorch)
#include "../../root_macros/gw_injections.h"
#include "check.h"

#include <numeric>

double Squares(const std::vector<double> &x)
{
   return std::inner_product(x.begin(), x.end(), x.begin(), 0.);
}

/// Whitened by the density that the noise was made from, [detectors][samples].
std::vector<std::vector<double>> White(const Recipe &recipe, const ROOT::RVecF &strain)
{
   std::vector<std::vector<double>> white;
   for (auto begin = strain.begin(); begin != strain.end(); begin += recipe.fSamples)
      white.push_back(Signal::Whiten({begin, begin + recipe.fSamples}, recipe.fPsd, recipe.fRate));
   return white;
}

void CheckWindows(const Recipe &recipe, int windows)
{
   const Windows make(recipe, 5, 2);
   const double samples = recipe.fSamples, detectors = recipe.fDetectors.size(), count = windows / 2;
   double noise = 0, excess = 0, product = 0, snrs = 0;
   bool labelled = true;
   for (int i = 0; i < windows; ++i) {
      const auto white = White(recipe, make(i));
      double squares = 0;
      for (const auto &of : white)
         squares += Squares(of);
      labelled = labelled && make.Label(i) == (i % 2 == 0) && make.Label(i) == (make.Snr(i) > 0);
      if (make.Label(i)) {
         // The square of the norm is that of the noise plus that of the SNR.
         excess += squares - detectors * samples - std::pow(make.Snr(i), 2);
         snrs += std::pow(make.Snr(i), 2);
         continue;
      }
      noise += squares;
      if (white.size() > 1)
         product += std::inner_product(white[0].begin(), white[0].end(), white[1].begin(), 0.);
   }
   CHECK(labelled);
   const double values = count * detectors * samples;
   CHECK(Near(noise / values, 1, 4.5 * std::sqrt(2 / values)));
   CHECK(std::abs(product) < 4.5 * std::sqrt(count * samples));
   CHECK(std::abs(excess) < 4.5 * std::sqrt(2 * values + 4 * snrs));
}

void CheckSources(const Recipe &recipe)
{
   constexpr int sources = 4000;
   double snr = 0, arrival = 0, mass = 0;
   bool right = true;
   for (int i = 0; i < sources; ++i) {
      const auto source = Draw(recipe, 1, i);
      snr += (source.fSnr - recipe.fLowest) / std::max(recipe.fHighest - recipe.fLowest, 1e-9) / sources;
      arrival += (source.fArrival - recipe.fBegin) / (recipe.fEnd - recipe.fBegin) / sources;
      mass += (source.fMass2 - recipe.fMassLow) / (recipe.fMassHigh - recipe.fMassLow) / sources;
      double norm = 0;
      for (const auto &amplitude : source.fResponse.fAmplitudes)
         norm += std::norm(amplitude);
      right = right && Near(norm, 1, 1e-9) && source.fResponse.fDelays.size() == recipe.fDetectors.size() &&
              source.fArrival >= recipe.fBegin && source.fArrival < recipe.fEnd + 1 / recipe.fRate;
      if (i % 100 == 0) {
         const auto strain = Strain(recipe, source);
         double squares = 0;
         for (std::size_t d = 0; d < recipe.fDetectors.size(); ++d) {
            const auto begin = strain.begin() + d * recipe.fSamples;
            squares += std::pow(Signal::Snr({begin, begin + recipe.fSamples}, recipe.fPsd, recipe.fRate), 2);
         }
         right = right && Near(std::sqrt(squares), source.fSnr, 1e-6);
      }
   }
   CHECK(right);
   const double error = 4.5 / std::sqrt(12. * sources); // of the mean of uniform numbers
   CHECK(Near(arrival, 0.5, error + 1 / recipe.fRate) && Near(mass, 0.5, error));
   CHECK(recipe.fHighest == recipe.fLowest || Near(snr, 0.5, error));
}

/// The features of the first batch of an epoch.
std::vector<float> First(const CladTorch::Stream &stream, int epoch)
{
   CladTorch::FitOptions options;
   options.fValidation = 0;
   options.fShuffle = false;
   auto batches = stream.Batches(options, epoch);
   CHECK(batches.Next());
   return {batches.Features().begin(), batches.Features().end()};
}

void CheckFreshWindows()
{
   const auto recipe = KnownMasses();
   const auto stream = FreshWindows(recipe, 64, "labels.root");
   const auto first = First(stream, 1), second = First(stream, 2);
   CHECK(first.size() == 64 * recipe.fLength && second.size() == first.size());
   int same = 0;
   double product = 0;
   for (std::size_t i = 0; i < first.size(); ++i) {
      same += first[i] == second[i];
      product += first[i] * second[i];
   }
   // Signals of any phase and arrival do not add up.
   CHECK(same == 0 && std::abs(product) < 6 * std::sqrt(1. * first.size()));
   // The same from the beginning gives the same.
   CHECK(First(FreshWindows(recipe, 64, "labels.root"), 1) == first);
   const Windows stay(recipe, 2);
   CHECK(All(stay(4) == stay(4)) && !All(stay(4) == stay(6)));
}

void gw_injections()
{
   CheckWindows(Challenge(), 400);
   CheckWindows(KnownMasses(), 2000);
   CheckSources(Challenge());
   CheckSources(KnownMasses());
   CheckFreshWindows();
   Passed();
}
