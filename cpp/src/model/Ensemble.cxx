#include <CladTorch/Ensemble.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "EvaluationData.hxx"
#include "FilePath.hxx"
#include "Interrupt.hxx"
#include "ReportPages.hxx"
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

/// The meaning of a model's predictions, for messages.
std::string Meaning(const ModelData &model)
{
   const std::string meaning(Core::model_meaning(*model.fCore));
   const auto targets = Strings(Core::model_targets(*model.fCore));
   return meaning.empty() ? "nothing yet" : meaning + (targets.empty() ? "" : " (" + Joined(targets) + ")");
}

/// Labels without names match any.
bool MeanTheSame(const ModelData &first, const ModelData &other)
{
   const auto targets = Strings(Core::model_targets(*first.fCore)), others = Strings(Core::model_targets(*other.fCore));
   return Core::model_meaning(*first.fCore) == Core::model_meaning(*other.fCore) &&
          (Core::model_gives(*first.fCore) == Core::Gives::Probabilities || targets.empty() || others.empty() || targets == others);
}

/// The mean of the members' predictions, and the sum of the squares of their distances from it, accumulated one member
/// after the other (Welford 1962), because sums of squares lose the digits of a small distance.
struct Moments {
   std::vector<double> fMean, fSquares;

   Moments(const std::vector<Model> &members, const Dataset &data)
   {
      double count = 0;
      for (const auto &member : members) {
         const auto predictions = member.Predict(data);
         fMean.resize(predictions.size());
         fSquares.resize(predictions.size());
         ++count;
         for (std::size_t i = 0; i < predictions.size(); ++i) {
            const double distance = predictions[i] - fMean[i];
            fMean[i] += distance / count;
            fSquares[i] += distance * (predictions[i] - fMean[i]);
         }
      }
   }
};

/// The mixture of the members' normal distributions (Lakshminarayanan et al. 2017, section 2.4): the mean is unchanged;
/// the variance is the mean of the members' variances plus the variance of their means.
void MixDeviations(const Moments &moments, double size, std::size_t outputs, std::vector<float> &predictions)
{
   const auto targets = outputs / 2;
   for (std::size_t i = 0; i < predictions.size(); ++i)
      if (i % outputs >= targets) {
         const double squares = moments.fSquares[i] + moments.fSquares[i - targets];
         predictions[i] = static_cast<float>(std::sqrt(moments.fMean[i] * moments.fMean[i] + squares / size));
      }
}

/// The prediction of `members`, columns [2 targets] of a frame, as C++ code: that of MixDeviations().
std::string MixtureText(const std::vector<std::string> &members, std::size_t targets)
{
   const auto count = std::to_string(targets), size = std::to_string(members.size());
   std::string means, squares;
   for (const auto &member : members) {
      const auto mean = "ROOT::VecOps::Take(" + member + ", " + count + ")", sigma = "ROOT::VecOps::Take(" + member + ", -" + count + ")";
      means += (means.empty() ? "" : " + ") + mean;
      squares += (squares.empty() ? "" : " + ") + sigma + " * " + sigma + " + pow(" + mean + " - means, 2)";
   }
   return "const ROOT::RVecF means = (" + means + ") / " + size + ".f; const ROOT::RVecF variances = (" + squares + ") / " + size +
          ".f; return ROOT::VecOps::Concatenate(means, ROOT::RVecF(sqrt(variances)));";
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

/// Refuses members whose predictions have different meanings, which have no mean.
/// \param all Includes members that were not trained yet.
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

/// Whether the members, whose predictions have one meaning, predict standard deviations.
bool Ensemble::GivesGaussians() const
{
   return Core::model_gives(*fMembers.front().fData->fCore) == Core::Gives::Gaussians;
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
         fMembers[i].Data(); // the module that it came from still has its parameters
         tasks.push_back({fMembers[i].fData, own});
      }
      FitSideBySide(tasks, *data.fData, interrupt, [&](std::size_t i) { SayEnded(where, "member", i, tasks); });
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
      const Moments moments(fMembers, data);
      std::vector<float> predictions(moments.fMean.begin(), moments.fMean.end());
      if (GivesGaussians())
         MixDeviations(moments, static_cast<double>(Size()), fMembers.front().Outputs(), predictions);
      return predictions;
   });
}

