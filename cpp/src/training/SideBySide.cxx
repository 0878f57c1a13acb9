#include "SideBySide.hxx"

#include "FitSpec.hxx"
#include "Training.hxx"

#include "cladtorch/src/bridge/process.rs.h"
#include "cladtorch/src/bridge/training.rs.h"

#include <TError.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace CladTorch {
namespace Internal {

namespace {

constexpr std::chrono::milliseconds kPoll(50);

void Collect(FitTask &task, const rust::Vec<rust::String> &messages)
{
   for (const auto &message : messages)
      task.fWarnings.emplace_back(message);
}

/// What a fit may use of the machine.
struct Share {
   std::size_t fThreads;
   std::size_t fPartsOfGpu; ///< equal parts of a GPU, of which it has one
};

/// Trains a copy of the model of `task`, unless `stop` says so.
void Run(FitTask &task, const Core::Dataset &events, const Share &share, const std::function<bool()> &stop)
{
   auto spec = ToSpec(task.fOptions);
   spec.threads = share.fThreads;
   spec.gpu_parts = share.fPartsOfGpu;
   const auto &model = *task.fBefore->fCore;
   const auto none = Core::fit_loss_of_options();
   auto trainer = task.fRows ? Core::trainer_of_rows(model, events, Slice(*task.fRows), spec)
                             : Core::trainer_new(model, events, spec, *none);
   const Training training(task.fOptions, spec, *trainer, events, events);
   auto history = training.Begin(model);
   Collect(task, training.fWarnings());
   for (bool ended = false; !ended;) {
      if (stop())
         return;
      if (training.fPart().ended)
         ended = training.EndEpoch(model, history);
      Collect(task, training.fWarnings());
   }
   task.fTrained = training.Finish(task.fBefore, history);
}

/// The same for a task that may fail.
void Try(FitTask &task, const Core::Dataset &events, const Share &share, const std::function<bool()> &stop)
{
   try {
      Run(task, events, share, stop);
   } catch (const Interrupted &) {
      throw;
   } catch (const std::exception &e) {
      if (!task.fMayFail)
         throw;
      task.fError = e.what();
   }
}

/// Threads that take the tasks one after the other.
class Workers {
public:
   Workers(std::vector<FitTask> &tasks, const Core::Dataset &events, std::size_t count, const Share &share)
      : fTasks(tasks), fErrors(tasks.size())
   {
      for (std::size_t i = 0; i < count; ++i)
         fThreads.emplace_back([this, &events, share] { Work(events, share); });
   }
   Workers(const Workers &) = delete;
   ~Workers()
   {
      fStop = true;
      for (auto &thread : fThreads)
         thread.join();
   }

   void Stop() { fStop = true; }

   /// Waits for a moment; returns the tasks that have ended since the last call.
   std::vector<std::size_t> Ended()
   {
      std::unique_lock<std::mutex> lock(fMutex);
      fChange.wait_for(lock, kPoll, [&] { return !fEnded.empty(); });
      return std::exchange(fEnded, {});
   }

   /// Throws the exception of this task, if any.
   void Check(std::size_t task) const
   {
      if (fErrors[task])
         std::rethrow_exception(fErrors[task]);
   }

private:
   void Work(const Core::Dataset &events, const Share &share)
   {
      const InterruptScope scope; // what a figure takes for a call of its own leaves Ctrl-C to the calling thread
      for (auto i = fNext++; i < fTasks.size(); i = fNext++) {
         try {
            if (!fStop)
               Try(fTasks[i], events, share, [this] { return fStop.load(); });
         } catch (...) {
            fErrors[i] = std::current_exception();
            fStop = true;
         }
         const std::lock_guard<std::mutex> lock(fMutex);
         fEnded.push_back(i);
         fChange.notify_one();
      }
   }

