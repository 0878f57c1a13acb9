/// \file epoch.hpp
/// A perceptron in training as one kernel that makes the steps of many batches. Each block has all parameters in its shared memory
/// and takes tiles of R rows of a batch, forward and backward. Then the blocks sum their gradients in a fixed order and move the
/// parameters: MoveInCluster() or MoveShare(). Matrices have widths that are multiples of 32, filled up with zeros, and rows that are
/// 4 numbers longer: then the vectors of 4 numbers that the threads of a warp read from neighbouring rows lie in different banks.
#pragma once
#include "machine.hpp"
#include "step.hpp"

namespace CladTorch::Device {

/// So many blocks wait for one another, as those of a cluster do; all of the grid has to be on the GPU. The counter begins with 0 and
/// stays below 2^31.
struct Meeting {
   unsigned *fArrived;
   unsigned fBlocks, fExpected;

   void Wait()
   {
      __syncthreads();
      if (threadIdx.x == 0) {
         fExpected += fBlocks;
         ArriveAndWait(fArrived, fExpected);
      }
      __syncthreads();
   }
};

constexpr unsigned kThreads = 256, kWarp = 32, kWarps = kThreads / kWarp, kGap = 4;

inline Quad &QuadAt(float *p)
{
   return *reinterpret_cast<Quad *>(p);
}

inline Quad QuadAt(const float *p)
{
   return *reinterpret_cast<const Quad *>(p);
}

/// sum += factor * x
inline void AddTo(Quad &sum, float factor, const Quad &x)
{
   for (unsigned e = 0; e < 4; ++e)
      sum.f[e] = std::fma(factor, x.f[e], sum.f[e]);
}

/// a[at] = A of z, and slope[at] = its derivative there, or 0 of a column that only fills up.
template <typename A>
inline void PutActivation(bool isOwn, float z, unsigned at, float *a, float *slope)
{
   a[at] = isOwn ? A::Value(z) : 0;
   if (slope)
      slope[at] = isOwn ? A::Slope(z) : 0;
}

/// a[R,O] = the function A of x[R,K] w[O,K]^T + b[O], and slope[R,O] = its derivative there; both are 0 past the first `Own` columns.
/// Here and below few threads have large tiles, as numbers come from shared memory more slowly than they are multiplied.
template <unsigned R, unsigned O, unsigned Own, unsigned K, typename A>
inline void Forward(const float *x, const float *w, const float *b, float *a, float *slope)
{
   constexpr unsigned kRows = R / 4, kColumns = O / 32;
   const unsigned row = threadIdx.x / 8 % 4, column = threadIdx.x / kWarp * 8 + threadIdx.x % 8;
   if (column >= 32)
      return;
   float sums[kRows][kColumns] = {};
   CT_UNROLL(4)
   for (unsigned k = 0; k < K; k += 4) {
      Quad xs[kRows], ws[kColumns];
      for (unsigned i = 0; i < kRows; ++i)
         xs[i] = QuadAt(x + (row + 4 * i) * (K + kGap) + k);
      for (unsigned j = 0; j < kColumns; ++j)
         ws[j] = QuadAt(w + (column + 32 * j) * (K + kGap) + k);
      for (unsigned i = 0; i < kRows; ++i)
         for (unsigned j = 0; j < kColumns; ++j)
            for (unsigned e = 0; e < 4; ++e)
               sums[i][j] = std::fma(xs[i].f[e], ws[j].f[e], sums[i][j]);
   }
   CT_UNROLL(kRows) // else the sums lie in memory
   for (unsigned i = 0; i < kRows; ++i)
      CT_UNROLL(kColumns)
      for (unsigned j = 0; j < kColumns; ++j) {
         const unsigned c = column + 32 * j;
         PutActivation<A>(c < Own, sums[i][j] + b[c], (row + 4 * i) * (O + kGap) + c, a, slope);
      }
}

/// d[R,K] *= dz[R,O] w[O,K]: slopes become adjoints.
template <unsigned R, unsigned O, unsigned K>
inline void Back(const float *dz, const float *w, float *d)
{
   constexpr unsigned kRows = R / 8, kDown = R / (4 * kRows);
   const unsigned lane = threadIdx.x % kWarp;
   for (unsigned tile = threadIdx.x / kWarp; tile < kDown * (K / 32); tile += kWarps) {
      const unsigned row = tile % kDown * 4 * kRows + lane / 8, column = tile / kDown * 32 + lane % 8 * 4;
      Quad sums[kRows] = {};
      CT_UNROLL(4)
      for (unsigned o = 0; o < O; o += 4) {
         Quad given[kRows];
         for (unsigned i = 0; i < kRows; ++i)
            given[i] = QuadAt(dz + (row + 4 * i) * (O + kGap) + o);
         for (unsigned e = 0; e < 4; ++e) {
            const Quad weights = QuadAt(w + (o + e) * (K + kGap) + column);
            for (unsigned i = 0; i < kRows; ++i)
               AddTo(sums[i], given[i].f[e], weights);
         }
      }
      for (unsigned i = 0; i < kRows; ++i) {
         Quad &to = QuadAt(d + (row + 4 * i) * (K + kGap) + column);
         Quad slopes = to;
         for (unsigned e = 0; e < 4; ++e)
            slopes.f[e] *= sums[i].f[e];
         to = slopes;
      }
   }
}

/// to[O] = the sums over R rows of dz, each of which is Width numbers behind the last; with `adds` they are added to what is there.
template <unsigned R, unsigned O, unsigned Width>
inline void BiasGradient(const float *dz, float *to, bool adds)
{
   for (unsigned o = threadIdx.x; o < O; o += kThreads) {
      float sum = adds ? to[o] : 0;
      for (unsigned r = 0; r < R; ++r)
         sum += dz[r * Width + o];
      to[o] = sum;
   }
}

/// to[O,K] and, behind it, to[O]: the sums over R rows of dz x and of dz; with `adds` they are added to what is there.
template <unsigned R, unsigned O, unsigned K>
inline void Gradient(const float *dz, const float *x, float *to, bool adds)
{
   constexpr unsigned kDown = O / 16;
   const unsigned lane = threadIdx.x % kWarp;
   for (unsigned tile = threadIdx.x / kWarp; tile < kDown * (K / 32); tile += kWarps) {
      const unsigned row = tile % kDown * 16 + lane / 8 * 4, column = tile / kDown * 32 + lane % 8 * 4;
      Quad sums[4] = {};
      CT_UNROLL(8)
      for (unsigned r = 0; r < R; ++r) {
         const Quad given = QuadAt(dz + r * (O + kGap) + row), from = QuadAt(x + r * (K + kGap) + column);
         for (unsigned i = 0; i < 4; ++i)
            AddTo(sums[i], given.f[i], from);
      }
      for (unsigned i = 0; i < 4; ++i) {
         Quad &there = QuadAt(to + (row + i) * (K + kGap) + column);
         if (adds)
            AddTo(sums[i], 1, there);
         there = sums[i];
      }
   }
   BiasGradient<R, O, O + kGap>(dz, to + O * (K + kGap), adds);
}

/// parts[R, kThreads / R, O] = parts of the sums of x[R,K] w[O,K]^T, of few outputs.
template <unsigned R, unsigned O, unsigned K>
inline void NarrowParts(const float *x, const float *w, float *parts)
{
   constexpr unsigned kParts = kThreads / R;
   const unsigned r = threadIdx.x / kParts, part = threadIdx.x % kParts;
   float sums[O] = {};
   for (unsigned k = part * 4; k < K; k += kParts * 4) {
      const Quad from = QuadAt(x + r * (K + kGap) + k);
      for (unsigned o = 0; o < O; ++o) {
         const Quad weights = QuadAt(w + o * (K + kGap) + k);
         for (unsigned e = 0; e < 4; ++e)
            sums[o] = std::fma(from.f[e], weights.f[e], sums[o]);
      }
   }
   for (unsigned o = 0; o < O; ++o)
      parts[threadIdx.x * O + o] = sums[o];
}

/// z[O] = the outputs of row r.
template <unsigned R, unsigned O>
inline void NarrowSum(unsigned r, const float *parts, const float *b, float *z)
{
   constexpr unsigned kParts = kThreads / R;
   for (unsigned o = 0; o < O; ++o) {
      float sum = b[o];
      for (unsigned part = 0; part < kParts; ++part)
         sum += parts[(r * kParts + part) * O + o];
      z[o] = sum;
   }
}

/// Back() and Gradient() of few outputs, dz[R,O] without gaps.
template <unsigned R, unsigned O, unsigned K>
inline void NarrowBack(const float *dz, const float *w, float *d)
{
   for (unsigned quad = threadIdx.x; quad < R * K / 4; quad += kThreads) {
      const unsigned r = quad / (K / 4), k = quad % (K / 4) * 4;
      Quad sum = {};
      for (unsigned o = 0; o < O; ++o)
         AddTo(sum, dz[r * O + o], QuadAt(w + o * (K + kGap) + k));
      Quad &to = QuadAt(d + r * (K + kGap) + k);
      Quad slopes = to;
      for (unsigned e = 0; e < 4; ++e)
         slopes.f[e] *= sum.f[e];
      to = slopes;
   }
}

template <unsigned R, unsigned O, unsigned K>
inline void NarrowGradient(const float *dz, const float *x, float *to, bool adds)
{
   for (unsigned e = threadIdx.x; e < O * K; e += kThreads) {
      const unsigned o = e / K, k = e % K;
      float &there = to[o * (K + kGap) + k];
      float sum = adds ? there : 0;
      for (unsigned r = 0; r < R; ++r)
         sum = std::fma(dz[r * O + o], x[r * (K + kGap) + k], sum);
      there = sum;
   }
   BiasGradient<R, O, O>(dz, to + O * (K + kGap), adds);
}

/// Rows in memory.
struct Table {
   const float *fFeatures; ///< [_, F]
   const float *fLabels;   ///< [_, T]
   const float *fWeights;  ///< [_]
   const uint32_t *fOrder;
};

/// The places of a thread's part of a tile, and what brings it to x[R, K], y[R,T] and w[R]. Between both the thread has time for
/// other work. A row past the end is the first one, with a weight of 0.
template <unsigned R, unsigned F, unsigned K, unsigned T>
struct Gathering {
   static constexpr unsigned kEach = (R * F + kThreads - 1) / kThreads;
   uint32_t fRows[kEach], fOwn;

