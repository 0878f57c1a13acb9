// CUDA's keywords and functions for a C++ compiler, and what the host's machine.hpp calls: host.cpp has the functions.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct Place {
   unsigned x;
};
extern Place blockIdx, threadIdx, blockDim, gridDim;

void __syncthreads();

/// The threads for which those of a kernel wait.
enum class For { kNobody, kBlock, kGrid };

struct Shape {
   unsigned fGrid, fBlock;
   unsigned fCluster;  ///< blocks of a cluster
   size_t fShared;     ///< bytes of each block's memory, in addition to static memory
   bool fReverse;      ///< blocks and threads run from the last to the first
   const char *fName;
};

/// Runs the body in every thread; returns what is wrong with that, or null.
const char *Launch(const Shape &shape, For waits, void (*body)(void *), void *of);

template <typename Body>
const char *Launch(const Shape &shape, For waits, Body body)
{
   return Launch(shape, waits, [](void *of) { (*static_cast<Body *>(of))(); }, &body);
}

/// What the threads of a warp show each other.
struct Shown {
   uint32_t a[32][4], b[32][2];
};

namespace Host {

/// The dynamic memory of a block.
float *SharedOf(unsigned block);
/// The block of this cluster with this rank.
unsigned Peer(unsigned rank);
void CopyAsync(float *to, const float *from);
void WaitForCopies();
void MeetCluster();
void ArriveAndWait(unsigned *arrived, unsigned expected);
/// What all threads of the warp show; it orders nothing else that they do.
void Show(const uint32_t *a, size_t numbersOfA, const uint32_t *b, size_t numbersOfB, Shown &shown);
/// What the same number of relaxed writes give in any order.
void WriteRelaxed(int32_t *to, int32_t value);

} // namespace Host

namespace CladTorch::Device {

inline void Raise(int32_t *flag)
{
   Host::WriteRelaxed(flag, 1);
}

} // namespace CladTorch::Device
