#include <CladTorch/Guard.hxx>
#include <CladTorch/Strain.hxx>

#include "FilePath.hxx"
#include "Interrupt.hxx"
#include "SignalSlices.hxx"
#include "cladtorch/src/bridge/strain.rs.h"

namespace CladTorch {
namespace Signal {

using Internal::Copy;
using Internal::FilePath;
using Internal::LongCall;

Strain ReadStrain(const std::string &file, const std::vector<std::string> &required)
{
   return LongCall("CladTorch::Signal::ReadStrain", [&] {
      rust::Vec<rust::String> names;
      for (const auto &name : required)
         names.push_back(name);
      const auto read = Core::strain_read(FilePath(file), std::move(names));
      return Strain{std::string(read.detector),
                    read.rate,
                    read.start,
                    Copy(read.values),
                    {read.good.begin(), read.good.end()},
                    {read.quality.begin(), read.quality.end()},
                    {read.injections.begin(), read.injections.end()},
                    {read.quality_bits.begin(), read.quality_bits.end()},
                    {read.injection_bits.begin(), read.injection_bits.end()}};
   });
}

std::vector<double> ReadHdf5(const std::string &file, const std::string &dataset)
{
   return LongCall("CladTorch::Signal::ReadHdf5", [&] { return Copy(Core::strain_read_hdf5(FilePath(file), dataset)); });
}

} // namespace Signal
} // namespace CladTorch
