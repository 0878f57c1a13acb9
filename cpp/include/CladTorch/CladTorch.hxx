/// \file CladTorch/CladTorch.hxx
/// \brief All of CladTorch but LibTorch's own C++ API.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_CLADTORCH
#define CLADTORCH_CLADTORCH

#include <CladTorch/Dataset.hxx>
#include <CladTorch/Error.hxx>
#include <CladTorch/Export.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Functor.hxx>
#include <CladTorch/History.hxx>
#include <CladTorch/Jagged.hxx>
#include <CladTorch/Mlp.hxx>
#include <CladTorch/Scaler.hxx>
#include <CladTorch/Signal.hxx>
#include <CladTorch/Source.hxx>
#include <CladTorch/Stream.hxx>
#include <CladTorch/View.hxx>

#endif
