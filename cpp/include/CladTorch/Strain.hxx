/// \file CladTorch/Strain.hxx
/// \brief Strain of gravitational-wave detectors in files.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_STRAIN
#define CLADTORCH_STRAIN

#include <cstdint>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {
namespace Signal {

/// Strain of one detector, and what is known about each second of it.
struct Strain {
   std::string fDetector;                    ///< "H1", "L1", "V1", ...
   double fRate = 0;                         ///< samples per second
   double fStart = 0;                        ///< GPS time of the first sample, in s
   std::vector<double> fValues;              ///< [seconds fRate], without unit; NaN where there are no data
   std::vector<int> fGood;                   ///< [seconds], 1 for good seconds: see ReadStrain()
   std::vector<std::uint32_t> fQuality;      ///< [seconds], bit i is set where the data pass the check fQualityBits[i]
   std::vector<std::uint32_t> fInjections;   ///< [seconds], bit i is set where fInjectionBits[i] holds ("no ... injection")
   std::vector<std::string> fQualityBits;    ///< names of the bits of fQuality
   std::vector<std::string> fInjectionBits;  ///< names of the bits of fInjections

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// Reads an HDF5 file of the Gravitational Wave Open Science Center (https://gwosc.org). `cladtorch strain` makes trees of such
/// files.
///
/// ~~~{.cpp}
/// auto h1 = Signal::ReadStrain("H-H1_LOSC_4_V2-1126259446-32.hdf5");
/// auto psd = Signal::Welch(h1.fValues, 4 * h1.fRate, h1.fRate);
/// ~~~
/// \param required Bits of quality and injections that a good second must have; all its samples must be finite, too.
///        Empty: DATA, CBC_CAT1, CBC_CAT2, NO_CBC_HW_INJ, NO_BURST_HW_INJ, NO_DETCHAR_HW_INJ, NO_STOCH_HW_INJ.
Strain ReadStrain(const std::string &file, const std::vector<std::string> &required = {});

/// The elements of a dataset of any HDF5 file, row-major; `dataset` is its name with its groups, as in "meta/psd".
/// Throws for types other than float32 and float64.
std::vector<double> ReadHdf5(const std::string &file, const std::string &dataset);

} // namespace Signal
} // namespace CladTorch

#endif
