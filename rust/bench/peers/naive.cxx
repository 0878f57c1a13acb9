// The step of `cargo xtask bench step` as textbook loops over one row, differentiated by Clad unchanged: Clad's result
// without our kernels. One thread.

#include "training.h"

#include <clad/Differentiator/Differentiator.h>

class Loops {
public:
   Loops(const std::vector<float> &parameters, std::size_t batch)
      : fParameters(parameters), fGradient(kParameters), fFirst(kParameters), fSecond(kParameters), fBatch(batch)
   {
   }

   void Step(const float *features, const float *labels)
   {
      auto gradient = clad::gradient(RowLoss, "p");
      fGradient.assign(kParameters, 0);
      for (std::size_t row = 0; row < fBatch; ++row)
         gradient.execute(fParameters.data(), features + row * kInputs, labels[row], fGradient.data());
      Adam();
   }

   const std::vector<float> &Parameters() const { return fParameters; }

private:
   void Adam()
   {
      ++fSteps;
      const double correct1 = 1 - std::pow(0.9, fSteps), correct2 = 1 - std::pow(0.999, fSteps);
      for (int i = 0; i < kParameters; ++i) {
         const float g = fGradient[i] / fBatch;
         fFirst[i] = 0.9f * fFirst[i] + 0.1f * g;
         fSecond[i] = 0.999f * fSecond[i] + 0.001f * g * g;
         fParameters[i] -= 1e-3 * (fFirst[i] / correct1) / (std::sqrt(fSecond[i] / correct2) + 1e-8);
      }
   }

   std::vector<float> fParameters, fGradient, fFirst, fSecond; // Adam's moments
   std::size_t fBatch;
   double fSteps = 0;
};

int main()
{
   Training<Loops>::ServeAll();
}
