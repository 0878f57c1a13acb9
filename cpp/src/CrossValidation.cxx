#include <CladTorch/CrossValidation.hxx>
#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "CoreBox.hxx"
#include "EvaluationData.hxx"
#include "FitSpec.hxx"
#include "Interrupt.hxx"
#include "SideBySide.hxx"

#include "cladtorch/src/bridge/training.rs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

/// Never changed.
struct Internal::CrossValidationData {
   std::vector<std::uint32_t> fFoldOf;
   std::vector<Model> fModels;
   std::vector<History> fHistories;
   EvaluationData fEvaluation; ///< of all events
};

namespace {

/// The values [events, columns] of the events `rows`.
std::vector<float> Picked(const std::vector<float> &values, std::size_t columns, const std::vector<std::size_t> &rows)
{
   std::vector<float> picked;
   for (const auto row : rows)
      for (std::size_t i = 0; i < columns && !values.empty(); ++i)
         picked.push_back(values[row * columns + i]);
   return picked;
}

/// Puts what `model` predicts for the events `rows` into `all` [events, C].
void Place(const Core::Dataset &events, const ModelData &model, const std::vector<std::uint32_t> &rows, EvaluationData &all)
{
   const auto logits = Core::fit_predict_rows(*model.fCore, events, Slice(rows), Threads(0), true);
   auto predictions = logits;
   Core::model_to_predictions(*model.fCore, {predictions.data(), predictions.size()});
   for (std::size_t i = 0; i < logits.size(); ++i) {
      const auto place = rows[i / all.fOutputs] * all.fOutputs + i % all.fOutputs;
      all.fScores[place] = predictions[i];
      if (!all.fIsRegression)
         all.fLogits[place] = logits[i];
   }
}

/// What the folds are trained from: never from parameters that know their events.
std::shared_ptr<const ModelData> StartOf(const std::shared_ptr<ModelData> &model)
{
   if (!model->fTrained)
      return model;
   if (!model->fStart)
      throw std::runtime_error("the model comes from a file with parameters that were trained, perhaps on these events: "
                               "cross-validate a new model of these layers, or, if they were not, call "
                               "SetParameters() with its Parameters() first");
   return model->fStart;
}

} // namespace

CladTorch::CrossValidation Model::CrossValidate(const Dataset &data, int folds, const FitOptions &options) const
{
   return LongCall(Where("CrossValidate"), [&](const InterruptScope &interrupt) {
      CheckSeveralFits(options);
      Data(); // the module behind it still has its parameters
      const auto start = StartOf(fData);
      const auto &events = *data.fData->fCore;
      const auto foldOf = Core::fit_folds(*start->fCore, events, ToSpec(options), static_cast<std::size_t>(std::max(0, folds)));
      const auto count = static_cast<std::size_t>(folds);
      std::vector<FitTask> tasks;
      std::vector<std::vector<std::uint32_t>> held(count);
      for (std::uint32_t fold = 0; fold < count; ++fold) {
         tasks.push_back({start, options, {}});
         for (std::uint32_t row = 0; row < foldOf.size(); ++row)
            (foldOf[row] == fold ? held[fold] : tasks[fold].fRows).push_back(row);
      }
      CheckLabelsFit(data.Labels().Columns(), Core::fit_gives_values(*start->fCore, events, ToSpec(options)), Outputs());
      FitSideBySide(Where("CrossValidate"), "fold", tasks, *data.fData, interrupt);
      if (fData->fModule)
         fData->fModule->Share(fData);
      const bool regression = Core::model_gives_values(*tasks.front().fTrained->fCore);
      const auto numbers = foldOf.size() * Outputs();
      auto found = std::make_shared<CrossValidationData>(CrossValidationData{
         {foldOf.begin(), foldOf.end()},
         {},
         {},
         {regression, Outputs(), std::vector<float>(numbers), std::vector<float>(regression ? 0 : numbers),
          {data.Labels().begin(), data.Labels().end()}, {data.Weights().begin(), data.Weights().end()},
          regression ? Strings(Core::model_targets(*tasks.front().fTrained->fCore)) : std::vector<std::string>()}});
      for (std::size_t fold = 0; fold < count; ++fold) {
         Place(events, *tasks[fold].fTrained, held[fold], found->fEvaluation);
         found->fHistories.push_back(tasks[fold].fTrained->fLastFit);
         found->fModels.push_back(Model(tasks[fold].fTrained, FromCore()));
      }
      return CladTorch::CrossValidation(std::move(found));
   }, "the cross-validation");
}

std::size_t CrossValidation::Folds() const
{
   return fData->fModels.size();
}

const std::vector<std::uint32_t> &CrossValidation::FoldOf() const
{
   return fData->fFoldOf;
}

const std::vector<Model> &CrossValidation::Models() const
{
   return fData->fModels;
}

const std::vector<History> &CrossValidation::Histories() const
{
   return fData->fHistories;
}

const std::vector<float> &CrossValidation::Predictions() const
{
   return fData->fEvaluation.fScores;
}

Evaluation CrossValidation::Evaluate() const
{
   return Evaluation(std::shared_ptr<const EvaluationData>(fData, &fData->fEvaluation));
}

Evaluation CrossValidation::Evaluate(std::size_t fold) const
{
   return LongCall("CladTorch::CrossValidation::Evaluate", [&] {
      if (fold >= Folds())
         throw std::runtime_error("there is no fold " + std::to_string(fold) + ": there are " + std::to_string(Folds()) +
                                  ", counted from 0");
      const auto &all = fData->fEvaluation;
      std::vector<std::size_t> rows;
      for (std::size_t row = 0; row < fData->fFoldOf.size(); ++row)
         if (fData->fFoldOf[row] == fold)
            rows.push_back(row);
      return Evaluation(std::make_shared<const EvaluationData>(EvaluationData{
         all.fIsRegression, all.fOutputs, Picked(all.fScores, all.fOutputs, rows), Picked(all.fLogits, all.fOutputs, rows),
         Picked(all.fLabels, all.fIsRegression ? all.fOutputs : 1, rows), Picked(all.fWeights, 1, rows), all.fNames}));
   });
}

void CrossValidation::Print() const
{
   LongCall("CladTorch::CrossValidation::Print", [&] {
      const auto &all = fData->fEvaluation;
      const Metric metric(all.fIsRegression ? kRmse : all.fOutputs > 1 ? kAccuracy : kAuc);
      const auto count = static_cast<double>(Folds());
      double sum = 0, squares = 0;
      std::printf("%5s  %9s  %6s  %12s  %9s\n", "fold", "events", "epochs", "validation", metric.Name().c_str());
      for (std::size_t fold = 0; fold < Folds(); ++fold) {
         const auto evaluation = Evaluate(fold);
         const auto value = metric(evaluation);
         const auto &history = fData->fHistories[fold];
         const auto best = history.BestEpoch();
         const double loss = best ? history.ValidationLoss()[history.RestoredEpoch() ? best - 1 : history.Epochs() - 1] : std::nan("");
         std::printf("%5zu  %9zu  %6zu  %12.6g  %9.5f\n", fold, evaluation.Events(), history.Epochs(), loss, value);
         sum += value;
         squares += value * value;
      }
      const double mean = sum / count;
      const double error = std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1));
      std::printf("%s %.5f +- %.5f over the folds, %.5f of all events together\n", metric.Name().c_str(), mean, error,
                  metric(Evaluate()));
      std::fflush(stdout);
   });
}

} // namespace CladTorch
