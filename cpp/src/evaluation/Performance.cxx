// A model judged on events: its Evaluation, and the figures that the model computes directly.

#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "Canvas.hxx"
#include "CoreBox.hxx"
#include "EvaluationData.hxx"
#include "Interrupt.hxx"

#include "cladtorch/src/bridge/training.rs.h"
#include "cladtorch/src/bridge/evaluate.rs.h"

#include <TAxis.h>
#include <TDirectory.h>
#include <TH1F.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CladTorch {

using namespace Internal;

namespace {

void CheckOneOutput(const Model &model, const Dataset &data)
{
   const auto targets = data.Targets();
   if (targets.size() > 1)
      throw std::runtime_error("signal and background need one label, but the events have " +
                               std::to_string(targets.size()) + " targets (" + Joined(targets) + ")");
   if (model.Outputs() != 1)
      throw std::runtime_error("signal and background need one output, but the model has " +
                               std::to_string(model.Outputs()));
}

std::vector<float> Copied(const FloatView &view)
{
   return {view.begin(), view.end()};
}

void CheckEvents(const Dataset &data)
{
   if (data.Rows() == 0)
      throw std::runtime_error("the dataset has no events: add some");
}

/// A labelled bar for each column, in rising order.
TH1 *ColumnBars(std::vector<Core::ColumnImportance> columns, const std::string &axis)
{
   std::stable_sort(columns.begin(), columns.end(), [](const auto &a, const auto &b) { return a.value < b.value; });
   const auto count = static_cast<int>(columns.size());
   const TDirectory::TContext none(nullptr);
   auto *histogram = new TH1F("importance", (";;" + axis).c_str(), count, 0, count);
   histogram->SetStats(false);
   histogram->SetFillColor(FirstColour());
   histogram->SetBarWidth(0.8f);
   histogram->SetBarOffset(0.1f);
   for (int i = 0; i < count; ++i) {
      const auto &column = columns[static_cast<std::size_t>(i)];
      histogram->SetBinContent(i + 1, column.value);
      histogram->SetBinError(i + 1, column.error);
      histogram->GetXaxis()->SetBinLabel(i + 1, std::string(column.name).c_str());
   }
   return histogram;
}

/// The name of what Logits() returns for `output`, for an axis.
std::string OutputName(Core::Gives gives, std::size_t outputs, std::size_t output, const std::vector<std::string> &targets)
{
   if (gives == Core::Gives::Probabilities)
      return outputs == 1 ? "the logit" : "the logit of class " + std::to_string(output);
   const auto count = gives == Core::Gives::Gaussians ? outputs / 2 : outputs;
   const auto target = output % count;
   const auto name = target < targets.size() ? targets[target] : count == 1 ? "the target" : "target " + std::to_string(target);
   return output < count ? name : "the log variance of " + name;
}

} // namespace

void Internal::CheckLabels(const Model &model, const Dataset &data, Core::Gives gives)
{
   CheckEvents(data);
   const auto labels = data.Labels();
   CheckLabelsFit(labels.Columns(), gives, model.Outputs());
   if (gives == Core::Gives::Probabilities)
      CheckClasses({labels.begin(), static_cast<std::size_t>(labels.end() - labels.begin())}, model.Outputs());
}

Evaluation Model::Evaluate(const Dataset &data) const
{
   return LongCall(Where("Evaluate"), [&] {
      const auto gives = Core::model_gives(*Data().fCore);
      CheckLabels(*this, data, gives);
      auto logits = Outputs(data, true);
      auto predictions = logits;
      Core::model_to_predictions(*fData->fCore, {predictions.data(), predictions.size()});
      return Evaluation(std::make_shared<const EvaluationData>(Judgement(
         gives, Outputs(), std::move(predictions), std::move(logits), Copied(data.Labels()), Copied(data.Weights()), Targets())));
   });
}

/// The input of Auc() and similar figures, whatever the model was trained for: logits, by which events are ranked, or
/// the results of Predict(). Needs one prediction per event.
Evaluation Model::SignalAndBackground(const Dataset &data, bool raw) const
{
   CheckOneOutput(*this, data);
   CheckEvents(data);
   // The predictions of a regression may separate events with any labels: labels above 0.5 are signal.
   if (Core::model_gives(*Data().fCore) == Core::Gives::Probabilities)
      CheckLabels(*this, data, Core::Gives::Probabilities);
   return Evaluation(std::make_shared<const EvaluationData>(
      EvaluationData{false, 1, Outputs(data, raw), {}, Copied(data.Labels()), Copied(data.Weights()), {}}));
}

double Model::Auc(const Dataset &data) const
{
   return LongCall(Where("Auc"), [&] { return SignalAndBackground(data, true).Auc(); });
}

double Model::AucError(const Dataset &data) const
{
   return LongCall(Where("AucError"), [&] { return SignalAndBackground(data, true).AucError(); });
}

TGraph *Model::Roc(const Dataset &data) const
{
   return LongCall(Where("Roc"), [&] { return SignalAndBackground(data, true).Roc(); });
}

std::pair<TH1 *, TH1 *> Model::Scores(const Dataset &data, int bins) const
{
   return LongCall(Where("Scores"), [&] { return SignalAndBackground(data, false).Scores(bins); });
}

TCanvas *Model::DrawScores(const Dataset &data, int bins) const
{
   return LongCall(Where("DrawScores"), [&] { return SignalAndBackground(data, false).DrawScores(bins); });
}

TH1 *Model::Importance(const Dataset &data, int repeats, std::uint64_t seed) const
{
   return LongCall(Where("Importance"), [&]() -> TH1 * {
      CheckLabels(*this, data, Core::model_gives(*Data().fCore));
      if (repeats < 1)
         throw std::runtime_error(std::to_string(repeats) + " repeats: shuffle each column at least once");
      const auto columns = Interruptible("the importance of the columns", [&](const InterruptScope &) {
         return Core::evaluate_importance(*Data().fCore, *data.fData->fCore, repeats, seed, Threads(0));
      });
      return ColumnBars({columns.begin(), columns.end()}, std::string(Core::evaluate_quality(*Data().fCore)));
   });
}

TH1 *Model::GradientImportance(const Dataset &data, std::size_t output) const
{
   return LongCall(Where("GradientImportance"), [&]() -> TH1 * {
      if (output >= Outputs())
         throw std::runtime_error("there is no output " + std::to_string(output) + ": the model has " + std::to_string(Outputs()) +
                                  " (the first is 0)");
      return SlopeBars(data)(output);
   });
}

/// The bars of GradientImportance() for each output, from one pass over the events.
std::function<TH1 *(std::size_t output)> Model::SlopeBars(const Dataset &data) const
{
   CheckEvents(data);
   const auto all = Interruptible("the importance of the columns", [&](const InterruptScope &) {
      return Core::evaluate_gradient_importance(*Data().fCore, *data.fData->fCore, Threads(0));
   });
   return [all, outputs = Outputs(), gives = Core::model_gives(*Data().fCore), targets = Targets()](std::size_t output) {
      const auto count = static_cast<std::ptrdiff_t>(all.size() / outputs);
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(output) * count;
      const auto name = OutputName(gives, outputs, output, targets);
      return ColumnBars({first, first + count}, "Mean change of " + name + " per standard deviation of the column");
   };
}

} // namespace CladTorch
