/// \file gw_continuous.h
/// \brief Hours of simulated strain with signals at known times, for gw_continuous.C and gw_continuous.py.

#ifndef CLADTORCH_GW_CONTINUOUS
#define CLADTORCH_GW_CONTINUOUS

#include "gw_injections.h"

/// The recipe of gw_search.C for windows of long strain: the strain is whitened in blocks whose density is well known,
/// so the training windows are whitened by the density of the detector, at the resolution of the blocks' segments.
inline Recipe LongStrain()
{
   Recipe recipe = Challenge();
   const auto psd = Signal::InterpolatePsd(Signal::DetectorPsd(1024, 2048, Signal::kZeroDetunedHighPower), 2560);
   recipe.fWhiten = [psd = Signal::TruncateInverse(psd, 2048, 512, 18)](const std::vector<double> &strain) {
      const auto white = Signal::Whiten(strain, psd, 2048);
      return std::vector<double>(white.begin() + 256, white.end() - 256);
   };
   return recipe;
}

/// Strain of two detectors in stretches of 1024 s, each simulated, whitened and searched separately: any number of them
/// needs the memory of one. Signals arrive every 24 to 30 s from all directions, as in the challenge's first data set:
/// masses as in the recipe, chirp distances from 130 to 350 Mpc uniform in volume.
class Observation {
public:
   static constexpr std::size_t kSamples = 1 << 21; ///< of a stretch
   static constexpr std::size_t kWave = 1 << 14;    ///< of a signal
   static constexpr double kRate = 2048;            ///< Hz
   static constexpr double kStart = 1187008882;     ///< GPS time of the first stretch

   using Strain = std::vector<std::vector<double>>; ///< [detectors][samples]

   Observation(std::size_t stretches, unsigned seed)
      : fSeed(seed), fStretches(stretches), fPsd(Signal::DetectorPsd(kSamples, kRate, Signal::kZeroDetunedHighPower)), fSources(stretches)
   {
      TRandom3 random(1 + seed);
      for (std::size_t stretch = 0; stretch < stretches; ++stretch)
         for (double time = 8; (time += random.Uniform(24, 30)) < Length() - 8;)
            fSources[stretch].push_back(Draw(random, Start(stretch) + time));
   }

   std::size_t Stretches() const { return fStretches; }
   static double Length() { return kSamples / kRate; } // s, of a stretch
   static double Start(std::size_t stretch) { return kStart + stretch * Length(); }

   /// All signals.
   std::vector<Signal::Injection> Injections() const
   {
      std::vector<Signal::Injection> injections;
      for (const auto &sources : fSources)
         for (const auto &source : sources)
            injections.push_back({source.fTime, source.fBinary.fDistance, ChirpMass(source.fBinary)});
      return injections;
   }

   /// The parameters of all signals as a tree.
   void Write(const std::string &file) const
   {
      TFile out(file.c_str(), "RECREATE");
      TTree tree("injections", "Signals in the strain");
      double time, distance, mass1, mass2;
      tree.Branch("tc", &time);
      tree.Branch("distance", &distance);
      tree.Branch("mass1", &mass1);
      tree.Branch("mass2", &mass2);
      for (const auto &sources : fSources)
         for (const auto &source : sources) {
            time = source.fTime;
            distance = source.fBinary.fDistance;
            mass1 = source.fBinary.fMass1;
            mass2 = source.fBinary.fMass2;
            tree.Fill();
         }
      tree.Write();
   }

   /// A stretch of noise.
   Strain Noise(std::size_t stretch) const
   {
      Strain strain;
      for (const std::string detector : {"H1", "L1"})
         strain.push_back(Signal::DetectorNoise(detector, fPsd, kRate, fSeed + 1000003 * (1 + stretch)));
      return strain;
   }

   /// Adds the signals of a stretch.
   Strain Inject(std::size_t stretch, Strain strain) const
   {
      for (auto source : fSources[stretch])
         for (std::size_t d = 0; d < 2; ++d) {
            const double arrival = source.fTime + source.fDelays[d] - Start(stretch);
            const auto first = static_cast<std::size_t>(arrival * kRate) - (kWave - 2048); // the last second is the ringdown's
            source.fBinary.fPhase = std::arg(source.fAmplitudes[d]);
            const auto wave = Signal::BinaryStrain(source.fBinary, Signal::kPhenomD, kWave, kRate, arrival - first / kRate);
            for (std::size_t i = 0; i < kWave; ++i)
               strain[d][first + i] += std::abs(source.fAmplitudes[d]) * wave[i];
         }
      return strain;
   }

   /// Whitens in blocks of 64 s; Cut() s are lost at each end.
   static Strain White(const Strain &strain)
   {
      Strain white;
      for (const auto &each : strain)
         white.push_back(Signal::WhitenInBlocks(each, kRate, 1 << 17, 1024, 512, 18));
      return white;
   }
   static double Cut() { return 256 / kRate; }

   /// Whitened strain with that of the second detector shifted by `shift` s: no signal is in its place in both.
   static Strain Shifted(Strain white, double shift)
   {
      std::rotate(white[1].begin(), white[1].begin() + std::size_t(shift * kRate) % white[1].size(), white[1].end());
      return white;
   }

private:
   struct Merger {
      double fTime; ///< at the centre of the Earth
      Signal::Binary fBinary;
      std::complex<double> fAmplitudes[2];
      double fDelays[2];
   };

   static double ChirpMass(const Signal::Binary &binary)
   {
      return std::pow(binary.fMass1 * binary.fMass2, 0.6) / std::pow(binary.fMass1 + binary.fMass2, 0.2);
   }

   static Merger Draw(TRandom3 &random, double time)
   {
      Merger source;
      source.fTime = time;
      source.fBinary.fMass1 = random.Uniform(10, 50);
      source.fBinary.fMass2 = random.Uniform(10, 50);
      source.fBinary.fStart = 18;
      const double radius = std::cbrt(random.Uniform(std::pow(130, 3), std::pow(350, 3)));
      // The chirp distance is the distance of a neutron-star binary, 1.4 + 1.4, with the same amplitude.
      source.fBinary.fDistance = radius * std::pow(ChirpMass(source.fBinary) / (1.4 / std::pow(2, 0.2)), 5. / 6);
      const double ascension = random.Uniform(2 * M_PI), declination = std::asin(random.Uniform(-1, 1));
      const double polarisation = random.Uniform(2 * M_PI), cosine = random.Uniform(-1, 1), phase = random.Uniform(2 * M_PI);
      for (std::size_t d = 0; d < 2; ++d) {
         const std::string detector = d ? "L1" : "H1";
         const auto pattern = Signal::AntennaPattern(detector, ascension, declination, polarisation, time);
         const std::complex<double> amplitude(pattern.first * (1 + cosine * cosine) / 2, pattern.second * cosine);
         source.fAmplitudes[d] = amplitude * std::polar(1., phase);
         source.fDelays[d] = Signal::Delay(detector, ascension, declination, time);
      }
      return source;
   }

   unsigned fSeed;
   std::size_t fStretches;
   std::vector<double> fPsd;
   std::vector<std::vector<Merger>> fSources; ///< of each stretch
};

#endif
