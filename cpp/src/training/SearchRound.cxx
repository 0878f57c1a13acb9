#include "SearchRound.hxx"

#include "EvaluationData.hxx"
#include "FitSpec.hxx"
#include "MetricChecks.hxx"
#include "Unprinted.hxx"

#include "cladtorch/src/bridge/training.rs.h"

#include <TClass.h>
#include <TCollection.h>
#include <TDataMember.h>
#include <TEnum.h>
#include <TEnumConstant.h>
#include <TError.h>
#include <TString.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

constexpr const char *kWhere = "CladTorch::RandomSearch::Run";
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// `options` with the drawn values.
FitOptions With(const Core::Space &space, const std::vector<double> &drawn, const FitOptions &options)
{
   auto applied = FromSpec(Core::space_apply(space, Slice(drawn), ToSpec(options)));
   applied.fThreads = options.fThreads;
   applied.fMetrics = options.fMetrics;
   return applied;
}

/// An option's value as users write it: the name of an enumerator ("kAdam"), otherwise the number.
TString ShownOption(const std::string &option, double value)
{
   const auto *member = TClass::GetClass("CladTorch::FitOptions")->GetDataMember(option.c_str());
   if (const auto *type = member ? TEnum::GetEnum(member->GetTrueTypeName()) : nullptr)
      for (const auto *each : TRangeDynCast<TEnumConstant>(type->GetConstants()))
         if (each && static_cast<double>(each->GetValue()) == value)
            return each->GetName();
   return TString::Format("%.4g", value);
}

/// The default metric by which fits are judged.
Metric UsualMetric(Core::Gives gives, ELoss loss, std::size_t outputs)
{
   if (gives == Core::Gives::Gaussians)
      return kLogLikelihood;
   if (gives == Core::Gives::Values && loss != kAuto && loss != kMeanSquaredError && loss != kHuber)
      throw std::runtime_error("the RMSE does not judge fits with kQuantile: give the search a figure of your own in fMetrics");
   return gives == Core::Gives::Values ? kRmse : outputs > 1 ? kAccuracy : kAuc;
}

} // namespace

RandomSearchData::RandomSearchData(const RandomSearchData &other)
   : fModels(other.fModels),
     fSpace(Core::space_copy(*other.fSpace)),
     fNames(other.fNames),
     fTrials(other.fTrials),
     fDrawn(other.fDrawn),
     fMetric(other.fMetric),
     fTerms(other.fTerms),
     fBestModel(other.fBestModel)
{
}

void RandomSearchData::CheckTerms(const SearchTerms &terms) const
{
   if (!fTerms)
      return;
   const auto check = [](const char *name, auto before, auto now) {
      if (before != now)
         throw std::runtime_error(TString::Format("the trials before were run with %s = %g, these would be with %g: their scores could not "
                                                  "be compared; repeat it, or make another RandomSearch",
                                                  name, double(before), double(now)).Data());
   };
   check("fSeed", fTerms->fSeed, terms.fSeed);
   check("fSplitSeed", fTerms->fSplitSeed, terms.fSplitSeed);
   check("fValidation", fTerms->fValidation, terms.fValidation);
   check("folds", fTerms->fFolds, terms.fFolds);
   check("a number of events", fTerms->fEvents, terms.fEvents);
}

void RandomSearchData::Add(const Trial &trial, std::vector<double> drawn)
{
   const auto before = std::count_if(fTrials.begin(), fTrials.end(), [&](const Trial &other) { return other.fNumber < trial.fNumber; });
   fTrials.insert(fTrials.begin() + before, trial);
   fDrawn.insert(fDrawn.begin() + before, std::move(drawn));
}

bool RandomSearchData::IsTried(std::size_t number) const
{
   return std::any_of(fTrials.begin(), fTrials.end(), [=](const Trial &trial) { return trial.fNumber == number; });
}

bool RandomSearchData::IsBetter(const Trial &trial, const Trial &than) const
{
   const double sign = fMetric->IsBuiltIn() && fMetric->Name() == Metric(kRmse).Name() ? -1 : 1;
   return trial.fScore == than.fScore ? trial.fNumber < than.fNumber : sign * trial.fScore > sign * than.fScore;
}

const Trial *RandomSearchData::Best() const
{
   const Trial *best = nullptr;
   for (const auto &trial : fTrials)
      if (!std::isnan(trial.fScore) && (!best || IsBetter(trial, *best)))
         best = &trial;
   return best;
}

std::string RandomSearchData::Describe(const std::vector<double> &drawn) const
{
   std::string text;
   for (std::size_t i = 0; i < fNames.size(); ++i)
      text += (i ? ", " : "") + fNames[i] + " = " + ShownOption(fNames[i], drawn[i]).Data();
   return text;
}

