/// \file CladTorch/FitOptions.hxx
/// \brief How a network is built and trained: enumerations and the options of Model::Fit.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_FITOPTIONS
#define CLADTORCH_FITOPTIONS

#include <CladTorch/Metric.hxx>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

/// Activation after each hidden layer.
enum EActivation {
   kIdentity = 0,
   kReLU = 1,
   kLeakyReLU = 2, ///< slope 0.01 below zero
   kTanh = 3,
   kSigmoid = 4,
   kSiLU = 5,     ///< x sigmoid(x)
   kGELU = 6,     ///< exact, with the error function
   kSoftplus = 7, ///< log(1 + exp(x))
};

/// Distribution of a layer's initial weights and biases.
enum EInit {
   kKaiming = 0, ///< He et al. 2015, zero biases: keeps the signal's variance through deep networks of the ReLU family
   kXavier = 1,  ///< Glorot and Bengio 2010, zero biases: the same for deep networks of tanh
   kUniform = 2, ///< weights and biases uniform within 1/sqrt(inputs), as PyTorch's linear layers: the default
};

/// The loss to minimise: the weighted mean over the events of a batch. The event weights are scaled so that their mean
/// over the training part is 1.
enum ELoss {
   /// One output: kBinaryCrossEntropy, more: kSoftmaxCrossEntropy; several targets: kMeanSquaredError.
   kAuto = 0,
   /// on one logit; labels 0 and 1, or anything between: label p stands for an event that is signal with probability p
   kBinaryCrossEntropy = 1,
   kSoftmaxCrossEntropy = 2, ///< on C logits; labels 0, 1, ..., C-1
   /// On values, one output for each target. The loss of an event is the mean over its targets: with one target in the
   /// squared units of the labels, with several relative to their variances.
   kMeanSquaredError = 3,
   /// Half the square up to one standard deviation of the labels, linear beyond; units as kMeanSquaredError. Without
   /// FitOptions::fStandardise up to 1.
   kHuber = 4,
   /// Binary cross-entropy that gives less weight to events that are already classified well (Lin et al. 2017, without
   /// alpha): the loss of an event of label 1 and probability p is -(1 - p)^g log(p) with g = FitOptions::fFocus.
   /// Labels as for kBinaryCrossEntropy.
   kFocal = 5,
   /// On values: learns the quantile FitOptions::fQuantile of the labels, not their mean (pinball loss, Koenker and Bassett
   /// 1978); in the units of the labels, with several targets relative to their standard deviations.
   kQuantile = 6,
   /// On values: learns the mean of the labels and how far they scatter around it, event by event (Nix and Weigend 1994; Kendall
   /// and Gal 2017, eq. 8), as the likelihood of a normal distribution. The model has two outputs for each target: first the
   /// means of all targets, then the logarithms of their variances s. The loss of an event is the sum of (s + (y - mean)^2 exp(-s)) / 2
   /// over its targets, with the labels in their units. Predictions are the means and then the standard deviations, in the units
   /// of the labels. A standard deviation is at least a ten-thousandth of that of the labels (without
   /// FitOptions::fStandardise at least 1e-4).
   kGaussian = 7,
};

enum EOptimiser {
   kAdam = 0,  ///< Kingma and Ba 2015; weight decay as an L2 term of the loss
   kAdamW = 1, ///< Loshchilov and Hutter 2019; weight decay apart from the gradient
   kSGD = 2,   ///< with momentum
};

/// How the learning rate changes during a fit.
enum ESchedule {
   kConstant = 0, ///< it does not change
   /// Falls along half a period of a cosine, from fLearningRate towards 0, after each epoch (Loshchilov and Hutter 2017).
   kCosine = 1,
   kStep = 2, ///< is multiplied by fDecay after every fDecayEpochs epochs
   /// Rises from fLearningRate / 25 to fLearningRate during 30 % of all steps, and falls to a 10,000th of where it began, each
   /// along half a period of a cosine (Smith and Topin 2018, as in PyTorch's OneCycleLR). It changes at every step.
   kOneCycle = 3,
   /// Is multiplied by fDecay when the validation loss has not improved, by a 10,000th of itself, in more than fDecayEpochs
   /// epochs in a row (as PyTorch's ReduceLROnPlateau).
   kPlateau = 4,
};

/// How events of negative weight, such as those of simulations at next-to-leading order, count in the loss of training
/// and validation. The choice changes the sums of weights of the classes; correct them with FitOptions::fClassWeights.
enum ENegativeWeights {
   /// With their weights. The network learns the densities of the signed events. If it singles out events of negative
   /// weight, the loss has no lower bound; Fit warns about this.
   kKeepNegative = 0,
   kDropNegative = 1,    ///< not at all, as if their weights were 0: they keep their places in batches
   kAbsoluteWeights = 2, ///< with the absolute values of their weights
};

