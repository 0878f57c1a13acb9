/// \file quality_gw.C
/// \brief Writes the gravitational-wave set of `cargo xtask bench quality`: whitened strain windows with a signal of
/// unknown arrival time in every second one, as raw float32: features [N, 256], labels [N] and weights [N].
///
/// Half a second of Gaussian noise of the Advanced LIGO design holds an inspiral of optimal SNR `snr`, with a random
/// phase and its coalescence anywhere in the last 0.2 s.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include <TRandom3.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace Signal = CladTorch::Signal;

const std::size_t kSamples = 256;
const double kRate = 512; // Hz

void Write(const std::string &path, const std::vector<float> &numbers)
{
   std::ofstream file(path, std::ios::binary);
   if (!file.write(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float)))
      throw std::runtime_error("cannot write " + path);
}

void quality_gw(const std::string &folder, int windows, double snr)
{
   const auto psd = Signal::DetectorPsd(kSamples, kRate);
   TRandom3 random(1);
   std::vector<float> features, labels;
   for (int window = 0; window < windows; ++window) {
      auto strain = Signal::Noise(psd, kRate, 1 + window);
      if (window % 2) {
         const auto coalescence = random.Uniform(0.28, 0.48);                  // s
         const auto wave = Signal::Chirp(kSamples, kRate, 15, 45, coalescence); // solar masses, Hz
         const auto turned = Signal::PhaseShift(wave, random.Uniform(2 * M_PI));
         const auto signal = Signal::ScaleToSnr(turned, psd, kRate, snr);
         std::transform(strain.begin(), strain.end(), signal.begin(), strain.begin(), std::plus<>());
      }
      const auto white = Signal::Whiten(strain, psd, kRate);
      features.insert(features.end(), white.begin(), white.end());
      labels.push_back(window % 2);
   }
   Write(folder + "/features", features);
   Write(folder + "/labels", labels);
   Write(folder + "/weights", std::vector<float>(windows, 1));
}
