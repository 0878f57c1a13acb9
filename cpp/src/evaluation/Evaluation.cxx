#include <CladTorch/Dataset.hxx>
#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>

#include "EvaluationData.hxx"
#include "Interrupt.hxx"
#include "cladtorch/src/bridge/evaluate.rs.h"
#include "cladtorch/src/bridge/training.rs.h"

#include <TMath.h>
#include <TString.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

std::vector<float> Column(const std::vector<float> &values, std::size_t columns, std::size_t column)
{
   std::vector<float> picked;
   picked.reserve(values.size() / columns);
   for (auto i = column; i < values.size(); i += columns)
      picked.push_back(values[i]);
   return picked;
}

std::string Counted(std::size_t number, const char *what)
{
   return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::shared_ptr<const EvaluationData> Checked(EvaluationData data, std::size_t perLabel)
{
   const auto events = data.fOutputs ? data.fScores.size() / data.fOutputs : 0;
   if (data.fOutputs == 0 || events * data.fOutputs != data.fScores.size() || data.fLabels.size() != events * perLabel)
      throw std::runtime_error(Counted(data.fScores.size(), "prediction") + " and " + Counted(data.fLabels.size(), "label") +
                               " for " + Counted(data.fOutputs, "output") + ": give one prediction for each event and output");
   if (events == 0)
      throw std::runtime_error("there are no events to evaluate: add some");
   if (data.fWeights.empty())
      data.fWeights.assign(events, 1);
   if (data.fWeights.size() != events)
      throw std::runtime_error(Counted(data.fWeights.size(), "weight") + " for " + Counted(events, "event") +
                               ": give one for each, or none");
   if (!data.fIsRegression)
      CheckClasses(Slice(data.fLabels), data.fOutputs);
   return std::make_shared<const EvaluationData>(std::move(data));
}

void CheckRegression(const EvaluationData &data, std::size_t target)
{
   if (!data.fIsRegression)
      throw std::runtime_error("these are scores of a classifier, which has no residuals: ask for its Auc() or Accuracy()");
   if (target >= data.fOutputs)
      throw std::runtime_error("there is no target " + std::to_string(target) + ": the regression has " +
                               std::to_string(data.fOutputs) + ", counted from 0");
}

Core::ResidualFigures Figures(const EvaluationData &data, std::size_t target)
{
   CheckRegression(data, target);
   return Core::evaluate_residuals(Slice(data.fScores), Slice(data.fLabels), Slice(data.fWeights), data.fOutputs, target);
}

/// Residual figures of the pulls, as if these were residuals.
Core::ResidualFigures PullFigures(const EvaluationData &data, std::size_t target)
{
   const auto pulls = PullsOf(data, target);
   const std::vector<float> zeros(pulls.size());
   return Core::evaluate_residuals(Slice(pulls), Slice(zeros), Slice(data.fWeights), 1, 0);
}

/// Throws unless there is a positive sigma for each prediction.
void CheckSigmas(const std::vector<float> &sigmas, std::size_t predictions)
{
   if (sigmas.size() != predictions)
      throw std::runtime_error(Counted(sigmas.size(), "standard deviation") + " for " + Counted(predictions, "prediction") +
                               ": give one for each, or none");
   const auto wrong = std::find_if_not(sigmas.begin(), sigmas.end(), [](float sigma) { return sigma > 0; });
   if (wrong != sigmas.end())
      throw std::runtime_error("standard deviation " + std::to_string(wrong - sigmas.begin()) + " is " + std::to_string(*wrong) +
                               ": give numbers above 0");
}

Core::DecisionCounts Counts(const EvaluationData &data, double cut, std::size_t output)
{
   const OneClass one(data, output);
   return Core::evaluate_counts(one.Scores(), one.Labels(), one.Weights(), cut);
}

double Ratio(double part, double whole, const char *of)
{
   if (!(whole > 0))
      throw std::runtime_error(std::string("the event weights of ") + of + " sum to " + std::to_string(whole) +
                               ": there is no share of them");
   return part / whole;
}

/// The share of events whose class has the largest score.
double Accurate(const EvaluationData &data)
{
   const auto matrix = ConfusionOf(data);
   double right = 0, all = 0;
   for (std::size_t i = 0; i < matrix.size(); ++i) {
      all += matrix[i];
      right += i % (data.fOutputs + 1) == 0 ? matrix[i] : 0;
   }
   return Ratio(right, all, "all events");
}

} // namespace

std::vector<float> Internal::PullsOf(const EvaluationData &data, std::size_t target)
{
   CheckRegression(data, target);
   if (data.fSigmas.empty())
      throw std::runtime_error("these predictions have no standard deviations, so no pulls: train with fLoss = kGaussian, or give "
                               "Evaluation::Regression() sigmas");
   std::vector<float> pulls;
   pulls.reserve(data.Events());
   for (auto i = target; i < data.fScores.size(); i += data.fOutputs)
      pulls.push_back((data.fScores[i] - data.fLabels[i]) / data.fSigmas[i]);
   return pulls;
}

