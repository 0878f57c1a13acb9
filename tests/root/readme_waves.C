R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Signal.hxx>

void readme_waves()
{
   namespace Signal = CladTorch::Signal;
   const double rate = 2048; // Hz
   const std::size_t samples = 8192;
   Signal::Binary source;
   source.fMass1 = 36; // solar masses
   source.fMass2 = 29;
   source.fDistance = 1600; // Mpc
   const auto psd = Signal::DetectorPsd(samples, rate, Signal::kZeroDetunedHighPower);
   const auto wave = Signal::BinaryStrain(source, Signal::kPhenomD, samples, rate, 3);
   const Signal::MatchedFilter filter(wave, psd, rate, 3); // the coalescence is 3 s after the first sample

   std::vector<double> snrs;
   for (const std::string detector : {"H1", "L1"}) { // one seed, independent noise
      auto strain = Signal::DetectorNoise(detector, psd, rate, 1);
      const auto signal = Signal::Project(wave, Signal::PhaseShift(wave, M_PI / 2), rate, detector, 1.9, -1.2, 0.3, 1126259462);
      std::transform(strain.begin(), strain.end(), signal.begin(), strain.begin(), std::plus<double>());
      const auto found = filter.Max(strain, 2.9, 3.1);
      std::cout << detector << ": SNR " << found.fSnr << " at " << found.fTime << " s, chi-squared " << found.fChiSquared << std::endl;
      snrs.push_back(found.fSnr);
      const std::unique_ptr<TH2D> energy(Signal::QTransform(Signal::Whiten(strain, psd, rate), rate, 8, 25, 500));
      std::cout << "loudest tile: " << energy->GetMaximum() << std::endl;
   }
   std::cout << "network SNR " << Signal::NetworkSnr(snrs) << std::endl;
   // No test for a signal of SNR 6 that arrives at an unknown time in these 0.2 s is better than this:
   const auto bounds = Signal::SearchBounds({filter}, 6, 2.9, 3.1, {1e-2}, 2000, 2000);
   std::cout << "AUC at most " << bounds.fBayes.fAuc << " +- " << bounds.fBayes.fAucError << std::endl;
}
