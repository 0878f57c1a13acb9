/// \file machine.hpp
/// What only the GPU has: shared memory whose size the launch says, that of the other blocks of a cluster, copies on their way,
/// memory that other blocks write, how blocks wait for one another, and tensor cores. The tests have the same for the host.
#pragma once
#include "device.hpp"

#include <cstdint>

#define CT_TEXT(x) #x
#define CT_UNROLL(n) _Pragma(CT_TEXT(unroll n))

namespace CladTorch::Device {

inline float *Shared()
{
   extern __shared__ __align__(16) float ct_shared[];
   return ct_shared;
}

/// Begins to copy a number to shared memory.
inline void CopyAsync(float *to, const float *from)
{
   asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

/// Waits for those that this thread began.
inline void WaitForCopies()
{
   asm volatile("cp.async.wait_all;" ::: "memory");
}

/// What lies there now, bypassing this multiprocessor's cache.
inline Quad Fresh(const float *from)
{
   Quad q;
   asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                : "=f"(q.f[0]), "=f"(q.f[1]), "=f"(q.f[2]), "=f"(q.f[3])
                : "l"(from));
   return q;
}

/// Writes for other blocks.
inline void Publish(float *to, const Quad &q)
{
   asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(q.f[0]), "f"(q.f[1]), "f"(q.f[2]), "f"(q.f[3])
                : "memory");
}

/// Where block number `rank` of this cluster has what lies at `own` in the shared memory of this one.
inline uint32_t PlaceOfPeer(const float *own, unsigned rank)
{
   uint32_t there;
   asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(unsigned(__cvta_generic_to_shared(own))), "r"(rank));
   return there;
}

/// What lies there.
inline Quad FromPeer(const float *own, unsigned rank)
{
   Quad q;
   asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                : "=f"(q.f[0]), "=f"(q.f[1]), "=f"(q.f[2]), "=f"(q.f[3])
                : "r"(PlaceOfPeer(own, rank)));
   return q;
}

/// Writes there.
inline void ToPeer(float *own, unsigned rank, const Quad &q)
{
   asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(PlaceOfPeer(own, rank)), "f"(q.f[0]), "f"(q.f[1]),
                "f"(q.f[2]), "f"(q.f[3])
                : "memory");
}

/// All threads of the cluster wait for one another: what each wrote before, the others read behind it.
inline void MeetCluster()
{
   asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

/// Counts this block, and waits until so many have been: what each wrote before, the others read behind it. One thread of a block calls
/// it.
inline void ArriveAndWait(unsigned *arrived, unsigned expected)
{
   asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
   unsigned seen;
   do
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
   while (seen < expected);
}

/// x with 11 significant bits, to the nearest, ties away from 0: the bits of a float whose last 13 are 0.
inline uint32_t ToTf32(float x)
{
   uint32_t bits;
   asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
   return bits;
}

inline float FromBits(uint32_t bits)
{
   return __uint_as_float(bits);
}

/// Two numbers with 8 significant bits, to the nearest, ties to even.
inline uint32_t ToBf16(float low, float high)
{
   uint32_t both;
   asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
   return both;
}

/// c[16,8] += a[16,8] b[8,8] by a warp. With g = lane / 4 and t = lane % 4 a thread has of a: (g, t), (g + 8, t), (g, t + 4) and
/// (g + 8, t + 4); of b: (t, g) and (t + 4, g); of c: (g, 2t), (g, 2t + 1), (g + 8, 2t) and (g + 8, 2t + 1).
/// (PTX ISA, matrix fragments for mma.m16n8k8)
inline void MultiplyTf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
   asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// The same, where a thread has of a: (g, 2t), (g, 2t + 1) and, as the second pair, (g + 8, 2t), (g + 8, 2t + 1); of b: (2t, g),
/// (2t + 1, g).
inline void MultiplyBf16(float (&c)[4], const uint32_t (&a)[2], uint32_t b)
{
   asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(b));
}

} // namespace CladTorch::Device