rust::Vec<double> Internal::ConfusionOf(const EvaluationData &data)
{
   if (data.fIsRegression)
      throw std::runtime_error("a regression confuses no classes: ask for its Rmse()");
   return Core::evaluate_confusion(Slice(data.fScores), data.fOutputs, Slice(data.fLabels), Slice(data.fWeights));
}

void Internal::CheckLabelsFit(std::size_t labels, Core::Gives gives, std::size_t outputs)
{
   const bool regression = gives != Core::Gives::Probabilities;
   const auto expected = !regression ? 1 : gives == Core::Gives::Gaussians ? outputs / 2 : outputs;
   if (labels != expected)
      throw std::runtime_error("the events have " + Counted(labels, "label") + ", but a " +
                               (regression ? "regression" : "classifier") + " of " + Counted(outputs, "output") +
                               " is judged by " + std::to_string(expected) +
                               ": add the sources with other labels, leave fMetrics empty, or judge Predict() by a figure of your own");
}

void Internal::CheckClasses(rust::Slice<const float> labels, std::size_t outputs)
{
   const auto fits = [outputs](float label) {
      return label >= 0 && (outputs == 1 ? label <= 1 : label < static_cast<float>(outputs) && label == std::floor(label));
   };
   const auto wrong = std::find_if_not(labels.begin(), labels.end(), fits);
   if (wrong != labels.end())
      throw std::runtime_error("the label of event " + std::to_string(wrong - labels.begin()) + " is " + std::to_string(*wrong) +
                               ": give " + (outputs == 1 ? "0 to 1" : "the number of its class, from 0 to " + std::to_string(outputs - 1)));
}

EvaluationData Internal::Judgement(Core::Gives gives, std::size_t outputs, std::vector<float> predictions,
                                   std::vector<float> logits, std::vector<float> labels, std::vector<float> weights,
                                   std::vector<std::string> names)
{
   EvaluationData data{true, outputs, {}, {}, std::move(labels), std::move(weights), std::move(names)};
   if (gives == Core::Gives::Gaussians) {
      data.fOutputs = outputs / 2;
      for (auto row = predictions.begin(); row != predictions.end(); row += static_cast<std::ptrdiff_t>(outputs)) {
         const auto middle = row + static_cast<std::ptrdiff_t>(data.fOutputs);
         data.fScores.insert(data.fScores.end(), row, middle);
         data.fSigmas.insert(data.fSigmas.end(), middle, middle + (middle - row));
      }
      return data;
   }
   data.fScores = std::move(predictions);
   if (gives == Core::Gives::Probabilities) {
      data.fIsRegression = false;
      data.fLogits = std::move(logits);
      data.fNames.clear();
   }
   return data;
}

std::string EvaluationData::NameOf(std::size_t output) const
{
   return fNames.empty() ? (fIsRegression ? "target " : "class ") + std::to_string(output) : fNames[output];
}

OneClass::OneClass(const EvaluationData &data, std::size_t output)
   : fWeights(Slice(data.fWeights)), fLogistic(data.fOutputs == 1 && !data.fLogits.empty())
{
   if (data.fIsRegression)
      throw std::runtime_error("these are values of a regression, which tells no signal from background: ask for its Rmse(), or "
                               "make a classifier's Evaluation of them");
   if (output >= data.fOutputs)
      throw std::runtime_error("there is no output " + std::to_string(output) + ": the classifier has " +
                               std::to_string(data.fOutputs) + ", counted from 0");
   const auto &ranks = data.fLogits.empty() || data.fOutputs > 1 ? data.fScores : data.fLogits;
   if (data.fOutputs == 1) {
      fRanks = Slice(ranks);
      fScores = Slice(data.fScores);
      fLabels = Slice(data.fLabels);
      return;
   }
   fKeptScores = Column(data.fScores, data.fOutputs, output);
   fKeptLabels.reserve(data.fLabels.size());
   for (const auto label : data.fLabels)
      fKeptLabels.push_back(label == static_cast<float>(output) ? 1 : 0);
   fRanks = fScores = Slice(fKeptScores);
   fLabels = Slice(fKeptLabels);
}

double OneClass::Cut(double rank) const
{
   return fLogistic ? 1 / (1 + std::exp(-rank)) : rank;
}

std::pair<double, double> Internal::RangeOf(rust::Slice<const float> scores)
{
   const auto ends = std::minmax_element(scores.begin(), scores.end());
   if (*ends.first >= 0 && *ends.second <= 1)
      return {0, 1};
   const double margin = 0.01 * (static_cast<double>(*ends.second) - *ends.first) + 1e-6;
   return {*ends.first - margin, *ends.second + margin};
}

