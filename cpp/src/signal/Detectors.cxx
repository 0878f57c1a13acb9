#include <CladTorch/Detectors.hxx>
#include <CladTorch/Guard.hxx>

#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/search.rs.h"

namespace CladTorch {
namespace Signal {

using Internal::Copy;
using Internal::Guard;
using Internal::LongCall;
using Internal::Slice;

std::pair<double, double> AntennaPattern(const std::string &detector, double rightAscension, double declination,
                                         double polarisation, double gps)
{
   return Guard("CladTorch::Signal::AntennaPattern", [&] {
      const auto pattern = Core::antenna_pattern(detector, {rightAscension, declination, polarisation}, gps);
      return std::pair<double, double>(pattern[0], pattern[1]);
   });
}

double Delay(const std::string &detector, double rightAscension, double declination, double gps)
{
   return Guard("CladTorch::Signal::Delay",
                [&] { return Core::detector_delay(detector, {rightAscension, declination, 0}, gps); });
}

std::vector<double> Project(const std::vector<double> &plus, const std::vector<double> &cross, double rate,
                            const std::string &detector, double rightAscension, double declination, double polarisation,
                            double gps)
{
   return LongCall("CladTorch::Signal::Project", [&] {
      return Copy(Core::detector_project(Slice(plus), Slice(cross), rate, detector,
                                         {rightAscension, declination, polarisation}, gps));
   });
}

std::vector<double>
DetectorNoise(const std::string &detector, const std::vector<double> &psd, double rate, std::uint64_t seed)
{
   return LongCall("CladTorch::Signal::DetectorNoise",
                [&] { return Copy(Core::detector_noise(detector, Slice(psd), rate, seed)); });
}

double NetworkSnr(const std::vector<double> &snrs)
{
   return Guard("CladTorch::Signal::NetworkSnr", [&] { return Core::network_snr(Slice(snrs)); });
}

} // namespace Signal
} // namespace CladTorch
