/// \file CladTorch/Load.hxx
/// \brief Loads the plugin where an interpreter reads its headers.
///
/// The other headers include it outside of their guards, before all else. The interpreter then reads all of them here,
/// from the plugin's C++ module (see Headers.hxx), and finds their guards defined.

#ifndef CLADTORCH_LOAD
#define CLADTORCH_LOAD

#if defined(__CLING__) && !defined(__ROOTCLING__)
// LibTorch's headers, by a path under which nobody but the loaded plugin shows them to the interpreter: a plugin that
// was loaded from a folder where the interpreter does not look would not be found again.
#if !__has_include(<cladtorch/include/torch/script.h>)
#pragma cling load("libcladtorch")
#endif
#include <CladTorch/Headers.hxx>
#endif

#endif
