/// \file first_use.h
/// \brief Makes the C++ modules of LibTorch's headers, where they are missing: see FirstUse.cxx.

#pragma cling load("libcladtorch_first_use")
