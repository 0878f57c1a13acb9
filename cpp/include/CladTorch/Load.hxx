/// \file CladTorch/Load.hxx
/// \brief Loads the plugin where an interpreter reads its headers.
///
/// The other headers include it outside of their guards, before all else: an interpreter that meets a class of a
/// library that is not loaded reads all of the library's headers there and then, in the middle of the one that it is
/// reading.

#ifndef CLADTORCH_LOAD
#define CLADTORCH_LOAD

// LibTorch's headers, by a path under which nobody but the loaded plugin shows them to the interpreter: a plugin that
// was loaded from a folder where the interpreter does not look would not be found again.
#if defined(__CLING__) && !defined(__ROOTCLING__) && !__has_include(<cladtorch/include/torch/script.h>)
#pragma cling load("libcladtorch")
#endif

#endif
