#include <CladTorch/Metric.hxx>
#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>

#include "MetricChecks.hxx"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

double MeanAuc(const Evaluation &evaluation)
{
   double sum = 0;
   for (std::size_t output = 0; output < evaluation.Outputs(); ++output)
      sum += evaluation.Auc(output);
   return sum / static_cast<double>(evaluation.Outputs());
}

double MeanRmse(const Evaluation &evaluation)
{
   const auto targets = evaluation.Outputs();
   if (targets == 1)
      return evaluation.Rmse();
   double unexplained = 0;
   for (std::size_t target = 0; target < targets; ++target)
      unexplained += 1 - evaluation.Explained(target);
   return std::sqrt(unexplained / static_cast<double>(targets));
}

struct BuiltIn {
   const char *fConstant;
   const char *fName;
   double (*fFunction)(const Evaluation &);
   bool (*fJudges)(Core::Gives gives);
};

bool IsClassifier(Core::Gives gives)
{
   return gives == Core::Gives::Probabilities;
}

/// In the order of EMetric.
const BuiltIn kBuiltIn[] = {
   {"kAuc", "AUC", MeanAuc, IsClassifier},
   {"kAccuracy", "accuracy", [](const Evaluation &e) { return e.Accuracy(); }, IsClassifier},
   {"kRmse", "RMSE", MeanRmse, [](Core::Gives gives) { return gives != Core::Gives::Probabilities; }},
   {"kSignificance", "significance", [](const Evaluation &e) { return e.BestCut().second; }, IsClassifier},
   {"kLogLikelihood", "log-likelihood", [](const Evaluation &e) { return e.LogLikelihood(); },
    [](Core::Gives gives) { return gives == Core::Gives::Gaussians; }},
};

const BuiltIn &Find(EMetric metric)
{
   if (metric < 0 || metric > kLogLikelihood)
      throw std::runtime_error("there is no metric " + std::to_string(metric) + ": use one of the named constants of EMetric");
   return kBuiltIn[metric];
}

} // namespace

void Internal::CheckMetrics(const std::vector<Metric> &metrics, Core::Gives gives)
{
   for (const auto &metric : metrics) {
      const auto isIt = [&](const BuiltIn &each) { return metric.IsBuiltIn() && metric.Name() == each.fName; };
      const auto *found = std::find_if(std::begin(kBuiltIn), std::end(kBuiltIn), isIt);
      if (found == std::end(kBuiltIn) || found->fJudges(gives))
         continue;
      std::string others;
      for (const auto &each : kBuiltIn)
         if (each.fJudges(gives))
            others += std::string(others.empty() ? "" : ", ") + each.fConstant;
      const char *kind = gives == Core::Gives::Probabilities ? "a classifier"
                         : gives == Core::Gives::Gaussians   ? "a regression with kGaussian"
                                                             : "a regression";
      throw std::runtime_error(std::string("the metric ") + found->fConstant + " does not judge " + kind + ", which this fit " +
                               "trains: take one of " + others + ", a function of your own, or another fLoss");
   }
}

Metric::Metric(EMetric metric) : fIsBuiltIn(true)
{
   Guard("CladTorch::Metric", [&] {
      const auto &found = Find(metric);
      fName = found.fName;
      fFunction = found.fFunction;
   });
}

Metric::Metric(const std::string &name, std::function<double(const Evaluation &)> function)
   : fName(name), fFunction(std::move(function))
{
   Guard("CladTorch::Metric", [&] {
      const bool printable = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= ' ' && c != 127; });
      if (name.empty() || !printable || name.find("; ") != std::string::npos)
         throw std::runtime_error("the name of a metric is empty or has line breaks or \"; \" in it: choose another");
      if (!fFunction)
         throw std::runtime_error("the metric \"" + name + "\" has no function: give one that takes an Evaluation");
   });
}

} // namespace CladTorch