/// The back end of a fit; EBackEnd lists those of compiled functions.
enum EGradient {
   kClad = 0,     ///< aot: kernels with Clad's derivatives, part of the plugin
   kAutograd = 1, ///< autograd: LibTorch itself
};

/// Precision of the factors of matrix products during a fit.
enum EPrecision {
   kFloat32 = 0, ///< float32
   /// bfloat16: float32 rounded to 8 significant bits, to the nearest (Kalamkar et al. 2019). Sums, parameters, activations, losses
   /// and the optimiser stay float32, and so do validation and predictions. It needs a processor with AVX512-BF16, or a GPU.
   kBF16 = 1,
   /// TF32: factors are rounded to 11 significant bits, on a GPU (large products of cuBLASLt: may be). Sums and all else stay float32.
   kTF32 = 2,
   /// Each factor as the sum of two numbers in TF32, 22 significant bits: three products on a GPU instead of one
   /// (Ootomo and Yokota 2022).
   kTF32x3 = 3,
};

/// Which processes train a model together.
enum EParallel {
   kOneProcess = 0, ///< this one alone
   /// All processes that `mpirun` or `srun` started: each computes its share of every batch, and the gradients are summed in a
   /// fixed order of the ranks before each step, so that all have the same model at the end.
   kMpi = 1,
};

