// The step of `cargo xtask bench step` for 28-64-64-1 by the library's kernels, called one after the other: `chain hand` with
// the pullbacks called in reverse by hand, `chain clad` with the reverse sequence that Clad writes. One thread.

#include "training.h"

// The kernels themselves, compiled for this processor.
#include "loss.cpp"
#include "packed.cpp"
#include "update.cpp"

#include <clad/Differentiator/Differentiator.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace Kernels = CladTorch::Kernels;

/// Rows of a tile, as in the library.
constexpr std::size_t kTile = 128;

/// What the pullbacks need beside arguments and adjoints.
struct Tile {
   std::size_t fRows;
   double fScale; ///< of the loss: one over the batch
   bool fSum;     ///< whether gradients are added to those of the tiles before
   const float *fSecondTransposed, *fThirdTransposed;
   double fLoss; ///< the sum over the rows
} gTile;

void First(const float *x, const float *layer, float *z)
{
   Kernels::PackedLinear(CT_RELU, gTile.fRows, kInputs, kHidden, x, layer, z);
}

void Second(const float *x, const float *layer, float *z)
{
   Kernels::PackedLinear(CT_RELU, gTile.fRows, kHidden, kHidden, x, layer, z);
}

void Third(const float *x, const float *layer, float *z)
{
   Kernels::PackedLinear(CT_IDENTITY, gTile.fRows, kHidden, 1, x, layer, z);
}

// Never called: its pullback computes value and derivative in one pass.
float Loss(const float *, const float *, const float *)
{
   return gTile.fLoss;
}

// A layer's pullback leaves the adjoint of the value before the activation in front of it.
namespace clad::custom_derivatives {

void First_pullback(const float *x, const float *, float *, float *d_layer, float *d_z)
{
   Kernels::PackedPullback<float>(CT_IDENTITY, gTile.fRows, kInputs, kHidden, x, nullptr, d_z, gTile.fSum, nullptr, 0, d_layer);
}

void Second_pullback(const float *x, const float *, float *, float *d_x, float *d_layer, float *d_z)
{
   Kernels::PackedPullback(CT_RELU, gTile.fRows, kHidden, kHidden, x, gTile.fSecondTransposed, d_z, gTile.fSum, d_x, 0,
                          d_layer);
}

void Third_pullback(const float *x, const float *, float *, float *d_x, float *d_layer, float *d_z)
{
   Kernels::PackedPullback(CT_RELU, gTile.fRows, kHidden, 1, x, gTile.fThirdTransposed, d_z, gTile.fSum, d_x, 0, d_layer);
}

void Loss_pullback(const float *z, const float *y, const float *w, float, float *d_z)
{
   float dense[kTile], slope[kTile];
   Kernels::UnpackMatrix(gTile.fRows, 1, z, dense);
   gTile.fLoss += Kernels::Loss(CT_BINARY_CROSS_ENTROPY, 0, gTile.fRows, 1, dense, y, w, gTile.fScale, slope);
   Kernels::PackMatrix(gTile.fRows, 1, slope, d_z);
}

} // namespace clad::custom_derivatives

/// The whole chain, which Clad differentiates.
float TileLoss(const float *x, const float *y, const float *w, const float *first, const float *second, const float *third,
               float *z1, float *z2, float *z3)
{
   First(x, first, z1);
   Second(z1, second, z2);
   Third(z2, third, z3);
   return Loss(z3, y, w);
}

void ByHand(const float *x, const float *y, const float *w, const float *first, const float *second, const float *third,
            float *z1, float *z2, float *z3, float *d_first, float *d_second, float *d_third, float *d_z1, float *d_z2,
            float *d_z3)
{
   using namespace clad::custom_derivatives;
   First(x, first, z1);
   Second(z1, second, z2);
   Third(z2, third, z3);
   Loss_pullback(z3, y, w, 1, d_z3);
   Third_pullback(z2, third, z3, d_z2, d_third, d_z3);
   Second_pullback(z1, second, z2, d_z1, d_second, d_z2);
   First_pullback(x, first, z1, d_first, d_z1);
}

/// Floats at a multiple of 64 bytes, of which most are one buffer after the other.
class Arena {
public:
   explicit Arena(std::size_t length)
      : fData(static_cast<float *>(std::aligned_alloc(64, (length * sizeof(float) + 63) / 64 * 64))), fLength(length)
   {
      if (!fData)
         throw std::bad_alloc();
      std::memset(fData, 0, length * sizeof(float));
   }
   Arena(const Arena &) = delete;
   ~Arena() { std::free(fData); }

