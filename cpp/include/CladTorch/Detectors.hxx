/// \file CladTorch/Detectors.hxx
/// \brief Detectors of gravitational waves: antenna patterns, delays, independent noise.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_DETECTORS
#define CLADTORCH_DETECTORS

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {
namespace Signal {

// Detectors are "H1" (LIGO Hanford), "L1" (LIGO Livingston) and "V1" (Virgo). Angles are in rad, GPS times in s and those at
// the centre of the Earth.

/// F+ and Fx: the strain is F+ h+ + Fx hx (Anderson, Brady, Creighton and Flanagan, Phys. Rev. D 63 (2001) 042003).
/// \param polarisation Angle psi from the direction of the celestial pole to the wave's x axis.
std::pair<double, double> AntennaPattern(const std::string &detector, double rightAscension, double declination,
                                         double polarisation, double gps);

/// Arrival time at the detector minus that at the centre of the Earth, in s.
double Delay(const std::string &detector, double rightAscension, double declination, double gps);

/// [n], the strain of the detector for a wave with the polarisations `plus` and `cross` ([n]) at the centre of the
/// Earth, with its antenna pattern and its delay. The series is taken as periodic; its mean and its highest frequency,
/// rate / 2, are removed.
std::vector<double> Project(const std::vector<double> &plus, const std::vector<double> &cross, double rate,
                            const std::string &detector, double rightAscension, double declination, double polarisation,
                            double gps);

/// Noise() of one detector. The noise of another detector with the same seed is independent.
std::vector<double>
DetectorNoise(const std::string &detector, const std::vector<double> &psd, double rate, std::uint64_t seed);

/// SNR of several detectors together: the root of the sum of the squares.
double NetworkSnr(const std::vector<double> &snrs);

} // namespace Signal
} // namespace CladTorch

#endif
