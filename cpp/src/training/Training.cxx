#include "Training.hxx"

#include <CladTorch/Error.hxx>
#include <CladTorch/Evaluation.hxx>

#include "EvaluationData.hxx"
#include "FitSpec.hxx"
#include "MetricChecks.hxx"
#include "Unprinted.hxx"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace CladTorch {
namespace Internal {

namespace {

std::vector<float> Copied(const rust::Vec<float> &values)
{
   return {values.begin(), values.end()};
}

std::string Text(const std::string &name, double value)
{
   char text[32];
   std::snprintf(text, sizeof text, " %.5g", value);
   return "  " + name + text;
}

double Value(const Metric &metric, const Evaluation &evaluation, std::size_t epoch)
{
   try {
      const Unprinted unprinted;
      return metric(evaluation);
   } catch (const Interrupted &) {
      throw;
   } catch (const std::exception &e) {
      throw std::runtime_error("the metric \"" + metric.Name() + "\" has no value after epoch " + std::to_string(epoch) + ": " +
                               e.what());
   }
}

} // namespace

Training::Training(const FitOptions &options, const Core::FitSpec &spec, Core::Trainer &trainer, const Core::Dataset &events,
                   const Core::Dataset &judges)
   : fOptions(options),
     fEpochs(spec.epochs),
     fDescription(std::string(Core::trainer_describe(trainer))),
     fGives(Core::trainer_gives(trainer)),
     fLabels(std::max<std::size_t>(1, Core::dataset_label_width(events))),
     fEnded(std::string(Core::trainer_ended(trainer))),
     fPart([&] { return Core::trainer_part(trainer, events); }),
     fLosses([&] { return Core::trainer_losses(trainer, judges); }),
     fJudge([&](const Core::Model &model) { return Core::trainer_judge(trainer, model, judges); }),
     fEndEpoch([&](Core::Losses losses, rust::Vec<double> metrics) {
        return Core::trainer_end_epoch(trainer, losses, std::move(metrics));
     }),
     fWarnings([&] { return Core::trainer_warnings(trainer); }),
     fCheckpoint([&] { Core::trainer_checkpoint(trainer); }),
     fBefore(Core::trainer_history(trainer)),
     fRestored([&] { return Core::trainer_restored(trainer); }),
     fFinish([&](Core::Model &model) { Core::trainer_finish(trainer, model); })
{
}

void Training::Record(History &history, const Core::EpochRecord &epoch)
{
   history.fTrainLoss.push_back(epoch.train_loss);
   history.fValidationLoss.push_back(epoch.validation_loss);
   history.fSeconds.push_back(epoch.seconds);
   history.fLearningRate.push_back(epoch.learning_rate);
   for (std::size_t i = 0; i < history.fMetrics.size(); ++i)
      history.fMetrics[i].push_back(i < epoch.metrics.size() ? epoch.metrics[i] : std::nan(""));
}

History Training::Begin(const Core::Model &model) const
{
   CheckMetrics(fOptions.fMetrics, fGives);
   if (!fOptions.fMetrics.empty())
      CheckLabelsFit(fLabels, fGives, Core::model_outputs(model));
   History history;
   history.fDescription = fDescription;
   for (const auto &metric : fOptions.fMetrics)
      history.fMetricNames.push_back(metric.Name());
   history.fMetrics.resize(fOptions.fMetrics.size());
   for (const auto &epoch : fBefore)
      Record(history, epoch);
   return history;
}

bool Training::EndEpoch(const Core::Model &model, History &history) const
{
   const auto losses = fLosses();
   rust::Vec<double> metrics;
   if (!fOptions.fMetrics.empty()) {
      const auto judged = fJudge(model);
      const Evaluation evaluation(std::make_shared<const EvaluationData>(
         Judgement(judged.gives, Core::model_outputs(model), Copied(judged.predictions), Copied(judged.logits),
                   Copied(judged.labels), Copied(judged.weights), {})));
      for (const auto &metric : fOptions.fMetrics)
         metrics.push_back(Value(metric, evaluation, history.Epochs() + 1));
   }
   const auto epoch = fEndEpoch(losses, std::move(metrics));
   Record(history, epoch);
   return epoch.last;
}

std::shared_ptr<ModelData> Training::Finish(const std::shared_ptr<const ModelData> &before, History &history) const
{
   auto trained = before->Copy();
   fFinish(*trained->fCore);
   trained->fFromFile = trained->fDrawn = false;
   if (trained->fModule)
      trained->fModule->Count(*trained, Core::model_batches(*trained->fCore) - Core::model_batches(*before->fCore));
   history.fRestoredEpoch = fRestored();
   trained->fLastFit = history;
   if (!before->fTrained)
      trained->fStart = before;
   trained->fTrained = true;
   return trained;
}

Epoch Training::Last(const History &history) const
{
   Epoch epoch;
   epoch.fNumber = history.Epochs();
   epoch.fEpochs = fEpochs;
   epoch.fTrainLoss = history.fTrainLoss.back();
   epoch.fValidationLoss = history.fValidationLoss.back();
   epoch.fSeconds = history.fSeconds.back();
   epoch.fLearningRate = history.fLearningRate.back();
   for (const auto &values : history.fMetrics)
      epoch.fMetrics.push_back(values.back());
   return epoch;
}

std::string Training::Figures(const History &history)
{
   auto text = Text("loss", history.fTrainLoss.back());
   if (!std::isnan(history.fValidationLoss.back()))
      text += Text("validation", history.fValidationLoss.back());
   for (std::size_t i = 0; i < history.fMetrics.size(); ++i)
      text += Text(history.fMetricNames[i], history.fMetrics[i].back());
   return text;
}

void CheckWeight(const DatasetData &data)
{
   const auto &text = data.fWeight.fText;
   if (!text.empty() && text != data.fReadWeight)
      throw std::runtime_error("SetWeight(\"" + text + "\") came after the last Add, so that no event has this weight: call "
                               "it before Add");
}

FitOptions ResumedOptions(const FitOptions &options, const std::string &file)
{
   const auto spec = Core::resumed_options(file, ToSpec(options));
   auto resumed = FromSpec(spec);
   resumed.fLive = options.fLive;
   resumed.fCallback = options.fCallback;
   resumed.fMetrics = options.fMetrics;
   if (!resumed.fMetrics.empty())
      return resumed;
   for (const auto &text : spec.metrics) {
      const std::string name(text);
      const auto isIt = [&](int i) { return Metric(static_cast<EMetric>(i)).Name() == name; };
      int i = kAuc;
      while (i <= kLogLikelihood && !isIt(i))
         ++i;
      if (i > kLogLikelihood)
         throw std::runtime_error("the checkpoint's fit has the metric \"" + name + "\", a function, which no file can hold: "
                                  "give the fit's fMetrics to Resume()");
      resumed.fMetrics.emplace_back(static_cast<EMetric>(i));
   }
   return resumed;
}

} // namespace Internal
} // namespace CladTorch
