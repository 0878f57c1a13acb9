/// \file elementwise.hpp
/// What makes a loop over elements vector code.
#pragma once

/// A function that is such a loop: not inlined, and with everything that it calls inside; only then is it vector code.
#define CT_LOOP template <typename T> __attribute__((noinline, flatten)) void

/// Before a loop that touches element i of every array in round i only: the arrays may be the same memory.
#if defined(__clang__)
#define CT_ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define CT_ELEMENTWISE _Pragma("GCC ivdep")
#else
#define CT_ELEMENTWISE
#endif
