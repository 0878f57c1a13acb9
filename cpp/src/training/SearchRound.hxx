/// \file SearchRound.hxx
/// \brief The trials of one call of RandomSearch::Run().

#ifndef CLADTORCH_SEARCHROUND
#define CLADTORCH_SEARCHROUND

#include <CladTorch/RandomSearch.hxx>

#include "CoreBox.hxx"
#include "Interrupt.hxx"
#include "SideBySide.hxx"

#include "cladtorch/src/bridge/random_search.rs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

/// The terms shared by all trials of a search: scores are comparable only on the same events.
struct SearchTerms {
   std::uint64_t fSeed, fSplitSeed;
   double fValidation;
   std::size_t fFolds, fEvents;
};

/// The data of a RandomSearch. Never changed while shared.
struct RandomSearchData {
   explicit RandomSearchData(const std::vector<Model> &models) : fModels(models), fSpace(Core::space_new(models.size())) {}
   RandomSearchData(const RandomSearchData &other);

   /// Throws unless trials with `terms` are comparable with the earlier ones.
   void CheckTerms(const SearchTerms &terms) const;
   /// Adds a trial, with the values that were drawn for it.
   void Add(const Trial &trial, std::vector<double> drawn);
   bool IsTried(std::size_t number) const;
   /// Whether `trial` is better; of two equally good ones the first is.
   bool IsBetter(const Trial &trial, const Trial &than) const;
   const Trial *Best() const;
   /// "fLearningRate = 0.01, fOptimiser = kAdam"
   std::string Describe(const std::vector<double> &drawn) const;

   std::vector<Model> fModels;
   rust::Box<Core::Space> fSpace;
   std::vector<std::string> fNames;            ///< of the options that are drawn
   std::vector<Trial> fTrials;                 ///< in the order of their numbers
   std::vector<std::vector<double>> fDrawn;    ///< [trials][options]
   std::optional<Metric> fMetric;              ///< of the scores
   std::optional<SearchTerms> fTerms;          ///< of the first Run()
   std::optional<Model> fBestModel;            ///< of Best(); none: it was not fitted to all events
};

/// Runs trials and adds them to a search.
struct SearchRound {
   SearchRound(RandomSearchData &search, const Dataset &data, const FitOptions &options, std::size_t folds, std::size_t trials);

   void Run(const InterruptScope &interrupt);

   std::size_t Trials() const { return fPlans.size(); }

private:
   struct Plan {
      Trial fTrial;
      std::vector<double> fDrawn;
      std::size_t fLeft = 0; ///< tasks that have not ended
   };

   /// Tasks of a trial, which are adjacent.
   std::size_t TasksOfTrial() const { return std::max<std::size_t>(1, fFolds); }

   void Draw(std::size_t trials);
   void ChooseMetric();
   void AddTasks();
   void Ended(std::size_t task);
   /// Scores a trial from its tasks, the first of which is `first`.
   void Score(Trial &trial, std::size_t first);
   double ScoreOf(const FitTask &task, std::size_t fold) const;
   void FitBest(const InterruptScope &interrupt);

   RandomSearchData &fSearch;
   const Dataset &fData;
   FitOptions fOptions;
   std::size_t fFolds;
   std::vector<std::shared_ptr<const ModelData>> fStarts; ///< [models]
   std::vector<Plan> fPlans;
   std::vector<FitTask> fTasks;
   std::optional<Folds> fRows;
};

} // namespace Internal
} // namespace CladTorch

#endif
