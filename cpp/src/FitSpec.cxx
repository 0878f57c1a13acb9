#include "FitSpec.hxx"

#include "HomeProcess.hxx"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace CladTorch {
namespace Internal {

namespace {
/// The core counts in unsigned numbers: a negative one must not wrap around.
template <class T>
T NotNegative(const char *name, std::int64_t value)
{
   if (value < 0)
      throw std::runtime_error("FitOptions::" + std::string(name) + " is " + std::to_string(value) +
                               ": it must not be negative");
   return static_cast<T>(value);
}

/// Of the plugin. OpenMP, which runs LibTorch's operators, waits for ever in a fork for threads that are not there.
const HomeProcess kLoaded;
} // namespace

Core::FitSpec ToSpec(const FitOptions &options)
{
   Core::FitSpec spec;
   spec.epochs = NotNegative<std::uint32_t>("fEpochs", options.fEpochs);
   spec.batch_size = NotNegative<std::size_t>("fBatchSize", options.fBatchSize);
   spec.learning_rate = options.fLearningRate;
   spec.weight_decay = options.fWeightDecay;
   spec.momentum = options.fMomentum;
   spec.validation = options.fValidation;
   spec.seed = options.fSeed;
   spec.shuffle = options.fShuffle;
   spec.standardise = options.fStandardise;
   spec.threads = Threads(NotNegative<int>("fThreads", options.fThreads));
   if (kLoaded.IsElsewhere() && options.fGradient == kAutograd)
      spec.threads = 1;
   spec.device = options.fDevice;
   spec.optimiser = static_cast<std::uint8_t>(options.fOptimiser);
   spec.loss = static_cast<std::uint8_t>(options.fLoss);
   spec.loss_function = options.fLossFunction;
   spec.gradient = static_cast<std::uint8_t>(options.fGradient);
   return spec;
}

} // namespace Internal
} // namespace CladTorch
