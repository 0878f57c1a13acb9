// What the GPU's machine.hpp has, for the host: a copy comes when its thread waits for it.
#pragma once
#include "device.hpp"

#define CT_UNROLL(n)

namespace CladTorch::Device {

inline float *Shared()
{
   return gShared[blockIdx.x].data();
}

struct Copy {
   unsigned fBlock, fThread;
   float *fTo;
   const float *fFrom;
};
inline std::vector<Copy> gCopies;

inline void CopyAsync(float *to, const float *from)
{
   *to = std::numeric_limits<float>::quiet_NaN();
   gCopies.push_back({blockIdx.x, threadIdx.x, to, from});
}

inline void WaitForCopies()
{
   std::vector<Copy> others;
   for (const auto &copy : gCopies)
      if (copy.fBlock == blockIdx.x && copy.fThread == threadIdx.x)
         *copy.fTo = *copy.fFrom;
      else
         others.push_back(copy);
   gCopies.swap(others);
}

inline Quad Fresh(const float *from)
{
   return *reinterpret_cast<const Quad *>(from);
}

inline void Publish(float *to, const Quad &q)
{
   *reinterpret_cast<Quad *>(to) = q;
}

inline float *Peer(const float *own, unsigned rank)
{
   return gShared[blockIdx.x / gCluster * gCluster + rank].data() + (own - Shared());
}

inline Quad FromPeer(const float *own, unsigned rank)
{
   return *reinterpret_cast<const Quad *>(Peer(own, rank));
}

inline void ToPeer(float *own, unsigned rank, const Quad &q)
{
   *reinterpret_cast<Quad *>(Peer(own, rank)) = q;
}

inline void ArriveAndWait(unsigned *arrived, unsigned expected)
{
   ++*arrived;
   while (*arrived < expected)
      Threads::fNow->Wait(Waits::kSpins);
}

inline void MeetCluster()
{
   __syncthreads();
   if (threadIdx.x == 0)
      ArriveAndWait(&gArrived[blockIdx.x / gCluster], ++gPassed[blockIdx.x] * gCluster);
   __syncthreads();
}

} // namespace CladTorch::Device
