/// \file elementwise.hpp
/// A loop's right to be vectorised although its output may be its input.
#pragma once

/// Before a loop that touches element i of every array in round i only: the arrays may be the same memory.
#if defined(__clang__)
#define CT_ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define CT_ELEMENTWISE _Pragma("GCC ivdep")
#else
#define CT_ELEMENTWISE
#endif
