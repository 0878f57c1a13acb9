/// \file CladTorch/Scaler.hxx
/// \brief How columns are standardised.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_SCALER
#define CLADTORCH_SCALER

#include <string>
#include <vector>

struct _object;

namespace CladTorch {

/// Columns are standardised as (x - mean) / deviation, in float32.
struct Scaler {
   std::vector<double> fMean;      ///< one per column
   std::vector<double> fDeviation; ///< standard deviations, one per column; 1 for a constant column

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

} // namespace CladTorch

#endif