Evaluation Evaluation::Classifier(const std::vector<float> &scores, const std::vector<float> &labels,
                                  const std::vector<float> &weights, std::size_t outputs)
{
   return LongCall("CladTorch::Evaluation::Classifier",
                [&] { return Evaluation(Checked({false, outputs, scores, {}, labels, weights, {}}, 1)); });
}

Evaluation Evaluation::Regression(const std::vector<float> &predictions, const std::vector<float> &truth,
                                  const std::vector<float> &weights, std::size_t targets, const std::vector<float> &sigmas)
{
   return LongCall("CladTorch::Evaluation::Regression", [&] {
      if (!sigmas.empty())
         CheckSigmas(sigmas, predictions.size());
      return Evaluation(Checked({true, targets, predictions, {}, truth, weights, {}, sigmas}, targets));
   });
}

std::size_t Evaluation::Events() const
{
   return fData->Events();
}

std::size_t Evaluation::Outputs() const
{
   return fData->fOutputs;
}

const std::vector<float> &Evaluation::Predictions() const
{
   return fData->fScores;
}

const std::vector<float> &Evaluation::Sigmas() const
{
   return fData->fSigmas;
}

const std::vector<float> &Evaluation::Labels() const
{
   return fData->fLabels;
}

const std::vector<float> &Evaluation::Weights() const
{
   return fData->fWeights;
}

double Evaluation::Auc(std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Auc", [&] {
      const OneClass one(*fData, output);
      return Core::roc(one.Ranks(), one.Labels(), one.Weights()).auc;
   });
}

double Auc(const std::vector<float> &scores, const std::vector<float> &labels, const std::vector<float> &weights)
{
   return LongCall("CladTorch::Auc", [&] { return Evaluation::Classifier(scores, labels, weights).Auc(); });
}

double Evaluation::AucError(std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::AucError", [&] {
      const OneClass one(*fData, output);
      return Core::roc(one.Ranks(), one.Labels(), one.Weights()).auc_error;
   });
}

double Evaluation::Accuracy(double cut) const
{
   return LongCall("CladTorch::Evaluation::Accuracy", [&] {
      if (fData->fOutputs == 1 || fData->fIsRegression) {
         const auto c = Counts(*fData, cut, 0);
         return Ratio(c.true_positive + c.true_negative,
                      c.true_positive + c.true_negative + c.false_positive + c.false_negative, "all events");
      }
      return Accurate(*fData);
   });
}

double Evaluation::Precision(double cut, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Precision", [&] {
      const auto c = Counts(*fData, cut, output);
      return Ratio(c.true_positive, c.true_positive + c.false_positive, "the events that pass the cut");
   });
}

double Evaluation::Recall(double cut, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Recall", [&] {
      const auto c = Counts(*fData, cut, output);
      return Ratio(c.true_positive, c.true_positive + c.false_negative, "the signal (labels over 0.5)");
   });
}

double Evaluation::FalseAlarms(double cut, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::FalseAlarms", [&] {
      const auto c = Counts(*fData, cut, output);
      return Ratio(c.false_positive, c.false_positive + c.true_negative, "the background (labels up to 0.5)");
   });
}

std::pair<double, double> Evaluation::BestCut(double signal, double background, double backgroundError,
                                              ESignificance kind, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::BestCut", [&] {
      const OneClass one(*fData, output);
      const auto curve = Core::evaluate_significance(one.Ranks(), one.Labels(), one.Weights(), signal, background,
                                                     backgroundError, kind == kAsimovSignificance);
      return std::pair<double, double>(one.Cut(curve.best_cut), curve.best);
   });
}

double Evaluation::CalibrationError(int bins, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::CalibrationError", [&] {
      const OneClass one(*fData, output);
      return Core::evaluate_calibration(one.Scores(), one.Labels(), one.Weights(), bins).error;
   });
}

double Evaluation::Temperature() const
{
   return LongCall("CladTorch::Evaluation::Temperature", [&] {
      if (fData->fLogits.empty())
         throw std::runtime_error("there are no logits to divide: take the Evaluation that Model::Evaluate gives for a classifier");
      return Core::evaluate_temperature(Slice(fData->fLogits), fData->fOutputs, Slice(fData->fLabels), Slice(fData->fWeights));
   });
}

double Evaluation::Bias(std::size_t target) const
{
   return LongCall("CladTorch::Evaluation::Bias", [&] { return Figures(*fData, target).bias; });
}

double Evaluation::Rmse(std::size_t target) const
{
   return LongCall("CladTorch::Evaluation::Rmse", [&] { return Figures(*fData, target).rmse; });
}

double Evaluation::Resolution(std::size_t target) const
{
   return LongCall("CladTorch::Evaluation::Resolution", [&] { return Figures(*fData, target).resolution; });
}

