#include <CladTorch/CrossValidation.hxx>
#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "CoreBox.hxx"
#include "EvaluationData.hxx"
#include "FitSpec.hxx"
#include "Interrupt.hxx"
#include "SideBySide.hxx"
#include "Unprinted.hxx"

#include "cladtorch/src/bridge/training.rs.h"

#include <TString.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <string>

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

/// Puts the predictions of `model` for the events `rows` into `predictions` and `logits` [events, outputs].
void Place(const Core::Dataset &events, const ModelData &model, const std::vector<std::uint32_t> &rows,
           std::vector<float> &predictions, std::vector<float> &logits)
{
   const auto outputs = Core::model_outputs(*model.fCore);
   const auto [finished, raw] = PredictRows(events, model, rows);
   for (std::size_t i = 0; i < raw.size(); ++i) {
      const auto place = rows[i / outputs] * outputs + i % outputs;
      predictions[place] = finished[i];
      logits[place] = raw[i];
   }
}

/// NaN if `metric` has no value, such as the AUC of events of one class; a line of `missing` then says why.
double FigureOf(const Metric &metric, const Evaluation &evaluation, const std::string &what, std::string &missing)
{
   try {
      const Unprinted unprinted;
      return metric(evaluation);
   } catch (const Interrupted &) {
      throw;
   } catch (const std::exception &e) {
      missing += "no " + metric.Name() + " of " + what + ": " + e.what() + "\n";
      return std::nan("");
   }
}

} // namespace

CladTorch::CrossValidation Model::CrossValidate(const Dataset &data, int folds, const FitOptions &options) const
{
   return LongCall(Where("CrossValidate"), [&](const InterruptScope &interrupt) {
      CheckSeveralFits(options);
      DataToFit(options);
      const auto start = StartOf(fData, "cross-validate");
      const auto &events = *data.fData->fCore;
      const auto foldOf = Core::fit_folds(*start->fCore, events, ToSpec(options), static_cast<std::size_t>(std::max(0, folds)));
      const auto count = static_cast<std::size_t>(folds);
      const Folds rows(foldOf, count);
      std::vector<FitTask> tasks;
      for (const auto &others : rows.fOthers)
         tasks.push_back({start, options, others});
      CheckLabelsFit(data.Labels().Columns(), Core::fit_gives(*start->fCore, events, ToSpec(options)), Outputs());
      FitSideBySide(tasks, *data.fData, interrupt, [&](std::size_t i) { SayEnded(Where("CrossValidate"), "fold", i, tasks); });
      if (fData->fModule)
         fData->fModule->Share(fData);
      auto found = std::make_shared<CrossValidationData>();
      found->fFoldOf.assign(foldOf.begin(), foldOf.end());
      std::vector<float> predictions(foldOf.size() * Outputs()), logits(predictions.size());
      for (std::size_t fold = 0; fold < count; ++fold) {
         Place(events, *tasks[fold].fTrained, rows.fHeld[fold], predictions, logits);
         found->fHistories.push_back(tasks[fold].fTrained->fLastFit);
         found->fModels.push_back(Model(tasks[fold].fTrained, FromCore()));
      }
      const auto &first = *tasks.front().fTrained->fCore;
      found->fEvaluation =
         Judgement(Core::model_gives(first), Outputs(), std::move(predictions), std::move(logits),
                   {data.Labels().begin(), data.Labels().end()}, {data.Weights().begin(), data.Weights().end()},
                   Strings(Core::model_targets(first)));
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
         Picked(all.fLabels, all.fIsRegression ? all.fOutputs : 1, rows), Picked(all.fWeights, 1, rows), all.fNames,
         Picked(all.fSigmas, all.fOutputs, rows)}));
   });
}

void CrossValidation::Print() const
{
   LongCall("CladTorch::CrossValidation::Print", [&] {
      const auto &all = fData->fEvaluation;
      const Metric metric(all.fIsRegression ? kRmse : all.fOutputs > 1 ? kAccuracy : kAuc);
      const auto *name = metric.Name().c_str();
      std::vector<double> values;
      std::string missing;
      std::cout << TString::Format("%5s  %9s  %6s  %12s  %9s\n", "fold", "events", "epochs", "validation", name);
      for (std::size_t fold = 0; fold < Folds(); ++fold) {
         const auto evaluation = Evaluate(fold);
         const auto &history = fData->fHistories[fold];
         values.push_back(FigureOf(metric, evaluation, "fold " + std::to_string(fold), missing));
         std::cout << TString::Format("%5zu  %9zu  %6zu  %12.6g  %9.5f\n", fold, evaluation.Events(), history.Epochs(),
                                      history.ValidationLoss()[KeptEpoch(history)], values.back());
      }
      const FitMean mean(values);
      const auto together = FigureOf(metric, Evaluate(), "all events", missing);
      const auto error = std::isfinite(mean.fError) ? TString::Format(" +- %.5f", mean.fError) : TString(); // a single fold has none
      std::cout << TString::Format("%s %.5f%s over the folds, %.5f of all events together\n", name, mean.fMean, error.Data(), together)
                << missing << std::flush;
   });
}

} // namespace CladTorch