   static uint32_t RowOf(const Table &table, const Tile &tile, unsigned r)
   {
      return table.fOrder[tile.fFirst + r < tile.fEnd ? tile.fFirst + r : tile.fFirst];
   }

   void Ask(const Table &table, const Tile &tile)
   {
      for (unsigned i = 0; i < kEach; ++i) {
         const unsigned e = threadIdx.x + i * kThreads;
         fRows[i] = e < R * F ? RowOf(table, tile, e / F) : 0;
      }
      fOwn = threadIdx.x < R ? RowOf(table, tile, threadIdx.x) : 0;
   }

   void Bring(const Table &table, const Tile &tile, float *x, float *y, float *w) const
   {
      for (unsigned i = 0; i < kEach; ++i) {
         const unsigned e = threadIdx.x + i * kThreads;
         if (e < R * F)
            CopyAsync(x + e / F * (K + kGap) + e % F, table.fFeatures + size_t(fRows[i]) * F + e % F);
      }
      if (threadIdx.x >= R)
         return;
      for (unsigned t = 0; t < T; ++t)
         CopyAsync(y + threadIdx.x * T + t, table.fLabels + size_t(fOwn) * T + t);
      if (tile.fFirst + threadIdx.x < tile.fEnd)
         CopyAsync(w + threadIdx.x, table.fWeights + fOwn);
      else
         w[threadIdx.x] = 0;
   }
};

/// to[n] = from[n], which other blocks wrote; n is a multiple of 4.
inline void ReadFresh(unsigned n, const float *from, float *to)
{
   CT_UNROLL(8)
   for (unsigned i = threadIdx.x * 4; i < n; i += kThreads * 4)
      QuadAt(to + i) = Fresh(from + i);
}

/// Moves parameters that every block has in its shared memory, and whose gradient it has in memory: sums this block's share of
/// `parts` gradients[_, n] and moves its share of the parameters, for the others to read. `sums` has room for a Quad for each thread.
template <typename Update>
inline void MoveShare(unsigned n, unsigned parts, const Rule &rule, const Batch &batch, Meeting &meeting, const float *gradients,
                      float *own, float *parameters, float *first, float *second, float *sums)
{
   const unsigned quads = n / 4, share = (quads + gridDim.x - 1) / gridDim.x;
   const unsigned begin = blockIdx.x * share, end = begin + share < quads ? begin + share : quads;
   unsigned side = kThreads; // threads next to each other, which read neighbours; with several groups all of the share at once
   while (side / 2 >= share && side > kWarp)
      side /= 2;
   const unsigned groups = kThreads / side, column = threadIdx.x % side, group = threadIdx.x / side;
   meeting.Wait();
   for (unsigned base = begin; base < end; base += side) {
      const unsigned at = (base + column) * 4;
      const bool isInside = base + column < end;
      Quad sum = {};
      if (isInside) {
         CT_UNROLL(8)
         for (unsigned part = group; part < parts; part += groups)
            AddTo(sum, 1, Fresh(gradients + size_t(part) * n + at));
      }
      QuadAt(sums + threadIdx.x * 4) = sum;
      __syncthreads();
      if (isInside && group == 0) {
         for (unsigned other = 1; other < groups; ++other)
            AddTo(sum, 1, QuadAt(sums + (other * side + column) * 4));
         Quad p = QuadAt(own + at), m = QuadAt(first + at), v = QuadAt(second + at);
         for (unsigned e = 0; e < 4; ++e)
            Update::Step(rule, batch, p.f[e], sum.f[e], m.f[e], v.f[e]);
         QuadAt(first + at) = m;
         QuadAt(second + at) = v;
         Publish(parameters + at, p);
      }
   }
   meeting.Wait();
   ReadFresh(n, parameters, own);
}

/// Moves parameters that every block has in its shared memory beside their gradient: each block of a cluster sums its share of the
/// cluster's gradients; blocks with the same share in several clusters exchange these sums through memory, sums[2, clusters, n], in
/// turns in its two halves; each cluster moves all parameters, and each of its blocks gives its share to the others.
template <typename Update, unsigned Size>
class MoveInCluster {
   Meeting fMeeting;
   unsigned fTurn = 0;
   /// Of this block's share.
   float *fFirst, *fSecond;

