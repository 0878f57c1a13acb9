/// \file CladTorch/History.hxx
/// \brief Loss curves and timings of one fit.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_HISTORY
#define CLADTORCH_HISTORY

#include <cstddef>
#include <string>
#include <vector>

class TCanvas;
struct _object; // Python's PyObject

namespace CladTorch {

namespace Internal {
class LiveCanvas;
struct Training;
} // namespace Internal

/// Losses after each epoch of one Model::Fit.
class History {
public:
   /// Epochs that were run; fewer than fEpochs if the fit was Interrupted() or fPatience ended it.
   std::size_t Epochs() const { return fTrainLoss.size(); }
   /// [epochs], the weighted mean loss over the training part, summed up while the weights change.
   const std::vector<double> &TrainLoss() const { return fTrainLoss; }
   /// [epochs], the weighted mean loss over the validation part after the epoch; NaN without a validation part.
   const std::vector<double> &ValidationLoss() const { return fValidationLoss; }
   /// [epochs], wall time in seconds.
   const std::vector<double> &Seconds() const { return fSeconds; }
   /// [epochs], the learning rate of the last step.
   const std::vector<double> &LearningRate() const { return fLearningRate; }
   /// Names of FitOptions::fMetrics.
   const std::vector<std::string> &MetricNames() const { return fMetricNames; }
   /// [epochs], the figure `name` of the validation events after the epoch.
   const std::vector<double> &Metric(const std::string &name) const;
   /// Number of the epoch with the smallest validation loss, from 1 on; 0 without validation events.
   std::size_t BestEpoch() const;
   /// Number of the epoch whose parameters the model has because of fPatience or fKeepBest; 0: it has the last ones.
   std::size_t RestoredEpoch() const { return fRestoredEpoch; }
   /// Whether Ctrl-C ended the fit before its last epoch. See Model::LastFit().
   bool Interrupted() const { return fInterrupted; }
   /// The gradient back end, its device and threads, and the reason for the choice.
   const std::string &Description() const { return fDescription; }

   /// Loss curves against the epoch on a new canvas, which belongs to ROOT (gROOT's list of canvases) and owns what
   /// is drawn on it. Throws CladTorch::Error for a history without epochs.
   /// \param metric One of MetricNames() to draw instead of the losses.
   TCanvas *Draw(const std::string &metric = "") const;

   /// Prints one line per epoch.
   void Print() const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class Model;
   friend class Internal::LiveCanvas;
   friend struct Internal::Training;

   void DrawCurves(const std::string &metric) const;

   std::vector<double> fTrainLoss;
   std::vector<double> fValidationLoss;
   std::vector<double> fSeconds;
   std::vector<double> fLearningRate;
   std::vector<std::string> fMetricNames;
   std::vector<std::vector<double>> fMetrics; ///< [metrics][epochs]
   std::size_t fRestoredEpoch = 0;
   std::string fDescription;
   bool fInterrupted = false;
};

} // namespace CladTorch

#endif
