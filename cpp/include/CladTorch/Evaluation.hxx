/// \file CladTorch/Evaluation.hxx
/// \brief How good predictions are: figures and plots of classifiers and regressions.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_EVALUATION
#define CLADTORCH_EVALUATION

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class TCanvas;
class TGraph;
class TGraphAsymmErrors;
class TGraphErrors;
class TH1;
class TH2;
struct _object; // Python's PyObject

namespace CladTorch {

class Dataset;

namespace Internal {
struct EvaluationData;
struct Training;
class ReportPages;
struct SearchRound;
} // namespace Internal

/// Formula for the significance of s signal over b background events, with b known to sigma.
enum ESignificance {
   kSimpleSignificance = 0, ///< s / sqrt(s + b + sigma^2)
   /// The median significance of a discovery: Cowan, Cranmer, Gross, Vitells, Eur. Phys. J. C 71 (2011) 1554, eq. 97; with
   /// an uncertain background G. Cowan, "Discovery sensitivity for a counting experiment with background uncertainty"
   /// (2012), eq. 20.
   kAsimovSignificance = 1,
};

/// Predictions of N events with their labels and weights, and the figures and plots derived from them.
///
/// ~~~{.cpp}
/// auto evaluation = model.Evaluate(test);
/// evaluation.Print();
/// evaluation.DrawRoc();
/// auto [cut, significance] = evaluation.BestCut(25, 1000, 0.1);  // 25 signal and 1000 +- 10 % background events expected
/// ~~~
///
/// There are three kinds: classifiers with one output (labels over 0.5 are signal), classifiers of C > 1 classes, and
/// regressions of C targets. A classifier of C classes is judged one class against the rest: `output` chooses the class,
/// and is 0 otherwise; of a regression it chooses the target. A method that has no meaning for the kind at hand throws
/// CladTorch::Error, as all methods do for wrong arguments. All figures take event weights, also negative ones as long
/// as the sums stay positive.
///
/// Graphs and histograms belong to the caller and to no directory; canvases belong to ROOT and own what is drawn on them.
/// Graphs are thinned out: neighbouring points differ by at most about 1 % of their distance from 0 or 1.
class Evaluation {
public:
   /// The evaluation of a classifier.
   /// \param scores [N], or [N, `outputs`] row-major. Any values, larger for signal; probabilities for the calibration.
   /// \param labels [N]: 0 to 1 for one output, else class numbers from 0 on.
   /// \param weights [N]; empty: 1.
   static Evaluation Classifier(const std::vector<float> &scores, const std::vector<float> &labels,
                                const std::vector<float> &weights = {}, std::size_t outputs = 1);
   /// The evaluation of a regression.
   /// \param predictions, truth [N, `targets`] row-major.
   /// \param sigmas [N, `targets`]: predicted standard deviations, for Pulls(); empty: there are none.
   static Evaluation Regression(const std::vector<float> &predictions, const std::vector<float> &truth,
                                const std::vector<float> &weights = {}, std::size_t targets = 1,
                                const std::vector<float> &sigmas = {});
   // Not movable: a moved-from object would hold a null pointer.
   Evaluation(const Evaluation &) = default;
   Evaluation &operator=(const Evaluation &) = default;

   /// N
   std::size_t Events() const;
   /// C: classes or targets
   std::size_t Outputs() const;
   /// [N, C] row-major; after kGaussian the means
   const std::vector<float> &Predictions() const;
   /// [N, C] row-major: the standard deviations predicted by a model that was trained with kGaussian; empty for others
   const std::vector<float> &Sigmas() const;
   /// [N]; for a regression [N, C] row-major
   const std::vector<float> &Labels() const;
   /// [N]
   const std::vector<float> &Weights() const;

   /// Area under the ROC curve.
   double Auc(std::size_t output = 0) const;
   /// The standard error of Auc() (DeLong, DeLong and Clarke-Pearson 1988).
   double AucError(std::size_t output = 0) const;
   /// Share of events that are classified correctly. With one output, an event with a score of at least `cut` is
   /// signal; with several classes, the one with the largest score is chosen and `cut` is ignored.
   double Accuracy(double cut = 0.5) const;
   /// Share of signal among the events with a score of at least `cut` (purity).
   double Precision(double cut = 0.5, std::size_t output = 0) const;
   /// Share of the signal that has a score of at least `cut` (signal efficiency).
   double Recall(double cut = 0.5, std::size_t output = 0) const;
   /// The same for the background.
   double FalseAlarms(double cut = 0.5, std::size_t output = 0) const;
   /// The cut with the highest significance, and that significance. Only cuts that at least ten background events pass
   /// (of equal weight: (sum w)^2 / sum w^2) are considered, as the background is not known otherwise.
   /// \param signal, background Events that a search expects before the cut; 0: the sums of weights.
   /// \param backgroundError Relative uncertainty of the background.
   std::pair<double, double> BestCut(double signal = 0, double background = 0, double backgroundError = 0,
                                     ESignificance kind = kAsimovSignificance, std::size_t output = 0) const;