   static unsigned Share(unsigned n) { return (n / 4 + Size - 1) / Size; }
   static unsigned FirstQuad(unsigned n) { return blockIdx.x % Size * Share(n); }
   static unsigned LastQuad(unsigned n)
   {
      const unsigned end = FirstQuad(n) + Share(n);
      return end < n / 4 ? end : n / 4;
   }

   static Quad OfCluster(float *gradient)
   {
      Quad all[Size], sum = {}; // all of them on their way before the first is used
      for (unsigned rank = 0; rank < Size; ++rank)
         all[rank] = FromPeer(gradient, rank);
      for (unsigned rank = 0; rank < Size; ++rank)
         AddTo(sum, 1, all[rank]);
      return sum;
   }

   void Move(const Rule &rule, const Batch &batch, float *own, const Quad &gradient, unsigned at)
   {
      Quad p = QuadAt(own);
      Quad &m = QuadAt(fFirst + at * 4), &v = QuadAt(fSecond + at * 4);
      for (unsigned e = 0; e < 4; ++e)
         Update::Step(rule, batch, p.f[e], gradient.f[e], m.f[e], v.f[e]);
      for (unsigned rank = 0; rank < Size; ++rank)
         ToPeer(own, rank, p);
   }

public:
   /// The moments of this block's share lie in its shared memory.
   MoveInCluster(unsigned *arrived, float *first, float *second)
      : fMeeting{arrived, gridDim.x / Size, 0}, fFirst(first), fSecond(second)
   {
   }

