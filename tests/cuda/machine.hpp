// What the GPU's machine.hpp has, for the host: a copy comes when its thread waits for it, and a product of tensor cores when all
// threads of the warp have shown their parts. It has the layouts of the PTX ISA.
#pragma once
#include "device.hpp"

#define CT_UNROLL(n)

namespace CladTorch::Device {

inline float *Shared()
{
   return Host::SharedOf(blockIdx.x);
}

using Host::ArriveAndWait;
using Host::CopyAsync;
using Host::MeetCluster;
using Host::WaitForCopies;

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
   return Host::SharedOf(Host::Peer(rank)) + (own - Shared());
}

inline Quad FromPeer(const float *own, unsigned rank)
{
   return *reinterpret_cast<const Quad *>(Peer(own, rank));
}

inline void ToPeer(float *own, unsigned rank, const Quad &q)
{
   *reinterpret_cast<Quad *>(Peer(own, rank)) = q;
}

inline uint32_t BitsOf(float x)
{
   uint32_t bits;
   std::memcpy(&bits, &x, sizeof bits);
   return bits;
}

inline float FromBits(uint32_t bits)
{
   float x;
   std::memcpy(&x, &bits, sizeof x);
   return x;
}

inline uint32_t ToTf32(float x)
{
   return std::isfinite(x) ? (BitsOf(x) + (1u << 12)) & ~0x1fffu : BitsOf(x);
}

inline uint32_t ToBf16(float low, float high)
{
   const auto rounded = [](float x) {
      const uint32_t bits = BitsOf(x);
      return std::isfinite(x) ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : std::isnan(x) ? 0x7fffu : bits >> 16;
   };
   return rounded(low) | rounded(high) << 16;
}

/// c[16,8] += a[16,8] b[8,8], whose elements elementA(shown, row, k) and elementB(shown, k, column) come of what the threads show.
template <size_t NA, size_t NB, typename A, typename B>
inline void MultiplyShown(float (&c)[4], const uint32_t (&a)[NA], const uint32_t (&b)[NB], A elementA, B elementB)
{
   const unsigned lane = threadIdx.x % 32;
   Shown shown;
   Host::Show(a, NA, b, NB, shown);
   for (unsigned e = 0; e < 4; ++e)
      for (unsigned k = 0; k < 8; ++k)
         c[e] = std::fma(elementA(shown.a, lane / 4 + e / 2 * 8, k), elementB(shown.b, k, lane % 4 * 2 + e % 2), c[e]);
}

inline void MultiplyTf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
   // The hardware does not see the last 13 bits.
   MultiplyShown(c, a, b,
                 [](auto &of, unsigned row, unsigned k) { return FromBits(of[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2] & ~0x1fffu); },
                 [](auto &of, unsigned k, unsigned column) { return FromBits(of[column * 4 + k % 4][k / 4] & ~0x1fffu); });
}

inline void MultiplyBf16(float (&c)[4], const uint32_t (&a)[2], uint32_t b)
{
   const auto half = [](uint32_t both, unsigned k) { return FromBits(both >> k % 2 * 16 << 16); };
   const uint32_t bs[1] = {b};
   MultiplyShown(c, a, bs, [half](auto &of, unsigned row, unsigned k) { return half(of[row % 8 * 4 + k / 2][row / 8], k); },
                 [half](auto &of, unsigned k, unsigned column) { return half(of[column * 4 + k / 2][0], k); });
}

} // namespace CladTorch::Device
