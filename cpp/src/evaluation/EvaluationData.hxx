/// \file EvaluationData.hxx
/// \brief What an Evaluation points to.

#ifndef CLADTORCH_EVALUATIONDATA
#define CLADTORCH_EVALUATIONDATA

#include "CoreBox.hxx"

#include <cstddef>
#include <string>
#include <vector>

namespace CladTorch {

class Dataset;
class Model;

namespace Internal {

constexpr float kSignalLabel = 0.5f; ///< labels above this are signal

/// Predictions with labels and weights. Never changed.
struct EvaluationData {
   bool fIsRegression = false;
   std::size_t fOutputs = 1;     ///< C
   std::vector<float> fScores;   ///< [N, C]: probabilities, scores or values
   std::vector<float> fLogits;   ///< [N, C]; empty if unknown
   std::vector<float> fLabels;   ///< [N]; of a regression [N, C]
   std::vector<float> fWeights;  ///< [N]
   std::vector<std::string> fNames; ///< of the outputs; empty: they have none
   std::vector<float> fSigmas = {}; ///< [N, C]: predicted standard deviations of a regression; empty: there are none

   std::size_t Events() const { return fWeights.size(); }
   /// "class 2", "energy"
   std::string NameOf(std::size_t output) const;
   /// ", class 2" if there are several classes, for titles.
   std::string Suffix(std::size_t output) const { return fOutputs > 1 ? ", " + NameOf(output) : ""; }
};

/// Throws unless `labels` labels per event can judge `outputs` outputs: one for each target of a regression, one for a
/// classifier.
void CheckLabelsFit(std::size_t labels, Core::Gives gives, std::size_t outputs);
/// Throws unless these are labels of a classifier: 0 to 1 for one output, else whole numbers of classes.
void CheckClasses(rust::Slice<const float> labels, std::size_t outputs);
/// Throws unless `data` has events whose labels can judge the predictions of `model`.
void CheckLabels(const Model &model, const Dataset &data, Core::Gives gives);

/// The evaluation data of predictions by a model with `outputs` outputs.
/// \param predictions, logits [N, outputs]; the latter count for a classifier only.
/// \param names Names of the targets of a regression.
EvaluationData Judgement(Core::Gives gives, std::size_t outputs, std::vector<float> predictions, std::vector<float> logits,
                         std::vector<float> labels, std::vector<float> weights, std::vector<std::string> names);

/// One class of a classifier against the rest.
class OneClass {
public:
   /// Throws for a regression, and if there is no such output.
   OneClass(const EvaluationData &data, std::size_t output);

   /// Uses logits if they are known: as float32, probabilities near 0 and 1 are no longer distinct.
   rust::Slice<const float> Ranks() const { return fRanks; }
   rust::Slice<const float> Scores() const { return fScores; }
   /// Above 0.5: signal.
   rust::Slice<const float> Labels() const { return fLabels; }
   rust::Slice<const float> Weights() const { return fWeights; }
   /// Converts a cut on the ranks to a cut on the scores.
   double Cut(double rank) const;

private:
   std::vector<float> fKeptScores, fKeptLabels; ///< owned copies, if there are several classes
   rust::Slice<const float> fRanks, fScores, fLabels, fWeights;
   bool fLogistic; ///< scores are logistic functions of the ranks
};

/// [true class, predicted class]; throws for a regression.
rust::Vec<double> ConfusionOf(const EvaluationData &data);

/// [N] (prediction - truth) / sigma; throws unless the sigmas are known.
std::vector<float> PullsOf(const EvaluationData &data, std::size_t target);

/// The figures, as Evaluation::Print() shows them.
std::string Described(const EvaluationData &data);

/// Probabilities are in [0, 1]; other scores have the range of their values.
std::pair<double, double> RangeOf(rust::Slice<const float> scores);

} // namespace Internal
} // namespace CladTorch

#endif