SearchRound::SearchRound(RandomSearchData &search, const Dataset &data, const FitOptions &options, std::size_t folds,
                         std::size_t trials)
   : fSearch(search), fData(data), fOptions(options), fFolds(folds)
{
   CheckSeveralFits(options);
   if (options.fSplitSeed == 0)
      fOptions.fSplitSeed = options.fSeed; // which may be drawn
   for (const auto &model : search.fModels) {
      model.DataToFit(fOptions);
      fStarts.push_back(StartOf(model.fData, "search with"));
   }
   const SearchTerms terms{fOptions.fSeed, fOptions.fSplitSeed, fOptions.fValidation, folds, data.Rows()};
   search.CheckTerms(terms);
   Draw(trials);
   ChooseMetric();
   AddTasks();
   search.fTerms = terms;
}

/// The lowest-numbered trials that were not tried yet.
void SearchRound::Draw(std::size_t trials)
{
   const auto points = Core::space_draw(*fSearch.fSpace, fOptions.fSeed, fSearch.fTrials.size() + trials);
   for (std::size_t number = 0; number < points.size() && fPlans.size() < trials; ++number) {
      if (fSearch.IsTried(number))
         continue;
      Plan plan;
      plan.fTrial.fNumber = number;
      plan.fTrial.fModel = points[number].network;
      plan.fDrawn.assign(points[number].values.begin(), points[number].values.end());
      plan.fTrial.fOptions = With(*fSearch.fSpace, plan.fDrawn, fOptions);
      fPlans.push_back(std::move(plan));
   }
   if (fPlans.empty())
      throw std::runtime_error("all " + std::to_string(points.size()) +
                               " combinations of models and choices were tried: search in ranges, or among more");
   if (fPlans.size() < trials)
      ::Warning(kWhere, "%zu trials were asked for, but only %zu combinations of models and choices are left",
                trials, fPlans.size());
}

/// Checks the options of every trial, before anything is trained, and finds the one metric that judges all of them.
void SearchRound::ChooseMetric()
{
   std::optional<Metric> usual;
   for (const auto &plan : fPlans) {
      const auto &core = *fStarts[plan.fTrial.fModel]->fCore;
      const auto gives = Core::fit_gives(core, *fData.fData->fCore, ToSpec(plan.fTrial.fOptions));
      CheckMetrics(fOptions.fMetrics, gives);
      CheckLabelsFit(fData.Labels().Columns(), gives, Core::model_outputs(core));
      if (!fOptions.fMetrics.empty())
         continue;
      if (!fOptions.fLossFunction.empty() && !fOptions.fLogits)
         throw std::runtime_error("fits with fLossFunction have no default score: set a metric in fMetrics");
      const auto metric = UsualMetric(gives, plan.fTrial.fOptions.fLoss, Core::model_outputs(core));
      if (usual && usual->Name() != metric.Name())
         throw std::runtime_error("some trials would be judged by " + usual->Name() + " and others by " + metric.Name() +
                                  ": give the search one figure for all in fMetrics");
      usual = metric;
   }
   const auto metric = usual ? *usual : fOptions.fMetrics.front();
   if (fSearch.fMetric && fSearch.fMetric->Name() != metric.Name())
      throw std::runtime_error("the trials before were judged by " + fSearch.fMetric->Name() + ", these would be by " + metric.Name() +
                               ": give the same fMetrics, or make another RandomSearch");
   if (fFolds == 0 && !(fOptions.fValidation > 0))
      throw std::runtime_error("no events judge the trials: set fValidation to a share of them, or give a number of folds");
   fSearch.fMetric = metric;
}

void SearchRound::AddTasks()
{
   if (fFolds) {
      const auto &first = fPlans.front().fTrial;
      fRows.emplace(Core::fit_folds(*fStarts[first.fModel]->fCore, *fData.fData->fCore, ToSpec(first.fOptions), fFolds), fFolds);
   }
   for (auto &plan : fPlans) {
      FitTask task{fStarts[plan.fTrial.fModel], plan.fTrial.fOptions};
      task.fMayFail = true;
      task.fOptions.fMetrics.clear();
      plan.fLeft = TasksOfTrial();
      if (!fRows) {
         task.fOptions.fMetrics.push_back(*fSearch.fMetric);
         fTasks.push_back(task);
      }
      for (std::size_t fold = 0; fold < fFolds; ++fold) { // the events of the fold judge after the fit
         task.fRows = fRows->fOthers[fold];
         fTasks.push_back(task);
      }
   }
}

void SearchRound::Run(const InterruptScope &interrupt)
{
   FitSideBySide(fTasks, *fData.fData, interrupt, [&](std::size_t task) {
      if (!interrupt.Requested() || fTasks[task].fTrained) // a trial ended by Ctrl-C has not failed
         Ended(task);
   });
   for (const auto &model : fSearch.fModels)
      if (model.fData->fModule)
         model.fData->fModule->Share(model.fData);
   if (fSearch.Best() && !fSearch.fBestModel)
      FitBest(interrupt);
}