   void Begin(unsigned n, const float *first, const float *second)
   {
      for (unsigned quad = FirstQuad(n) + threadIdx.x; quad < LastQuad(n); quad += kThreads) {
         QuadAt(fFirst + (quad - FirstQuad(n)) * 4) = QuadAt(first + quad * 4);
         QuadAt(fSecond + (quad - FirstQuad(n)) * 4) = QuadAt(second + quad * 4);
      }
   }

   /// All clusters have the same in the end: the first one writes it.
   void End(unsigned n, const float *own, float *parameters, float *first, float *second) const
   {
      if (blockIdx.x >= Size)
         return;
      for (unsigned quad = FirstQuad(n) + threadIdx.x; quad < LastQuad(n); quad += kThreads) {
         QuadAt(parameters + quad * 4) = QuadAt(own + quad * 4);
         QuadAt(first + quad * 4) = QuadAt(fFirst + (quad - FirstQuad(n)) * 4);
         QuadAt(second + quad * 4) = QuadAt(fSecond + (quad - FirstQuad(n)) * 4);
      }
   }

   void Step(unsigned n, const Rule &rule, const Batch &batch, float *own, float *gradient, float *sums)
   {
      const unsigned begin = FirstQuad(n), end = LastQuad(n), clusters = gridDim.x / Size;
      MeetCluster();
      if (clusters > 1) {
         float *const half = sums + size_t(fTurn % 2) * clusters * n;
         for (unsigned quad = begin + threadIdx.x; quad < end; quad += kThreads)
            Publish(half + size_t(blockIdx.x / Size) * n + quad * 4, OfCluster(gradient + quad * 4));
         fMeeting.Wait();
         for (unsigned quad = begin + threadIdx.x; quad < end; quad += kThreads) {
            Quad sum = {};
            CT_UNROLL(8)
            for (unsigned cluster = 0; cluster < clusters; ++cluster)
               AddTo(sum, 1, Fresh(half + size_t(cluster) * n + quad * 4));
            Move(rule, batch, own + quad * 4, sum, quad - begin);
         }
         ++fTurn;
      } else {
         for (unsigned quad = begin + threadIdx.x; quad < end; quad += kThreads)
            Move(rule, batch, own + quad * 4, OfCluster(gradient + quad * 4), quad - begin);
      }
      MeetCluster();
   }
};

} // namespace CladTorch::Device
