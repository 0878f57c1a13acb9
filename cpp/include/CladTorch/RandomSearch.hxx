/// \file CladTorch/RandomSearch.hxx
/// \brief Random search over networks and the options of their fits.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_RANDOMSEARCH
#define CLADTORCH_RANDOMSEARCH

#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Model.hxx>

#include <ROOT/RDataFrame.hxx>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct _object; // Python's PyObject
class TCanvas;

namespace CladTorch {

class Dataset;

namespace Internal {
struct RandomSearchData;
}

/// One trial of a RandomSearch and its result.
struct Trial {
   std::size_t fNumber = 0;  ///< from 0 on
   std::size_t fModel = 0;   ///< index of the model that it started from
   FitOptions fOptions;      ///< the options of the fit, drawn ones included
   double fScore = 0;        ///< the metric, or its mean over the folds; NaN if the fit failed
   double fScoreError = 0;   ///< standard error of the mean over the folds (variance divided by folds - 1); else NaN
   double fLoss = 0;         ///< validation loss of the kept parameters, or its mean over the folds
   std::size_t fEpochs = 0;  ///< epochs run, summed over the folds
   double fSeconds = 0;      ///< training time in s, summed over the folds
   std::string fError;       ///< why there is no score

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// Fits with networks and options drawn at random, to find the best (Bergstra and Bengio, JMLR 13 (2012) 281).
///
/// ~~~{.cpp}
/// CladTorch::RandomSearch tuning({CladTorch::Mlp({28, 64, 1}), CladTorch::Mlp({28, 128, 128, 1})});
/// tuning.LogUniform("fLearningRate", 1e-4, 1e-1).Choice("fBatchSize", {64, 256, 1024});
/// tuning.Run(events, 30);
/// tuning.Print();
/// auto model = tuning.BestModel();
/// ~~~
///
/// Trial number i depends on FitOptions::fSeed and i alone, not on the number of threads or trials. All trials are
/// judged by the same validation events, or the same folds. If all options have a choice of values and none has a
/// range, no combination is tried twice.
class RandomSearch {
public:
   /// Each trial starts from one of the models, chosen with equal probability.
   explicit RandomSearch(const Model &model);
   explicit RandomSearch(const std::vector<Model> &models);
   // Not movable: a moved-from object would hold a null pointer.
   RandomSearch(const RandomSearch &) = default;
   RandomSearch &operator=(const RandomSearch &) = default;

   /// Draws the member `option` of FitOptions uniformly from `low` to `high`, both included for an integer.
   RandomSearch &Uniform(const std::string &option, double low, double high);
   /// The same, uniform in the logarithm: as often from 1e-4 to 1e-3 as from 1e-3 to 1e-2.
   RandomSearch &LogUniform(const std::string &option, double low, double high);
   /// Draws it from `values`: numbers, enumerators, or 0 and 1 for `false` and `true`.
   RandomSearch &Choice(const std::string &option, const std::vector<double> &values);

   /// Runs `trials` more fits to `data`, several at once on the threads (FitOptions::fThreads), or one after the other
   /// if LibTorch runs a network or fMetrics has functions. The fits start from the parameters that the models had
   /// before their first fit; the models do not change. A fit that fails, for example because its loss diverges, has no
   /// score and says why. Ctrl-C keeps the finished trials. A further Run() continues, with the same events, folds,
   /// fValidation and seeds. Throws if no trial has a score; Trials() says why.
   ///
   /// \param options Options that are not drawn. The score is the first of fMetrics. Without fMetrics it is the AUC,
   ///        the accuracy for several classes, the RMSE for a regression, or the log likelihood after kGaussian;
   ///        kQuantile and losses of your own need a metric. Lower is better for the RMSE, higher for every other
   ///        metric. fSplitSeed, or fSeed, determines the events that judge. Throws if fCheckpoint, fLive or fCallback
   ///        is set, as they belong to one fit.
   /// \param folds 0: the score is that of the validation events (fValidation) for the parameters that the fit keeps. 2
   ///        or more: the mean over as many folds, each judged by a model that was trained on the others (see
   ///        Model::CrossValidate()).
   void Run(const Dataset &data, int trials = 20, const FitOptions &options = FitOptions(), int folds = 0);

   /// All trials, in the order of their numbers.
   const std::vector<Trial> &Trials() const;
   /// The trial with the best score. Throws if no trial has a score.
   const Trial &BestTrial() const;
   /// The model of that trial; with folds, a model fitted to all events with its options.
   Model BestModel() const;
   /// One row per trial: `trial`, `model`, `score`, `score_error`, `loss`, `epochs`, `seconds` and the options that
   /// were drawn, as numbers (`double`). Draw() shows the score against an option, Snapshot() writes a tree.
   ROOT::RDF::RNode Table() const;
   /// The score of each trial, with its standard error if there is one, against the drawn `option`; the best trial is marked. An axis
   /// of values that span more than a factor of 20 is logarithmic. The canvas belongs to ROOT. Throws for an option that is not
   /// drawn, and before a trial has a score.
   TCanvas *Draw(const std::string &option) const;
   /// Prints the best trials with their options, at most `most`.
   void Print(std::size_t most = 10) const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::shared_ptr<const Internal::RandomSearchData> fData;
};

} // namespace CladTorch

#endif
