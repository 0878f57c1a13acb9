#include <CladTorch/Guard.hxx>
#include <CladTorch/RandomSearch.hxx>

#include "SearchRound.hxx"

#include <TString.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// Calls `add` on a copy of the data behind `data`, as it may be shared.
template <class F>
void AddOption(const char *where, std::shared_ptr<const RandomSearchData> &data, const std::string &option, F add)
{
   Guard(where, [&] {
      if (!data->fTrials.empty())
         throw std::runtime_error("trials were run already, without " + option + ": name all options before Run(), or make another "
                                  "RandomSearch");
      auto changed = std::make_shared<RandomSearchData>(*data);
      add(*changed->fSpace);
      changed->fNames.push_back(option);
      data = std::move(changed);
   });
}

const Trial &Best(const RandomSearchData &data)
{
   if (data.fTrials.empty())
      throw std::runtime_error("there are no trials yet: call Run()");
   const auto *best = data.Best();
   if (!best)
      throw std::runtime_error("no trial has a score: their fError says why");
   return *best;
}

} // namespace

RandomSearch::RandomSearch(const Model &model) : RandomSearch(std::vector<Model>{model}) {}

RandomSearch::RandomSearch(const std::vector<Model> &models)
{
   Guard("CladTorch::RandomSearch", [&] {
      if (models.empty())
         throw std::runtime_error("a search among no models: give at least one");
      fData = std::make_shared<const RandomSearchData>(models);
   });
}

RandomSearch &RandomSearch::Uniform(const std::string &option, double low, double high)
{
   AddOption("CladTorch::RandomSearch::Uniform", fData, option,
             [&](Core::Space &space) { Core::space_interval(space, option, low, high, false); });
   return *this;
}

RandomSearch &RandomSearch::LogUniform(const std::string &option, double low, double high)
{
   AddOption("CladTorch::RandomSearch::LogUniform", fData, option,
             [&](Core::Space &space) { Core::space_interval(space, option, low, high, true); });
   return *this;
}

RandomSearch &RandomSearch::Choice(const std::string &option, const std::vector<double> &values)
{
   AddOption("CladTorch::RandomSearch::Choice", fData, option,
             [&](Core::Space &space) { Core::space_choice(space, option, Slice(values)); });
   return *this;
}

void RandomSearch::Run(const Dataset &data, int trials, const FitOptions &options, int folds)
{
   LongCall("CladTorch::RandomSearch::Run", [&](const InterruptScope &interrupt) {
      if (trials < 1)
         throw std::runtime_error(std::to_string(trials) + " trials: give at least one");
      if (folds < 0 || folds == 1)
         throw std::runtime_error(std::to_string(folds) + " folds: give at least 2, or 0 for the validation events of fValidation");
      auto search = std::make_shared<RandomSearchData>(*fData);
      SearchRound round(*search, data, options, static_cast<std::size_t>(folds), static_cast<std::size_t>(trials));
      try {
         round.Run(interrupt);
      } catch (...) {
         if (!interrupt.Requested())
            throw;
         const auto done = search->fTrials.size() - fData->fTrials.size();
         fData = std::move(search);
         throw Stopped("interrupted after " + std::to_string(done) + " of " + std::to_string(round.Trials()) +
                       " trials, which Trials() has; a further Run() goes on");
      }
      fData = std::move(search);
      if (!fData->Best())
         throw std::runtime_error("no trial has a score; the first one failed: " + fData->fTrials.front().fError);
   }, "the search");
}

const std::vector<Trial> &RandomSearch::Trials() const
{
   return fData->fTrials;
}

const Trial &RandomSearch::BestTrial() const
{
   return Guard("CladTorch::RandomSearch::BestTrial", [&]() -> const Trial & { return Best(*fData); });
}

Model RandomSearch::BestModel() const
{
   return Guard("CladTorch::RandomSearch::BestModel", [&] {
      Best(*fData);
      if (!fData->fBestModel)
         throw std::runtime_error("no model was fitted to all events with the best options, as Ctrl-C came before or the fit failed: "
                                  "fit one with BestTrial().fOptions");
      return *fData->fBestModel;
   });
}

ROOT::RDF::RNode RandomSearch::Table() const
{
   return Guard("CladTorch::RandomSearch::Table", [&]() -> ROOT::RDF::RNode {
      ROOT::RDF::RNode frame = ROOT::RDataFrame(fData->fTrials.size());
      const auto define = [&](const std::string &name, auto value) {
         frame = frame.Define(name, [data = fData, value](ULong64_t row) { return double(value(*data, row)); }, {"rdfentry_"});
      };
      const auto of = [](auto member) { return [member](const RandomSearchData &data, ULong64_t row) { return data.fTrials[row].*member; }; };
      define("trial", of(&Trial::fNumber));
      define("model", of(&Trial::fModel));
      define("score", of(&Trial::fScore));
      define("score_error", of(&Trial::fScoreError));
      define("loss", of(&Trial::fLoss));
      define("epochs", of(&Trial::fEpochs));
      define("seconds", of(&Trial::fSeconds));
      for (std::size_t i = 0; i < fData->fNames.size(); ++i)
         define(fData->fNames[i], [i](const RandomSearchData &data, ULong64_t row) { return data.fDrawn[row][i]; });
      return frame;
   });
}

void RandomSearch::Print(std::size_t most) const
{
   Guard("CladTorch::RandomSearch::Print", [&] {
      const auto &trials = fData->fTrials;
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < trials.size(); ++i)
         if (trials[i].fError.empty())
            order.push_back(i);
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return fData->IsBetter(trials[a], trials[b]); });
      std::cout << trials.size() << " trials, " << trials.size() - order.size() << " without a score\n";
      if (order.empty())
         return;
      std::cout << TString::Format("%6s %6s %10s %9s  options\n", "trial", "model", fData->fMetric->Name().c_str(), "+-");
      for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
         const auto &trial = trials[order[i]];
         const auto error = std::isnan(trial.fScoreError) ? TString() : TString::Format("%.2g", trial.fScoreError);
         std::cout << TString::Format("%6zu %6zu %10.5g %9s  ", trial.fNumber, trial.fModel, trial.fScore, error.Data())
                   << fData->Describe(fData->fDrawn[order[i]]) << "\n";
      }
      std::cout << std::flush;
   });
}

} // namespace CladTorch