   float *Take(std::size_t length)
   {
      if (length > fLength - fTaken)
         throw std::length_error("the arena is too small");
      fTaken += length;
      return fData + fTaken - length;
   }

private:
   float *fData;
   std::size_t fLength, fTaken = 0;
};

constexpr std::size_t kSides[4] = {kInputs, kHidden, kHidden, 1};

template <bool ByClad>
class Chain {
public:
   Chain(const std::vector<float> &parameters, std::size_t batch) : fArena(1 << 18), fBatch(batch)
   {
      const auto width = [](std::size_t side) { return (side + Panel() - 1) / Panel() * Panel(); };
      for (int layer = 0; layer < 3; ++layer)
         fLength += Kernels::LayerLength<float>(kSides[layer], kSides[layer + 1]);
      for (auto *buffer : {&fParameters, &fGradient, &fFirst, &fSecond})
         *buffer = fArena.Take(fLength);
      std::size_t flat = 0, own = 0;
      for (int layer = 0; layer < 3; ++layer) {
         const auto inputs = kSides[layer], outputs = kSides[layer + 1];
         fOffsets[layer] = own;
         const float *weights = parameters.data() + flat;
         Kernels::PackLayer(inputs, outputs, weights, weights + inputs * outputs, fParameters + own);
         flat += (inputs + 1) * outputs;
         own += Kernels::LayerLength<float>(inputs, outputs);
         fTransposed[layer] = fArena.Take(Kernels::TransposedLength<float>(inputs, outputs));
         fValues[layer] = fArena.Take(kTile * width(outputs));
         fAdjoints[layer] = fArena.Take(kTile * width(outputs));
      }
      fX = fArena.Take(kTile * width(kInputs));
      std::fill(fWeights, fWeights + kTile, 1.f);
      std::fill(fInverse, fInverse + kInputs, 1.f);
      Transpose();
   }

   void Step(const float *features, const float *labels)
   {
      auto reverse = clad::gradient(TileLoss, "first, second, third, z1, z2, z3");
      float *p = fParameters, *g = fGradient;
      for (std::size_t row = 0; row < fBatch; row += kTile) {
         gTile = {std::min(kTile, fBatch - row), 1. / fBatch, row > 0, fTransposed[1], fTransposed[2], 0};
         Kernels::Gather<float>(gTile.fRows, kInputs, nullptr, features + row * kInputs, fMean, fInverse, fX);
         const auto run = [&](auto &&function) {
            function(fX, labels + row, fWeights, p, p + fOffsets[1], p + fOffsets[2], fValues[0], fValues[1], fValues[2],
                     g, g + fOffsets[1], g + fOffsets[2], fAdjoints[0], fAdjoints[1], fAdjoints[2]);
         };
         if constexpr (ByClad)
            run([&](auto... arguments) { reverse.execute(arguments...); });
         else
            run(ByHand);
      }
      ct_update update{};
      update.learning_rate = 1e-3, update.beta1 = 0.9, update.beta2 = 0.999, update.epsilon = 1e-8, update.step = ++fSteps;
      Kernels::Adam<float>(&update, fLength, fParameters, fGradient, fFirst, fSecond);
      Transpose();
   }

   std::vector<float> Parameters() const
   {
      std::vector<float> flat(kParameters);
      float *weights = flat.data();
      for (int layer = 0; layer < 3; ++layer) {
         const auto inputs = kSides[layer], outputs = kSides[layer + 1];
         Kernels::UnpackLayer(inputs, outputs, fParameters + fOffsets[layer], weights, weights + inputs * outputs);
         weights += (inputs + 1) * outputs;
      }
      return flat;
   }

private:
   static std::size_t Panel() { return Kernels::kTileColumns<float>; }

   void Transpose()
   {
      for (int layer = 1; layer < 3; ++layer)
         Kernels::TransposeLayer(kSides[layer], kSides[layer + 1], fParameters + fOffsets[layer], fTransposed[layer]);
   }

   Arena fArena;
   std::size_t fBatch, fLength = 0, fOffsets[3];
   float *fParameters, *fGradient, *fFirst, *fSecond; // Adam's moments
   float *fTransposed[3], *fValues[3], *fAdjoints[3], *fX;
   float fWeights[kTile], fMean[kInputs] = {}, fInverse[kInputs];
   std::int64_t fSteps = 0;
};

int main(int, char **arguments)
{
   if (arguments[1] == std::string("clad"))
      Training<Chain<true>>::ServeAll();
   else
      Training<Chain<false>>::ServeAll();
}