   std::vector<FitTask> &fTasks;
   std::vector<std::exception_ptr> fErrors;
   std::atomic<std::size_t> fNext{0};
   std::atomic<bool> fStop{false};
   std::mutex fMutex;
   std::condition_variable fChange;
   std::vector<std::size_t> fEnded;
   std::vector<std::thread> fThreads; ///< start last
};

/// How these fits share the machine. Those whose functions belong to the calling thread run on it, one after another.
Core::FitsSharing SharingOf(const std::vector<FitTask> &tasks, const Core::Dataset &events, std::size_t threads)
{
   const auto isBuiltIn = [](const Metric &metric) { return metric.IsBuiltIn(); };
   Core::FitsSharing all{tasks.size(), tasks.size()};
   for (const auto &task : tasks) {
      auto spec = ToSpec(task.fOptions);
      spec.threads = threads;
      const auto sharing = Core::fits_sharing(spec, *task.fBefore->fCore, events, tasks.size());
      const auto &metrics = task.fOptions.fMetrics;
      if (!std::all_of(metrics.begin(), metrics.end(), isBuiltIn))
         return {1, 1};
      all = {std::min(all.parts, sharing.parts), std::min(all.at_once, sharing.at_once)};
   }
   return all;
}

} // namespace

Folds::Folds(const rust::Vec<std::uint32_t> &foldOf, std::size_t count) : fHeld(count)
{
   std::vector<std::vector<std::uint32_t>> others(count);
   for (std::uint32_t row = 0; row < foldOf.size(); ++row)
      for (std::uint32_t fold = 0; fold < count; ++fold)
         (foldOf[row] == fold ? fHeld : others)[fold].push_back(row);
   for (auto &rows : others)
      fOthers.push_back(std::make_shared<const std::vector<std::uint32_t>>(std::move(rows)));
}

void SayEnded(const std::string &where, const std::string &what, std::size_t number, const std::vector<FitTask> &tasks)
{
   const auto &task = tasks[number];
   if (task.fOptions.fVerbose > 0) {
      const auto &history = task.fTrained->fLastFit;
      std::cout << what << " " << number << " of " << tasks.size() << "  epochs " << history.Epochs()
                << Training::Figures(history) << std::endl;
   }
   for (const auto &warning : task.fWarnings)
      ::Warning(where.c_str(), "%s %zu: %s", what.c_str(), number, warning.c_str());
}

std::size_t KeptEpoch(const History &history)
{
   return (history.RestoredEpoch() ? history.RestoredEpoch() : history.Epochs()) - 1;
}

FitMean::FitMean(const std::vector<double> &values)
{
   double count = 0, sum = 0, squares = 0;
   for (const auto value : values)
      if (!std::isnan(value)) {
         ++count;
         sum += value;
      }
   fMean = sum / count;
   for (const auto value : values)
      if (!std::isnan(value))
         squares += (value - fMean) * (value - fMean);
   fError = std::sqrt(squares / (count - 1) / count);
}

std::pair<std::vector<float>, std::vector<float>>
PredictRows(const Core::Dataset &events, const ModelData &model, const std::vector<std::uint32_t> &rows)
{
   const auto raw = Core::fit_predict_rows(*model.fCore, events, Slice(rows), Threads(0), true);
   std::vector<float> logits(raw.begin(), raw.end()), predictions(logits);
   Core::model_to_predictions(*model.fCore, {predictions.data(), predictions.size()});
   return {std::move(predictions), std::move(logits)};
}

std::shared_ptr<const ModelData> StartOf(const std::shared_ptr<ModelData> &model, const std::string &what)
{
   if (!model->fTrained)
      return model;
   if (!model->fStart)
      throw std::runtime_error("the model comes from a file with parameters that were trained, perhaps on these events: " + what +
                               " a new model of these layers, or, if they were not, call SetParameters() with its "
                               "Parameters() first");
   return model->fStart;
}

void CheckSeveralFits(const FitOptions &options)
{
   const char *single = !options.fCheckpoint.empty() ? "fCheckpoint" : options.fLive ? "fLive" : options.fCallback ? "fCallback" : nullptr;
   if (single)
      throw std::runtime_error(std::string(single) + " belongs to one fit, and several run here: leave it at its default");
}

void FitSideBySide(std::vector<FitTask> &tasks, const DatasetData &data, const InterruptScope &interrupt,
                   const std::function<void(std::size_t)> &ended)
{
   CheckWeight(data);
   const auto asked = ToSpec(tasks.front().fOptions).threads;
   const auto all = asked ? asked : Core::cores();
   const auto sharing = SharingOf(tasks, *data.fCore, all);
   const Share share{std::max<std::size_t>(1, all / sharing.at_once), sharing.parts};
   if (sharing.at_once == 1) {
      for (std::size_t i = 0; i < tasks.size(); ++i) {
         interrupt.Check("fit " + std::to_string(i) + " of " + std::to_string(tasks.size()));
         Try(tasks[i], *data.fCore, share, [&] { return interrupt.Requested(); });
         if (tasks[i].fTrained || !tasks[i].fError.empty())
            ended(i);
      }
      interrupt.Check("the training");
      return;
   }
   Workers workers(tasks, *data.fCore, sharing.at_once, share);
   for (std::size_t done = 0; done < tasks.size();) {
      for (const auto i : workers.Ended()) {
         ++done;
         workers.Check(i);
         if (tasks[i].fTrained || !tasks[i].fError.empty())
            ended(i);
      }
      if (interrupt.Requested())
         workers.Stop();
   }
   interrupt.Check("the training");
}

} // namespace Internal
} // namespace CladTorch
