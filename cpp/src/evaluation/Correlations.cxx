// Linear correlations of columns with one another, and with predictions.

#include <CladTorch/Dataset.hxx>
#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>

#include "Canvas.hxx"
#include "EvaluationData.hxx"
#include "Interrupt.hxx"
#include "cladtorch/src/bridge/evaluate.rs.h"

#include <TAxis.h>
#include <TDirectory.h>
#include <TH1F.h>
#include <TH2F.h>

#include <cmath>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// One bin for each element of the columns.
void NameBins(TAxis &axis, const rust::Vec<rust::String> &names)
{
   for (int i = 0; i < axis.GetNbins(); ++i)
      axis.SetBinLabel(i + 1, std::string(names[static_cast<std::size_t>(i)]).c_str());
}

/// A constant column has no correlation.
double OrZero(double correlation)
{
   return std::isnan(correlation) ? 0 : correlation;
}

} // namespace

TH2 *Dataset::Correlations() const
{
   return LongCall("CladTorch::Dataset::Correlations", [&]() -> TH2 * {
      const auto features = Features(), weights = Weights();
      const auto found = Core::evaluate_correlation({features.Data(), features.Size()}, Width(), {weights.Data(), weights.Size()});
      const auto width = static_cast<int>(Width());
      const TDirectory::TContext none(nullptr);
      auto *histogram = new TH2F("correlations", "Linear correlations", width, 0, width, width, 0, width);
      for (int row = 0; row < width; ++row)
         for (int column = 0; column < width; ++column)
            histogram->SetBinContent(column + 1, row + 1, OrZero(found[static_cast<std::size_t>(row * width + column)]));
      const auto names = Core::dataset_element_names(*fData->fCore);
      NameBins(*histogram->GetXaxis(), names);
      NameBins(*histogram->GetYaxis(), names);
      histogram->SetStats(false);
      histogram->SetMinimum(-1);
      histogram->SetMaximum(1);
      return histogram;
   });
}

TH1 *Evaluation::Correlations(const Dataset &spectators, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Correlations", [&]() -> TH1 * {
      if (spectators.Rows() != Events())
         throw std::runtime_error("the spectators have " + std::to_string(spectators.Rows()) + " rows for " +
                                  std::to_string(Events()) + " events: read them from the same sources with the same cuts");
      if (output >= fData->fOutputs)
         throw std::runtime_error("there is no output " + std::to_string(output) + ": count them from 0");
      const auto features = spectators.Features();
      const auto width = features.Columns();
      std::vector<float> rows; // the prediction before the columns
      rows.reserve(Events() * (width + 1));
      for (std::size_t i = 0; i < Events(); ++i) {
         rows.push_back(fData->fScores[i * fData->fOutputs + output]);
         rows.insert(rows.end(), features.Data() + i * width, features.Data() + (i + 1) * width);
      }
      const auto found = Core::evaluate_correlation(Slice(rows), width + 1, Slice(fData->fWeights));
      const auto bins = static_cast<int>(width);
      const TDirectory::TContext none(nullptr);
      auto *histogram = new TH1F("correlations", ";;Correlation with the prediction", bins, 0, bins);
      for (int i = 0; i < bins; ++i)
         histogram->SetBinContent(i + 1, OrZero(found[static_cast<std::size_t>(i) + 1]));
      NameBins(*histogram->GetXaxis(), Core::dataset_element_names(*spectators.fData->fCore));
      histogram->SetStats(false);
      histogram->SetFillColor(FirstColour());
      return histogram;
   });
}

} // namespace CladTorch