void SearchRound::Ended(std::size_t task)
{
   auto &plan = fPlans[task / TasksOfTrial()];
   if (--plan.fLeft > 0)
      return;
   const auto first = task / TasksOfTrial() * TasksOfTrial();
   auto &trial = plan.fTrial;
   Score(trial, first);
   const auto *best = fSearch.Best();
   const bool isBest = !std::isnan(trial.fScore) && (!best || fSearch.IsBetter(trial, *best));
   if (isBest)
      fSearch.fBestModel.reset();
   if (isBest && fFolds == 0)
      fSearch.fBestModel = Model(fTasks[first].fTrained, FromCore());
   fSearch.Add(trial, plan.fDrawn);
   for (auto i = first; i < first + TasksOfTrial(); ++i)
      fTasks[i].fTrained.reset(); // else hundreds of models would be kept
   const auto head = "trial " + std::to_string(trial.fNumber) + ": ";
   if (!trial.fError.empty())
      ::Warning(kWhere, "%s%s", head.c_str(), trial.fError.c_str());
   else if (fOptions.fVerbose > 0)
      std::cout << head << fSearch.fMetric->Name() << TString::Format(" %.5g", trial.fScore) << (isBest ? " (best)  " : "  ")
                << fSearch.Describe(plan.fDrawn) << "  [" << fSearch.fTrials.size() << " done]" << std::endl;
}

void SearchRound::Score(Trial &trial, std::size_t first)
{
   const auto count = TasksOfTrial();
   trial.fScore = trial.fScoreError = trial.fLoss = kNone;
   std::vector<double> scores;
   double loss = 0;
   for (std::size_t fold = 0; fold < count && trial.fError.empty(); ++fold) {
      const auto &task = fTasks[first + fold];
      trial.fError = task.fError;
      if (!trial.fError.empty())
         return;
      const auto &history = task.fTrained->fLastFit;
      trial.fEpochs += history.Epochs();
      for (const auto seconds : history.Seconds())
         trial.fSeconds += seconds;
      loss += history.ValidationLoss()[KeptEpoch(history)];
      try {
         const Unprinted unprinted;
         scores.push_back(ScoreOf(task, fold));
      } catch (const Interrupted &) {
         throw;
      } catch (const std::exception &e) {
         trial.fError = e.what();
         return;
      }
   }
   trial.fLoss = loss / static_cast<double>(count);
   if (std::any_of(scores.begin(), scores.end(), [](double score) { return std::isnan(score); })) {
      trial.fError = "its " + fSearch.fMetric->Name() + " is no number";
      return;
   }
   const FitMean mean(scores);
   trial.fScore = mean.fMean;
   trial.fScoreError = mean.fError;
}

double SearchRound::ScoreOf(const FitTask &task, std::size_t fold) const
{
   const auto &history = task.fTrained->fLastFit;
   if (fFolds == 0)
      return history.Metric(fSearch.fMetric->Name())[KeptEpoch(history)];
   const auto &rows = fRows->fHeld[fold];
   const auto &core = *task.fTrained->fCore;
   auto [predictions, logits] = PredictRows(*fData.fData->fCore, *task.fTrained, rows);
   const auto labels = fData.Labels(), weights = fData.Weights();
   std::vector<float> ownLabels, ownWeights;
   for (const auto row : rows) {
      const auto *first = labels.Data() + row * labels.Columns();
      ownLabels.insert(ownLabels.end(), first, first + labels.Columns());
      ownWeights.push_back(weights.Data()[row]);
   }
   return (*fSearch.fMetric)(Evaluation(std::make_shared<const EvaluationData>(
      Judgement(Core::model_gives(core), Core::model_outputs(core), std::move(predictions), std::move(logits), std::move(ownLabels),
                std::move(ownWeights), Strings(Core::model_targets(core))))));
}

/// Fits the best options to all events; after cross-validation no model has seen them all.
void SearchRound::FitBest(const InterruptScope &interrupt)
{
   const auto &best = *fSearch.Best();
   std::vector<FitTask> tasks{{fStarts[best.fModel], best.fOptions}};
   auto &task = tasks.front();
   task.fMayFail = true; // the trials are kept
   FitSideBySide(tasks, *fData.fData, interrupt, [](std::size_t) {});
   for (const auto &warning : task.fWarnings)
      ::Warning(kWhere, "the best options fitted to all events: %s", warning.c_str());
   if (task.fTrained)
      fSearch.fBestModel = Model(task.fTrained, FromCore());
   else
      ::Warning(kWhere, "the fit of the best options to all events failed: %s", task.fError.c_str());
}

} // namespace Internal
} // namespace CladTorch