std::vector<float> Ensemble::Spread(const Dataset &data) const
{
   return LongCall("CladTorch::Ensemble::Spread", [&] {
      CheckMeanings(true);
      const Moments moments(fMembers, data);
      const double degrees = std::max<double>(1, static_cast<double>(Size()) - 1);
      std::vector<float> spread;
      for (const double squares : moments.fSquares)
         spread.push_back(static_cast<float>(std::sqrt(squares / degrees)));
      return spread;
   });
}

Evaluation Ensemble::Evaluate(const Dataset &data) const
{
   return LongCall("CladTorch::Ensemble::Evaluate", [&] {
      CheckMeanings(true);
      const auto &first = fMembers.front();
      const auto gives = Core::model_gives(*first.Data().fCore);
      CheckLabels(first, data, gives);
      return Evaluation(std::make_shared<const EvaluationData>(
         Judgement(gives, first.Outputs(), Predict(data), {}, {data.Labels().begin(), data.Labels().end()},
                   {data.Weights().begin(), data.Weights().end()}, first.Targets())));
   });
}

void Ensemble::Save(const std::string &path) const
{
   LongCall("CladTorch::Ensemble::Save", [&] {
      auto models = Core::model_list();
      for (const auto &member : fMembers)
         models->push(*member.Data().fCore);
      Core::model_save_all(*models, FilePath(path));
   });
}

Ensemble Ensemble::Load(const std::string &path, const std::string &activation)
{
   return LongCall("CladTorch::Ensemble::Load", [&] {
      auto models = Core::model_load_all(FilePath(path), activation);
      std::vector<Model> members;
      for (std::size_t left = models->len(); left > 0; --left)
         members.push_back(Model(FromFile(models->pop()), FromCore()));
      return Ensemble(members);
   });
}

void Ensemble::Report(const std::string &path, const Dataset &test) const
{
   MakeReport(path, test, nullptr);
}

void Ensemble::Report(const std::string &path, const Dataset &test, const Dataset &training) const
{
   MakeReport(path, test, &training);
}

void Ensemble::MakeReport(const std::string &path, const Dataset &test, const Dataset *training) const
{
   LongCall("CladTorch::Ensemble::Report", [&](const InterruptScope &interrupt) {
      ReportPages pages(path);
      std::string about = "Ensemble of " + std::to_string(Size()) + " models\n";
      for (const auto &member : fMembers)
         about += std::string(Core::model_describe(*member.Data().fCore));
      const auto evaluation = Evaluate(test);
      std::optional<Evaluation> before;
      if (training)
         before = Evaluate(*training);
      pages.Write(interrupt, about, test, evaluation, before, {});
   });
}

ROOT::RDF::RNode
Ensemble::Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given) const
{
   return LongCall("CladTorch::Ensemble::Define", [&]() -> ROOT::RDF::RNode {
      CheckMeanings(true);
      std::vector<std::string> members;
      std::string sum;
      for (std::size_t i = 0; i < Size(); ++i) {
         members.push_back(name + "_" + std::to_string(i));
         frame = fMembers[i].Define(frame, members.back(), given);
         if (!frame.HasColumn(members.back()))
            throw std::runtime_error("the columns hold one number for each object, and the models have " +
                                     std::to_string(fMembers[i].Outputs()) + " outputs: call Define() of single models");
         sum += (i ? " + " : "") + members.back();
      }
      return frame.Define(name, GivesGaussians() ? MixtureText(members, fMembers.front().Outputs() / 2)
                                                 : "(" + sum + ") / " + std::to_string(Size()) + ".f");
   });
}

} // namespace CladTorch
