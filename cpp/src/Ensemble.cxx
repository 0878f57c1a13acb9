#include <CladTorch/Ensemble.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "EvaluationData.hxx"
#include "Interrupt.hxx"
#include "SideBySide.hxx"

#include <cmath>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

void CheckAlike(const Model &first, const Model &other, std::size_t number)
{
   if (other.Inputs() != first.Inputs() || other.Outputs() != first.Outputs())
      throw std::runtime_error("member " + std::to_string(number) + " takes " + std::to_string(other.Inputs()) +
                               " numbers and gives " + std::to_string(other.Outputs()) + ", member 0 takes " +
                               std::to_string(first.Inputs()) + " and gives " + std::to_string(first.Outputs()) +
                               ": members have the same inputs and outputs");
}

/// What the predictions of a model are, for messages.
std::string Meaning(const ModelData &model)
{
   const std::string meaning(Core::model_meaning(*model.fCore));
   const auto targets = Strings(Core::model_targets(*model.fCore));
   return meaning.empty() ? "nothing yet" : meaning + (targets.empty() ? "" : " (" + Joined(targets) + ")");
}

/// Labels without names may be any.
bool MeanTheSame(const ModelData &first, const ModelData &other)
{
   const auto targets = Strings(Core::model_targets(*first.fCore)), others = Strings(Core::model_targets(*other.fCore));
   return Core::model_meaning(*first.fCore) == Core::model_meaning(*other.fCore) &&
          (!Core::model_gives_values(*first.fCore) || targets.empty() || others.empty() || targets == others);
}

/// Adds up the predictions of all members and their squares.
void Sum(const std::vector<Model> &members, const Dataset &data, std::vector<double> &sum, std::vector<double> &squares)
{
   for (const auto &member : members) {
      const auto predictions = member.Predict(data);
      sum.resize(predictions.size());
      squares.resize(predictions.size());
      for (std::size_t i = 0; i < predictions.size(); ++i) {
         sum[i] += predictions[i];
         squares[i] += static_cast<double>(predictions[i]) * predictions[i];
      }
   }
}

} // namespace

Ensemble::Ensemble(const std::vector<Model> &members) : fMembers(members)
{
   Guard("CladTorch::Ensemble", [&] {
      if (members.empty())
         throw std::runtime_error("an ensemble of no models: give at least one");
      for (std::size_t i = 1; i < members.size(); ++i)
         CheckAlike(members.front(), members[i], i);
      CheckMeanings(false);
   });
}

/// Refuses members whose predictions stand for different things, which have no mean.
/// \param all Also those that were not trained yet.
void Ensemble::CheckMeanings(bool all) const
{
   const Model *first = nullptr;
   for (std::size_t i = 0; i < Size(); ++i) {
      const auto &model = *fMembers[i].fData;
      if (!all && Core::model_meaning(*model.fCore).empty())
         continue;
      if (!first)
         first = &fMembers[i];
      else if (!MeanTheSame(*first->fData, model))
         throw std::runtime_error("member " + std::to_string(i) + " predicts " + Meaning(model) + ", member " +
                                  std::to_string(first - fMembers.data()) + " " + Meaning(*first->fData) +
                                  ": the mean of these means nothing, train them with the same loss on the same labels");
   }
}

std::vector<History> Ensemble::Fit(const Dataset &data, const FitOptions &options)
{
   constexpr const char *where = "CladTorch::Ensemble::Fit";
   return LongCall(where, [&](const InterruptScope &interrupt) {
      CheckSeveralFits(options);
      std::vector<FitTask> tasks;
      for (std::size_t i = 0; i < fMembers.size(); ++i) {
         auto own = options;
         own.fSplitSeed = options.fSplitSeed ? options.fSplitSeed : options.fSeed;
         own.fSeed = options.fSeed + i;
         fMembers[i].Data(); // the module behind it still has its parameters
         tasks.push_back({fMembers[i].fData, own, {}});
      }
      FitSideBySide(where, "member", tasks, *data.fData, interrupt);
      std::vector<History> histories;
      for (std::size_t i = 0; i < fMembers.size(); ++i) {
         histories.push_back(tasks[i].fTrained->fLastFit);
         fMembers[i].Replace(std::move(tasks[i].fTrained));
      }
      return histories;
   }, "the training");
}

std::vector<float> Ensemble::Predict(const Dataset &data) const
{
   return LongCall("CladTorch::Ensemble::Predict", [&] {
      CheckMeanings(true);
      std::vector<double> sum, squares;
      Sum(fMembers, data, sum, squares);
      std::vector<float> mean;
      for (const double value : sum)
         mean.push_back(static_cast<float>(value / static_cast<double>(Size())));
      return mean;
   });
}

std::vector<float> Ensemble::Spread(const Dataset &data) const
{
   return LongCall("CladTorch::Ensemble::Spread", [&] {
      CheckMeanings(true);
      std::vector<double> sum, squares;
      Sum(fMembers, data, sum, squares);
      const auto size = static_cast<double>(Size());
      std::vector<float> spread;
      for (std::size_t i = 0; i < sum.size(); ++i) {
         const double variance = size > 1 ? (squares[i] - sum[i] * sum[i] / size) / (size - 1) : 0;
         spread.push_back(static_cast<float>(std::sqrt(std::max(0.0, variance))));
      }
      return spread;
   });
}

Evaluation Ensemble::Evaluate(const Dataset &data) const
{
   return LongCall("CladTorch::Ensemble::Evaluate", [&] {
      CheckMeanings(true);
      auto evaluation = *fMembers.front().Evaluate(data).fData; // checks the labels
      evaluation.fScores = Predict(data);
      evaluation.fLogits.clear();
      return Evaluation(std::make_shared<const EvaluationData>(std::move(evaluation)));
   });
}

ROOT::RDF::RNode
Ensemble::Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given) const
{
   return LongCall("CladTorch::Ensemble::Define", [&]() -> ROOT::RDF::RNode {
      CheckMeanings(true);
      std::string sum;
      for (std::size_t i = 0; i < Size(); ++i) {
         const auto member = name + "_" + std::to_string(i);
         frame = fMembers[i].Define(frame, member, given);
         sum += (i ? " + " : "") + member;
      }
      return frame.Define(name, "(" + sum + ") / " + std::to_string(Size()) + ".f");
   });
}

} // namespace CladTorch
