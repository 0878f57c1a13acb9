/// \file CladTorch/Metric.hxx
/// \brief Figures that a fit records after each epoch, and the argument of a callback.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_METRIC
#define CLADTORCH_METRIC

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

class Evaluation;

/// Figures of the validation events. See Evaluation.
enum EMetric {
   kAuc = 0,      ///< area under the ROC curve; of several classes the mean over the classes, each against the rest
   kAccuracy = 1, ///< share of events whose class is predicted, for one output by a probability of at least 0.5
   /// Root mean square of prediction - truth; of several targets the root of the mean over the targets, each relative to the
   /// target's variance.
   kRmse = 2,
   kSignificance = 3, ///< the largest Asimov significance of a cut on one output, for the events' weights
   kLogLikelihood = 4, ///< of means and standard deviations (ELoss::kGaussian): see Evaluation::LogLikelihood()
};

/// A figure of the validation events: one of EMetric, or a function.
///
/// ~~~{.cpp}
/// options.fMetrics = {CladTorch::kAuc, {"efficiency", [](const CladTorch::Evaluation &e) { return e.Recall(0.9); }}};
/// ~~~
class Metric {
public:
   Metric(EMetric metric);
   /// An exception from the function ends the fit with an error; return NaN if there is no figure.
   /// \param name For History::Metric() and the progress line: printable, without "; ".
   Metric(const std::string &name, std::function<double(const Evaluation &)> function);

   /// "AUC", or what was given.
   const std::string &Name() const { return fName; }
   /// Whether it is one of EMetric.
   bool IsBuiltIn() const { return fIsBuiltIn; }
   double operator()(const Evaluation &evaluation) const { return fFunction(evaluation); }

   /// Called by PyROOT when it meets this class: checks and names arguments, takes Python's functions.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::string fName;
   std::function<double(const Evaluation &)> fFunction;
   bool fIsBuiltIn = false;
};

/// The argument of a callback, after an epoch of a fit.
struct Epoch {
   std::size_t fNumber = 0;      ///< from 1 on
   std::size_t fEpochs = 0;      ///< of the fit, if nothing ends it early
   double fTrainLoss = 0;        ///< see History
   double fValidationLoss = 0;   ///< NaN without validation events
   double fSeconds = 0;          ///< wall time
   double fLearningRate = 0;     ///< of the last step
   std::vector<double> fMetrics; ///< the figures of FitOptions::fMetrics, in their order

   /// Called by PyROOT when it meets this class: copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);
};

} // namespace CladTorch

#endif
