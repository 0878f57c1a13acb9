/// \file gw_likelihood.h
/// \brief The likelihood of a sine-Gaussian with gradients by Clad, and simulated binaries, for gw_parameters.C and gw_parameters.py.

#ifndef GW_LIKELIHOOD
#define GW_LIKELIHOOD

#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Torch.hxx>

#include <ROOT/RDataFrame.hxx>
#include <TMatrixDSym.h>
#include <TRandom3.h>
#include <TStopwatch.h>
#include <TVectorD.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace Signal = CladTorch::Signal;

const double kRate = 2048; // Hz; windows are one second long
const int kParameters = 5; // p = {A, t0, phi, f, tau}

/// A exp(-(t - t0)^2 / tau^2) cos(2 pi f (t - t0) + phi) at the times t
inline torch::Tensor SineGaussian(torch::Tensor p, torch::Tensor t)
{
   auto since = t - p[1];
   return p[0] * (-(since / p[4]).square()).exp() * (2 * M_PI * p[3] * since + p[2]).cos();
}

/// The likelihood of strain whose noise is independent in each sample, with variance 1; without its constant.
inline torch::Tensor LogLikelihood(torch::Tensor p, torch::Tensor t, torch::Tensor strain)
{
   return -0.5 * (strain - SineGaussian(p, t)).square().sum();
}

/// Both functions, observed once and compiled with gradients.
class Likelihood {
public:
   explicit Likelihood(const std::vector<double> &truth)
      : fTruth(torch::tensor(truth, torch::kFloat64)),
        fTimes(torch::arange(kRate, torch::kFloat64) / kRate),
        fWave(CladTorch::Compile(SineGaussian, {fTruth, fTimes})),
        fLikelihood(CladTorch::Compile(LogLikelihood, {fTruth, fTimes, fTimes}))
   {
   }

   std::string BackEnd() const { return fLikelihood.BackEnd(); }

   /// [5], derivatives of the likelihood by p.
   torch::Tensor Gradient(const torch::Tensor &p, const torch::Tensor &strain) const
   {
      const auto value = fLikelihood.Forward({p, fTimes, strain});
      return fLikelihood.Backward({torch::ones_like(value)})[0];
   }

   /// Sums of the products of the waveform's derivatives; the inverse is the covariance of the parameters at high SNR.
   TMatrixDSym Fisher() const
   {
      const auto derivatives = fWave.Jacobian({fTruth, fTimes})[0]; // [samples, 5]
      const auto product = derivatives.t().matmul(derivatives);
      const auto symmetric = (0.5 * (product + product.t())).contiguous(); // to the last bit
      return TMatrixDSym(kParameters, symmetric.data_ptr<double>());
   }

   /// Likelihoods and gradients per second.
   double Speed(int repetitions) const
   {
      TStopwatch watch;
      for (int i = 0; i < repetitions; ++i)
         Gradient(fTruth, fTimes);
      return repetitions / watch.RealTime();
   }

   /// [windows, 5], pulls of maximum-likelihood fits to simulated windows: six steps of Fisher's scoring from the truth.
   std::vector<std::vector<double>> Pulls(int windows) const
   {
      std::vector<std::vector<double>> pulls;
      const auto wave = SineGaussian(fTruth, fTimes);
      const auto covariance = Fisher().Invert();
      torch::manual_seed(1);
      for (int i = 0; i < windows; ++i) {
         const auto strain = wave + torch::randn_like(wave);
         TVectorD distance(kParameters);
         for (int step = 0; step < 6; ++step) {
            const auto moved = torch::tensor(std::vector<double>(&distance[0], &distance[0] + kParameters), torch::kFloat64);
            const auto gradient = Gradient(fTruth + moved, strain);
            distance += covariance * TVectorD(kParameters, gradient.data_ptr<double>());
         }
         for (int k = 0; k < kParameters; ++k)
            distance[k] /= std::sqrt(covariance(k, k));
         pulls.emplace_back(&distance[0], &distance[0] + kParameters);
      }
      return pulls;
   }

private:
   torch::Tensor fTruth, fTimes;
   CladTorch::Compiled fWave, fLikelihood;
};

/// The Fisher matrix in closed form, for a width of many periods.
inline TMatrixDSym ClosedForm(const std::vector<double> &p)
{
   const double a = p[0], omega = 2 * M_PI * p[3], tau = p[4];
   TMatrixDSym fisher(kParameters);
   fisher(0, 0) = 1 / (a * a);
   fisher(0, 4) = fisher(4, 0) = 1 / (2 * a * tau);
   fisher(1, 1) = omega * omega + 1 / (tau * tau);
   fisher(1, 2) = fisher(2, 1) = -omega;
   fisher(2, 2) = 1;
   fisher(3, 3) = M_PI * M_PI * tau * tau;
   fisher(4, 4) = 3 / (4 * tau * tau);
   fisher *= a * a * tau * std::sqrt(M_PI / 8) * kRate; // the square of the SNR
   return fisher;
}

/// Binary black holes in one detector: masses of 10 to 50 solar masses, SNR 10 to 20, merger after 0.7 s of the window.
class Binaries {
public:
   Binaries()
   {
      for (double mass = 10; mass < 50; mass *= 1.07)
         fBank.emplace_back(Strain(mass, mass), fPsd, kRate, 0.7);
   }

   /// A data frame of `windows` windows: `snrs`, for each filter of a bank the largest SNR, and `mass`, the chirp mass.
   ROOT::RDF::RNode Frame(ULong64_t windows) const
   {
      return ROOT::RDataFrame(windows)
         .Define("values", [this](ULong64_t entry) { return Window(entry); }, {"rdfentry_"})
         .Define("snrs", [](const ROOT::RVecF &values) { return ROOT::RVecF(values.begin(), values.end() - 1); }, {"values"})
         .Define("mass", [](const ROOT::RVecF &values) { return values.back(); }, {"values"});
   }
   std::size_t Filters() const { return fBank.size(); }

private:
   std::vector<double> Strain(double mass1, double mass2) const
   {
      Signal::Binary binary;
      binary.fMass1 = mass1;
      binary.fMass2 = mass2;
      return Signal::BinaryStrain(binary, Signal::kPhenomD, kRate, kRate, 0.7);
   }

   ROOT::RVecF Window(ULong64_t number) const
   {
      TRandom3 random(number + 1);
      const double mass1 = random.Uniform(10, 50), mass2 = random.Uniform(10, 50), snr = random.Uniform(10, 20);
      const auto wave = Signal::PhaseShift(Strain(mass1, mass2), random.Uniform(2 * M_PI));
      const auto signal = Signal::ScaleToSnr(wave, fPsd, kRate, snr);
      auto strain = Signal::Noise(fPsd, kRate, number);
      std::transform(strain.begin(), strain.end(), signal.begin(), strain.begin(), std::plus<double>());
      ROOT::RVecF values;
      for (const auto &filter : fBank)
         values.push_back(filter.Max(strain, 0.65, 0.75).fSnr);
      values.push_back(std::pow(mass1 * mass2, 0.6) / std::pow(mass1 + mass2, 0.2));
      return values;
   }

   std::vector<double> fPsd = Signal::DetectorPsd(kRate, kRate, Signal::kZeroDetunedHighPower);
   std::vector<Signal::MatchedFilter> fBank; // of equal masses
};

#endif
