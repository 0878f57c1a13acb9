#include "FitSpec.hxx"

#include "FilePath.hxx"
#include "HomeProcess.hxx"

#include "cladtorch/src/bridge/process.rs.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace CladTorch {
namespace Internal {

namespace {
/// The core counts in unsigned integers: a negative number must not wrap around.
template <class T>
T NotNegative(const char *name, std::int64_t value)
{
   if (value < 0)
      Core::fit_check_count(name, value);
   return static_cast<T>(value);
}

/// The process of the plugin. OpenMP, which runs LibTorch's operators, waits for ever in a fork for threads that do not
/// exist there.
const HomeProcess kLoaded;
} // namespace

Core::FitSpec ToSpec(const FitOptions &options)
{
   Core::FitSpec spec;
   spec.epochs = NotNegative<std::uint32_t>("fEpochs", options.fEpochs);
   spec.batch_size = NotNegative<std::size_t>("fBatchSize", options.fBatchSize);
   spec.learning_rate = options.fLearningRate;
   spec.schedule = static_cast<std::uint8_t>(options.fSchedule);
   spec.decay = options.fDecay;
   spec.decay_epochs = NotNegative<std::uint32_t>("fDecayEpochs", options.fDecayEpochs);
   spec.warm_up = options.fWarmUp;
   spec.weight_decay = options.fWeightDecay;
   spec.l1 = options.fL1;
   spec.clip_norm = options.fClipNorm;
   spec.clip_value = options.fClipValue;
   spec.momentum = options.fMomentum;
   spec.validation = options.fValidation;
   spec.seed = options.fSeed;
   spec.split_seed = options.fSplitSeed;
   spec.shuffle = options.fShuffle;
   spec.standardise = options.fStandardise;
   spec.threads = std::min(Threads(NotNegative<int>("fThreads", options.fThreads)), Core::cores());
   if (kLoaded.IsElsewhere() && options.fGradient == kAutograd)
      spec.threads = 1;
   spec.gpu_parts = 1;
   spec.device = options.fDevice;
   spec.optimiser = static_cast<std::uint8_t>(options.fOptimiser);
   spec.loss = static_cast<std::uint8_t>(options.fLoss);
   spec.loss_function = options.fLossFunction;
   spec.logits = options.fLogits;
   spec.label_smoothing = options.fLabelSmoothing;
   spec.focus = options.fFocus;
   spec.quantile = options.fQuantile;
   for (const double weight : options.fClassWeights)
      spec.class_weights.push_back(weight);
   spec.negative_weights = static_cast<std::uint8_t>(options.fNegativeWeights);
   spec.patience = NotNegative<std::uint32_t>("fPatience", options.fPatience);
   spec.min_improvement = options.fMinImprovement;
   spec.keep_best = options.fKeepBest;
   spec.checkpoint = options.fCheckpoint.empty() ? "" : FilePath(options.fCheckpoint);
   spec.checkpoint_epochs = NotNegative<std::uint32_t>("fCheckpointEpochs", options.fCheckpointEpochs);
   spec.checkpoint_minutes = options.fCheckpointMinutes;
   for (const auto &metric : options.fMetrics)
      spec.metrics.push_back(metric.Name());
   spec.gradient = static_cast<std::uint8_t>(options.fGradient);
   spec.precision = static_cast<std::uint8_t>(options.fPrecision);
   spec.mpi = options.fParallel == kMpi;
   spec.verbose = options.fVerbose;
   return spec;
}

FitOptions FromSpec(const Core::FitSpec &spec)
{
   FitOptions options;
   options.fEpochs = static_cast<int>(spec.epochs);
   options.fBatchSize = static_cast<std::int64_t>(spec.batch_size);
   options.fLearningRate = spec.learning_rate;
   options.fSchedule = static_cast<ESchedule>(spec.schedule);
   options.fDecay = spec.decay;
   options.fDecayEpochs = static_cast<int>(spec.decay_epochs);
   options.fWarmUp = spec.warm_up;
   options.fWeightDecay = spec.weight_decay;
   options.fL1 = spec.l1;
   options.fClipNorm = spec.clip_norm;
   options.fClipValue = spec.clip_value;
   options.fMomentum = spec.momentum;
   options.fValidation = spec.validation;
   options.fSeed = spec.seed;
   options.fSplitSeed = spec.split_seed;
   options.fShuffle = spec.shuffle;
   options.fStandardise = spec.standardise;
   options.fThreads = static_cast<int>(spec.threads);
   options.fDevice = std::string(spec.device);
   options.fOptimiser = static_cast<EOptimiser>(spec.optimiser);
   options.fLoss = static_cast<ELoss>(spec.loss);
   options.fLossFunction = std::string(spec.loss_function);
   options.fLogits = spec.logits;
   options.fLabelSmoothing = spec.label_smoothing;
   options.fFocus = spec.focus;
   options.fQuantile = spec.quantile;
   options.fClassWeights.assign(spec.class_weights.begin(), spec.class_weights.end());
   options.fNegativeWeights = static_cast<ENegativeWeights>(spec.negative_weights);
   options.fPatience = static_cast<int>(spec.patience);
   options.fMinImprovement = spec.min_improvement;
   options.fKeepBest = spec.keep_best;
   options.fCheckpoint = std::string(spec.checkpoint);
   options.fCheckpointEpochs = static_cast<int>(spec.checkpoint_epochs);
   options.fCheckpointMinutes = spec.checkpoint_minutes;
   options.fGradient = static_cast<EGradient>(spec.gradient);
   options.fPrecision = static_cast<EPrecision>(spec.precision);
   options.fParallel = spec.mpi ? kMpi : kOneProcess;
   options.fVerbose = spec.verbose;
   return options;
}

} // namespace Internal
} // namespace CladTorch
