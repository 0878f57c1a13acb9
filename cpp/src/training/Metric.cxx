#include <CladTorch/Metric.hxx>
#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>

#include <algorithm>
#include <cctype>
#include <cmath>
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
   const char *fName;
   double (*fFunction)(const Evaluation &);
};

const BuiltIn &Find(EMetric metric)
{
   static const BuiltIn kBuiltIn[] = {
      {"AUC", MeanAuc},
      {"accuracy", [](const Evaluation &e) { return e.Accuracy(); }},
      {"RMSE", MeanRmse},
      {"significance", [](const Evaluation &e) { return e.BestCut().second; }},
      {"log-likelihood", [](const Evaluation &e) { return e.LogLikelihood(); }},
   };
   if (metric < 0 || metric > kLogLikelihood)
      throw std::runtime_error("there is no metric " + std::to_string(metric) + ": use one of the named constants of EMetric");
   return kBuiltIn[metric];
}

} // namespace

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