double Evaluation::Explained(std::size_t target) const
{
   return LongCall("CladTorch::Evaluation::Explained", [&] { return Figures(*fData, target).explained; });
}

double Evaluation::PullMean(std::size_t target) const
{
   return LongCall("CladTorch::Evaluation::PullMean", [&] { return PullFigures(*fData, target).bias; });
}

double Evaluation::PullWidth(std::size_t target) const
{
   return LongCall("CladTorch::Evaluation::PullWidth", [&] { return PullFigures(*fData, target).resolution; });
}

double Evaluation::LogLikelihood() const
{
   return LongCall("CladTorch::Evaluation::LogLikelihood", [&] {
      double sum = 0, weights = 0;
      for (std::size_t target = 0; target < fData->fOutputs; ++target) {
         const auto pulls = PullsOf(*fData, target);
         for (std::size_t i = 0; i < pulls.size(); ++i) {
            const double sigma = fData->fSigmas[i * fData->fOutputs + target], pull = pulls[i];
            sum -= fData->fWeights[i] * (0.5 * pull * pull + std::log(sigma) + 0.5 * std::log(TMath::TwoPi()));
         }
      }
      for (const auto weight : fData->fWeights)
         weights += weight;
      return Ratio(sum, weights, "all events");
   });
}

std::pair<double, double> Evaluation::Overtraining(const Evaluation &training, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Overtraining", [&] {
      const OneClass here(*fData, output), there(*training.fData, output);
      const auto probability = [&](bool signal) {
         std::vector<float> scores[2], weights[2];
         for (const auto *one : {&here, &there}) {
            const auto set = one == &there;
            for (std::size_t i = 0; i < one->Labels().size(); ++i)
               if ((one->Labels()[i] > kSignalLabel) == signal) {
                  scores[set].push_back(one->Ranks()[i]);
                  weights[set].push_back(one->Weights()[i]);
               }
         }
         const auto found =
            Core::evaluate_distance(Slice(scores[0]), Slice(scores[1]), Slice(weights[0]), Slice(weights[1]));
         return TMath::KolmogorovProb(found.distance * std::sqrt(found.events));
      };
      return std::pair<double, double>(probability(true), probability(false));
   });
}

namespace {

std::string DescribedClass(const EvaluationData &data, std::size_t output)
{
   const OneClass one(data, output);
   const auto curve = Core::roc(one.Ranks(), one.Labels(), one.Weights());
   TString text = data.fOutputs > 1 ? TString::Format("  %s against the rest: ", data.NameOf(output).c_str()) : TString("  ");
   text += TString::Format("AUC %.4f +- %.4f\n", curve.auc, curve.auc_error);
   if (data.fOutputs > 1 || RangeOf(one.Scores()) != std::pair<double, double>(0, 1))
      return text.Data();
   const auto c = Core::evaluate_counts(one.Scores(), one.Labels(), one.Weights(), 0.5);
   const double signal = c.true_positive + c.false_negative, background = c.false_positive + c.true_negative;
   text += TString::Format("  at a cut of 0.5: accuracy %.4f, signal efficiency %.4f, background efficiency %.4f\n",
                           (c.true_positive + c.true_negative) / (signal + background), c.true_positive / signal,
                           c.false_positive / background);
   text += TString::Format("  calibration error %.4f\n",
                           Core::evaluate_calibration(one.Scores(), one.Labels(), one.Weights(), 10).error);
   return text.Data();
}

} // namespace

std::string Internal::Described(const EvaluationData &data)
{
   auto text = (data.fIsRegression ? "regression of " : "classifier with ") +
               Counted(data.fOutputs, data.fIsRegression ? "target" : "output") + " on " + Counted(data.Events(), "event") + "\n";
   if (!data.fIsRegression && data.fOutputs > 1)
      text += TString::Format("  accuracy %.4f\n", Accurate(data)).Data();
   for (std::size_t output = 0; output < data.fOutputs; ++output) {
      if (!data.fIsRegression) {
         text += DescribedClass(data, output);
         continue;
      }
      const auto figures = Figures(data, output);
      text += TString::Format("  %s: bias %.4g, RMSE %.4g, resolution %.4g, explained variance %.4f\n",
                              data.NameOf(output).c_str(), figures.bias, figures.rmse, figures.resolution, figures.explained)
                 .Data();
      if (data.fSigmas.empty())
         continue;
      const auto pulls = PullFigures(data, output);
      text += TString::Format("  pulls of %s: mean %.4f, width %.4f\n", data.NameOf(output).c_str(), pulls.bias, pulls.resolution).Data();
   }
   return text;
}

void Evaluation::Print() const
{
   LongCall("CladTorch::Evaluation::Print", [&] { std::cout << Described(*fData) << std::flush; });
}

} // namespace CladTorch