   /// Signal efficiency (y) against background efficiency (x), with the AUC and its error in the title; draw it with "AL".
   TGraph *Roc(std::size_t output = 0) const;
   /// The same with the standard error of the signal efficiency at each background efficiency; draw it with "A3". It
   /// combines the errors of both efficiencies, which are binomial for equal weights.
   TGraphErrors *RocBand(std::size_t output = 0) const;
   /// Background rejection, 1 / efficiency (y), against signal efficiency (x), with errors, for cuts whose background
   /// efficiency is known to 50 % (from four events of equal weight on); draw it with "A3" or, without errors, "ALX".
   TGraphErrors *Rejection(std::size_t output = 0) const;
   /// Significance (y) against the cut on the score (x); arguments as for BestCut(), which is in the title.
   TGraph *Significance(double signal = 0, double background = 0, double backgroundError = 0,
                        ESignificance kind = kAsimovSignificance, std::size_t output = 0) const;
   /// Share of signal (y) against mean predicted probability (x) in `bins` of equal width, with Wilson's intervals of one
   /// standard deviation; throws for scores outside [0, 1].
   TGraphAsymmErrors *Calibration(int bins = 10, std::size_t output = 0) const;
   /// Share of the signal that passes a cut (y) against another quantity of the events (x), such as a signal's strength, with
   /// Wilson's intervals of one standard deviation. At most the share `falseAlarm` of the background passes. The
   /// intervals leave out the uncertainty of that cut: use many times 1 / `falseAlarm` background events. Draw it with
   /// "P".
   /// \param against [N]; the values of background events are ignored.
   /// \param edges Edges of the bins, rising; a bin contains its lower edge. Bins without signal have no point.
   TGraphAsymmErrors *Efficiency(const std::vector<float> &against, const std::vector<double> &edges, double falseAlarm,
                                 std::size_t output = 0) const;
   /// The mean of |share of signal - predicted probability| over the bins of Calibration() (expected calibration
   /// error).
   double CalibrationError(int bins = 10, std::size_t output = 0) const;
   /// The number that minimises the cross-entropy when logits are divided by it (Guo et al., ICML 2017); above 1 for a
   /// model that is too certain. Needs the logits of a model; throws for scores that were passed to Classifier().
   double Temperature() const;
   /// Scores of signal (first) and of the rest (second), weighted, each normalised to 1.
   std::pair<TH1 *, TH1 *> Scores(int bins = 50, std::size_t output = 0) const;
   /// True class (y) against predicted class (x): shares of each true class, or sums of weights.
   TH2 *Confusion(bool shares = true) const;

   /// Mean of prediction - truth, in the units of the target.
   double Bias(std::size_t target = 0) const;
   /// Root of the mean square of prediction - truth.
   double Rmse(std::size_t target = 0) const;
   /// Half the width of the central 68.27 % of prediction - truth: the standard deviation of a normal distribution,
   /// whatever the tails are.
   double Resolution(std::size_t target = 0) const;
   /// Share of the target's variance that the predictions explain (R squared); NaN for a constant target.
   double Explained(std::size_t target = 0) const;
   /// Prediction - truth in the units of the target, within five Resolution() of Bias(); the share of events per bin.
   TH1 *Residuals(std::size_t target = 0, int bins = 60) const;
   /// Mean of the pulls, (prediction - truth) / sigma: 0 where the predictions are right.
   double PullMean(std::size_t target = 0) const;
   /// Half the width of the central 68.27 % of the pulls: 1 where the errors are normal and the sigmas right, above 1 where these
   /// are too small.
   double PullWidth(std::size_t target = 0) const;
   /// Mean over the events of the logarithm of the predicted normal density at the truth, summed over the targets;
   /// higher is better.
   double LogLikelihood() const;
   /// The pulls from -5 to 5; the share of events per bin.
   TH1 *Pulls(std::size_t target = 0, int bins = 60) const;

   /// Probabilities of the Kolmogorov-Smirnov test that signal (first) and background (second) have the same scores here as in
   /// `training`: small ones (say below 0.01) show that the model knows its training events better than others.
   std::pair<double, double> Overtraining(const Evaluation &training, std::size_t output = 0) const;
   /// Linear correlation of the prediction with each column of `spectators`, whose rows are these events: one labelled bin a
   /// column. 0 for a constant column.
   TH1 *Correlations(const Dataset &spectators, std::size_t output = 0) const;

   TCanvas *DrawScores(int bins = 50, std::size_t output = 0) const;
   /// With RocBand().
   TCanvas *DrawRoc(std::size_t output = 0) const;
   /// On a logarithmic axis.
   TCanvas *DrawRejection(std::size_t output = 0) const;
   TCanvas *DrawSignificance(double signal = 0, double background = 0, double backgroundError = 0,
                             ESignificance kind = kAsimovSignificance, std::size_t output = 0) const;
   TCanvas *DrawCalibration(int bins = 10, std::size_t output = 0) const;
   TCanvas *DrawConfusion() const;
   TCanvas *DrawResiduals(std::size_t target = 0, int bins = 60) const;
   /// Pulls() over the standard normal distribution.
   TCanvas *DrawPulls(std::size_t target = 0, int bins = 60) const;
   /// Scores here as points with errors over those of `training` as lines, with the probabilities of Overtraining().
   TCanvas *DrawOvertraining(const Evaluation &training, int bins = 25, std::size_t output = 0) const;

   /// Prints the figures.
   void Print() const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   friend class CrossValidation;
   friend class Ensemble;
   friend class Model;
   friend struct Internal::Training;
   friend class Internal::ReportPages;
   friend struct Internal::SearchRound;
   explicit Evaluation(std::shared_ptr<const Internal::EvaluationData> data) : fData(std::move(data)) {}

   std::shared_ptr<const Internal::EvaluationData> fData;
};

/// Area under the ROC curve of scores of any origin, without making an Evaluation; the arguments are those of
/// Evaluation::Classifier(), for one output.
double Auc(const std::vector<float> &scores, const std::vector<float> &labels, const std::vector<float> &weights = {});

} // namespace CladTorch

#endif
