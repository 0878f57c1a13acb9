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

/// What a RandomSearch tried, and what came of it.
struct Trial {
   std::size_t fNumber = 0;  ///< from 0 on
   std::size_t fModel = 0;   ///< which of the models it began with, from 0 on
   FitOptions fOptions;      ///< with what was drawn
   double fScore = 0;        ///< the metric; of folds their mean; NaN where the fit failed
   double fScoreError = 0;   ///< of folds the standard error of the mean, from a variance that divides by folds - 1; else NaN
   double fLoss = 0;         ///< the validation loss of the parameters that were kept; of folds the mean
   std::size_t fEpochs = 0;  ///< epochs run, summed over the folds
   double fSeconds = 0;      ///< training time in s, summed over the folds
   std::string fError;       ///< why there is no score

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

/// Fits with networks and options drawn at random, of which it finds the best (Bergstra and Bengio, JMLR 13 (2012) 281).
///
/// ~~~{.cpp}
/// CladTorch::RandomSearch tuning({CladTorch::Mlp({28, 64, 1}), CladTorch::Mlp({28, 128, 128, 1})});
/// tuning.LogUniform("fLearningRate", 1e-4, 1e-1).Choice("fBatchSize", {64, 256, 1024});
/// tuning.Run(events, 30);
/// tuning.Print();
/// auto model = tuning.BestModel();
/// ~~~
///
/// Trial number i depends on FitOptions::fSeed and i alone, not on the number of threads nor of trials. All trials are judged by the
/// same validation events, or the same folds. Where all options have a choice of values and no range, no combination is tried twice.
class RandomSearch {
public:
   /// Each trial starts from one of the models, chosen with equal probability.
   explicit RandomSearch(const Model &model);
   explicit RandomSearch(const std::vector<Model> &models);
   // Not movable: a moved-from object would hold a null pointer.
   RandomSearch(const RandomSearch &) = default;
   RandomSearch &operator=(const RandomSearch &) = default;

   /// Draws the member `option` of FitOptions evenly from `low` to `high`; an integer from all between, with both.
   RandomSearch &Uniform(const std::string &option, double low, double high);
   /// The same by the logarithm: as often from 1e-4 to 1e-3 as from 1e-3 to 1e-2.
   RandomSearch &LogUniform(const std::string &option, double low, double high);
   /// Draws it from `values`: numbers, enumerators, or 0 and 1 for `false` and `true`.
   RandomSearch &Choice(const std::string &option, const std::vector<double> &values);

   /// Runs `trials` more fits to `data`, several at once on the threads (FitOptions::fThreads), one after the other where LibTorch runs
   /// a network or fMetrics has functions. The models begin with the parameters that they had before their first fit, and do not
   /// change. A fit that fails, for example because its loss diverges, has no score and says why. At Ctrl-C the trials that have ended
   /// stay. A further Run() goes on, with the same events, folds, fValidation and seeds. Throws where no trial has a score; Trials() says why.
   ///
   /// \param options Options that are not drawn. The score is the first of fMetrics, and without one the AUC, of several classes the accuracy,
   ///        of a regression the RMSE, after kGaussian the logarithm of the likelihood; kQuantile and losses of your own need a
   ///        metric. Lower is better for the RMSE, higher for every other metric. fSplitSeed, or fSeed, decides on the events that judge. Without
   ///        fCheckpoint, fLive and fCallback, which belong to one fit.
   /// \param folds 0: the score is that of the validation events (fValidation) for the parameters that the fit keeps. From 2 on: the mean
   ///        over so many folds, each judged by a model that was trained on the others (see Model::CrossValidate()).
   void Run(const Dataset &data, int trials = 20, const FitOptions &options = FitOptions(), int folds = 0);

   /// In the order of their numbers.
   const std::vector<Trial> &Trials() const;
   /// The one with the best score. Throws where none has one.
   const Trial &BestTrial() const;
   /// The model of that trial; of folds one that was fitted to all events with its options.
   Model BestModel() const;
   /// One row a trial: `trial`, `model`, `score`, `score_error`, `loss`, `epochs`, `seconds` and the options that were drawn, as numbers
   /// (`double`). Draw() shows the score against an option, Snapshot() writes a tree.
   ROOT::RDF::RNode Table() const;
   /// The score of each trial, with its standard error if there is one, against the drawn `option`; the best trial is marked. An axis
   /// of values that span more than a factor of 20 is logarithmic. The canvas belongs to ROOT. Throws for an option that is not
   /// drawn, and before a trial has a score.
   TCanvas *Draw(const std::string &option) const;
   /// The best trials with their options, at most `most`.
   void Print(std::size_t most = 10) const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::shared_ptr<const Internal::RandomSearchData> fData;
};

} // namespace CladTorch

#endif