/// Options of Model::Fit, which throws a CladTorch::Error for values out of range.
struct FitOptions {
   int fEpochs = 20;            ///< passes over the training part, at least 1
   std::int64_t fBatchSize = 256; ///< events per step, at least 1
   double fLearningRate = 3e-3; ///< of the first epoch, or the largest of kOneCycle; positive
   /// kCosine gives the better model after one fit of fEpochs; use kConstant to train in several fits of one epoch
   /// each.
   ESchedule fSchedule = kCosine;
   double fDecay = 0.1;         ///< factor of the learning rate in kStep and kPlateau, in (0, 1]
   int fDecayEpochs = 10;       ///< see kStep and kPlateau, at least 1
   /// Epochs, or a fraction of one, during which the learning rate first rises from 0, in equal parts at each step.
   double fWarmUp = 0;
   /// 0 or more. With kAdam and kSGD the L2 term of the loss; with kAdamW each step multiplies the weights by 1 - learning rate *
   /// fWeightDecay, so useful values are larger, such as 0.1 to 2.
   double fWeightDecay = 0;
   double fL1 = 0;              ///< factor of the sum of the absolute values of all parameters, a term of the loss
   double fClipNorm = 0;        ///< scales gradients down whose Euclidean norm over all parameters is larger; 0: none
   double fClipValue = 0;       ///< limits each component of the gradient to plus and minus this; 0: none
   double fMomentum = 0.9;      ///< in [0, 1); kSGD only
   double fValidation = 0.2;    ///< fraction of the events, in [0, 1), used for the validation loss instead of training
   /// Seed of the order of the events, of dropout and of the split into parts. The initial weights have their own
   /// (see Mlp).
   std::uint64_t fSeed = 1;
   std::uint64_t fSplitSeed = 0; ///< of the split into parts; 0: fSeed
   bool fShuffle = true;        ///< a new order of the events each epoch
   /// Standardises the features, and the labels of a regression (except with a loss of your own), to mean 0 and standard
   /// deviation 1 over the training part (event weights do not count). The model keeps the scalers and undoes them in
   /// its predictions. Features that a network takes as whole numbers (`x.to(torch::kLong)`, as for an embedding of
   /// categories, floor and the like) stay as they are, as do masks of padding; padded elements with a mask do not count.
   /// Targets for a network that ends in a function without negative values are scaled by their root mean square, and stay
   /// as they are for one between two numbers. `false`: uses the scalers that the model has; a new model has none.
   bool fStandardise = true;
   /// 0: as many as ROOT::EnableImplicitMT has set, at most one per core; autograd in a forked process uses 1 (set 1 where
   /// LibTorch runs a network there).
   int fThreads = 0;
   std::string fDevice = "cpu"; ///< or "cuda:0": the GPU of that number
   EOptimiser fOptimiser = kAdam;
   ELoss fLoss = kAuto;
   /// A loss of your own, instead of fLoss: C++ text that defines `double loss(double output, double label)`, or for several
   /// outputs `double loss(const double *outputs, double label)`, of one event. Clad differentiates it when Fit begins, which
   /// needs clang and Clad's plugin; the derivative is compared with difference quotients. Outputs and labels are not
   /// standardised, and Predict() returns the outputs, which Evaluate() judges as values of a regression: see fLogits.
   std::string fLossFunction;
   /// The outputs that a loss of your own takes (fLossFunction, or a function of LibTorch's operators) are logits: of
   /// label 1 for one output, else of each class. Predictions are then probabilities, and fMetrics, Evaluate(), Report() and exports treat the
   /// model as a classifier; labels are those of kBinaryCrossEntropy or kSoftmaxCrossEntropy.
   bool fLogits = false;
   /// Part of each label, in [0, 1), that the cross-entropies spread evenly over all labels (Szegedy et al. 2016).
   double fLabelSmoothing = 0;
   double fFocus = 2;           ///< exponent of kFocal, 0 or more
   double fQuantile = 0.5;      ///< of kQuantile, in (0, 1)
   /// Factors of the weights of events with label 0, 1, ... in the loss of training and validation; empty: 1. fMetrics know only
   /// the events' weights. Labels between classes are refused. Dataset::Balance() gives all classes the same weight instead.
   std::vector<double> fClassWeights;
   ENegativeWeights fNegativeWeights = kKeepNegative; ///< fMetrics and Evaluate() take all weights as they are
   /// Ends the fit after this many epochs in a row without a better validation loss; 0: all epochs run. The model gets
   /// the parameters of the epoch with the smallest validation loss: see History::RestoredEpoch().
   int fPatience = 0;
   double fMinImprovement = 0;  ///< least decrease of the validation loss that counts as an improvement for fPatience
   bool fKeepBest = false;      ///< gives the model the parameters of the best epoch without ending the fit early
   /// The file for checkpoints, each written whole or not at all: after every fCheckpointEpochs epochs, on a dataset
   /// also every fCheckpointMinutes minutes and when Ctrl-C ends the fit. Model::Resume() continues from there. Not
   /// with a loss of your own.
   std::string fCheckpoint;
   int fCheckpointEpochs = 1;     ///< at least 1
   double fCheckpointMinutes = 0; ///< 0: after epochs only
   /// Figures of the validation events after each epoch, for History::Metric() and the progress line. Functions get the
   /// predictions of the parameters after that epoch.
   std::vector<Metric> fMetrics;
   /// Called after each epoch; `true` ends the fit there, as if that epoch had been its last one. An exception from it
   /// ends the fit with an error. The model gets what was learned when the fit ends: until then it predicts as before the fit, and
   /// changes to its parameters are lost.
   std::function<bool(const Epoch &)> fCallback;
   bool fLive = false;          ///< draws the loss curves on a canvas while the fit runs, once or twice a second
   EGradient fGradient = kClad; ///< where kClad has no kernels autograd runs, and Fit says so
   /// Rounds the factors of products, so that they can take less time: see the page training.md. Fit throws where LibTorch's autograd
   /// runs and where no product would be rounded: with kBF16 on the CPU, without AVX512-BF16 or for a network without a linear layer of
   /// more than one output that takes the events or is connected with another one by element-wise functions; on a GPU, for a network that
   /// does not train by one kernel, with kTF32x3 always and otherwise if no product of a batch has 67 million multiplications. kTF32 and
   /// kTF32x3 need a GPU of compute capability 8.0 or newer.
   EPrecision fPrecision = kFloat32;
   /// kMpi: trains with the other processes of an MPI job, all of which run the same macro; see Rank(). Each holds all
   /// events of a Dataset, or a part of them after Dataset::SetSharding(). Each reads its part of a Stream, whose
   /// batches then differ from fBatchSize by at most the number of ranks. fBatchSize counts the events of all processes together. Only
   /// rank 0 prints, draws, calls fCallback and writes checkpoints. An error on one rank ends the job with a message
   /// that names it, and so does a rank that sends nothing for 10 minutes (or CLADTORCH_MPI_SECONDS). Outside a job it
   /// has no effect. Not on a GPU, with batch normalisation or with LibTorch's autograd.
   EParallel fParallel = kOneProcess;
   /// 0: only warnings. 1: progress, and the back end if it is not that of fGradient. 2: also the back end, its device
   /// and the reason. Progress is one line that is overwritten on a terminal and in a notebook, otherwise a line every few
   /// seconds.
   int fVerbose = 1;

   /// Called by PyROOT when it meets this class: checks the names and types of fields, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// Number of this process in the MPI job, from 0 on; 0 outside a job. Macros should print and save only on rank 0.
int Rank();
/// Number of processes in the MPI job; 1 outside a job.
int Ranks();

} // namespace CladTorch

#endif
