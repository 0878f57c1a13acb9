/// \file CladTorch/Headers.hxx
/// \brief All of CladTorch.hxx as one C++ module.
///
/// ROOT removes all declarations of a faulty macro or line, and crashes if one of them is an enumeration of a namespace
/// that has a dictionary (TCling::InvalidateCachedDecl takes its constants for another class). It keeps declarations
/// from C++ modules, as it does for its own headers. The interpreter therefore reads these headers from the module that
/// was built with the plugin. The dictionary does not list this file, because ROOT's handling of forward declarations
/// crashes if a header that it lists becomes a module.

#ifndef CLADTORCH_HEADERS
#define CLADTORCH_HEADERS

#include <CladTorch/Coherent.hxx>
#include <CladTorch/Continuous.hxx>
#include <CladTorch/CrossValidation.hxx>
#include <CladTorch/Dataset.hxx>
#include <CladTorch/Detectors.hxx>
#include <CladTorch/Ensemble.hxx>
#include <CladTorch/Error.hxx>
#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Export.hxx>
#include <CladTorch/Files.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Functor.hxx>
#include <CladTorch/History.hxx>
#include <CladTorch/Jagged.hxx>
#include <CladTorch/Label.hxx>
#include <CladTorch/Metric.hxx>
#include <CladTorch/Mlp.hxx>
#include <CladTorch/Model.hxx>
#include <CladTorch/Online.hxx>
#include <CladTorch/RandomSearch.hxx>
#include <CladTorch/Scaler.hxx>
#include <CladTorch/Search.hxx>
#include <CladTorch/Signal.hxx>
#include <CladTorch/Source.hxx>
#include <CladTorch/Strain.hxx>
#include <CladTorch/Stream.hxx>
#include <CladTorch/View.hxx>
#include <CladTorch/Waveforms.hxx>

#endif
