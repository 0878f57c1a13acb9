// Graphs and histograms of an Evaluation.

#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>

#include "Canvas.hxx"
#include "EvaluationData.hxx"
#include "Interrupt.hxx"
#include "cladtorch/src/bridge/evaluate.rs.h"
#include "cladtorch/src/bridge/training.rs.h"

#include <TAxis.h>
#include <TDirectory.h>
#include <TGraphAsymmErrors.h>
#include <TGraphErrors.h>
#include <TH1F.h>
#include <TH2F.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

constexpr double kLeastKnown = 0.5;  ///< relative error of a background that passes: that of four events
constexpr int kMostBins = 1000000;   ///< more than can be seen, few enough to fit in memory

void CheckBins(int bins)
{
   if (bins < 1 || bins > kMostBins)
      throw std::runtime_error("the number of bins is " + std::to_string(bins) + ": give one from 1 to " +
                               std::to_string(kMostBins));
}

/// Detached from any directory, where it would replace the user's histogram of that name.
template <class Histogram, class... Arguments>
Histogram *Detached(Arguments... arguments)
{
   const TDirectory::TContext none(nullptr);
   auto *histogram = new Histogram(arguments...);
   histogram->SetStats(false);
   histogram->Sumw2();
   return histogram;
}

template <class Graph>
Graph *Styled(Graph *graph, const char *name, const TString &title)
{
   graph->SetName(name);
   graph->SetTitle(title);
   graph->SetLineColor(FirstColour());
   graph->SetMarkerColor(FirstColour());
   graph->SetFillColorAlpha(FirstColour(), 0.25f);
   graph->SetLineWidth(3);
   return graph;
}

TGraphAsymmErrors *WithIntervals(const rust::Vec<double> &x, const rust::Vec<double> &y, const rust::Vec<double> &lower,
                                 const rust::Vec<double> &upper)
{
   auto *graph = new TGraphAsymmErrors();
   for (std::size_t i = 0; i < x.size(); ++i) {
      graph->AddPoint(x[i], y[i]);
      graph->SetPointError(static_cast<int>(i), 0, 0, y[i] - lower[i], upper[i] - y[i]);
   }
   graph->SetMarkerStyle(20);
   return graph;
}

template <class Graph>
Graph *InUnitSquare(Graph *graph)
{
   graph->GetXaxis()->SetLimits(0, 1);
   graph->SetMinimum(0);
   graph->SetMaximum(1.02);
   return graph;
}

TH1F *ScoreHistogram(const char *name, const char *title, int bins, std::pair<double, double> range,
                     const std::string &suffix)
{
   auto *histogram = Detached<TH1F>(name, title, bins, range.first, range.second);
   histogram->SetXTitle(("Network output" + suffix).c_str());
   histogram->SetYTitle("Share of events per bin");
   histogram->SetLineWidth(3);
   return histogram;
}

/// A histogram of the shares of events; those of `values` [N] outside its range count in the total, too.
TH1F *ShareHistogram(const char *name, const std::string &title, int bins, double low, double high,
                     const std::vector<float> &values, const std::vector<float> &weights)
{
   auto *histogram = Detached<TH1F>(name, (";" + title + ";Share of events per bin").c_str(), bins, low, high);
   double sum = 0;
   for (std::size_t i = 0; i < values.size(); ++i) {
      histogram->Fill(values[i], weights[i]);
      sum += weights[i];
   }
   histogram->Scale(1 / sum);
   histogram->SetLineColor(FirstColour());
   histogram->SetLineWidth(3);
   return histogram;
}

void Normalise(TH1 &histogram)
{
   const double sum = histogram.GetSumOfWeights();
   if (sum != 0)
      histogram.Scale(1 / sum);
}

} // namespace

TGraph *Evaluation::Roc(std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Roc", [&] {
      const OneClass one(*fData, output);
      const auto curve = Core::roc(one.Ranks(), one.Labels(), one.Weights());
      auto *graph = new TGraph(static_cast<int>(curve.false_positive.size()), curve.false_positive.data(),
                               curve.true_positive.data());
      return InUnitSquare(Styled(graph, "roc", TString::Format("AUC = %.4f #pm %.4f%s;Background efficiency;Signal efficiency",
                                                               curve.auc, curve.auc_error, fData->Suffix(output).c_str())));
   });
}

TGraphErrors *Evaluation::RocBand(std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::RocBand", [&] {
      const OneClass one(*fData, output);
      const auto curve = Core::evaluate_points(one.Ranks(), one.Labels(), one.Weights());
      const std::vector<double> none(curve.band.size(), 0.);
      auto *graph = new TGraphErrors(static_cast<int>(curve.band.size()), curve.background.data(), curve.signal.data(),
                                     none.data(), curve.band.data());
      return InUnitSquare(Styled(graph, "roc_band", ";Background efficiency;Signal efficiency"));
   });
}

TGraphErrors *Evaluation::Rejection(std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Rejection", [&] {
      const OneClass one(*fData, output);
      const auto curve = Core::evaluate_points(one.Ranks(), one.Labels(), one.Weights());
      auto *graph = new TGraphErrors();
      for (std::size_t i = 0; i < curve.background.size(); ++i) {
         const double background = curve.background[i];
         if (!(background > 0) || curve.background_error[i] > kLeastKnown * background)
            continue;
         graph->AddPoint(curve.signal[i], 1 / background);
         graph->SetPointError(graph->GetN() - 1, curve.signal_error[i],
                              curve.background_error[i] / (background * background));
      }
      return Styled(graph, "rejection", ("Background rejection" + fData->Suffix(output) + ";Signal efficiency;1 / background efficiency").c_str());
   });
}

TGraph *Evaluation::Significance(double signal, double background, double backgroundError, ESignificance kind,
                                 std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Significance", [&] {
      const OneClass one(*fData, output);
      const auto curve = Core::evaluate_significance(one.Ranks(), one.Labels(), one.Weights(), signal, background,
                                                     backgroundError, kind == kAsimovSignificance);
      auto *graph = new TGraph();
      for (std::size_t i = 0; i < curve.cut.size(); ++i)
         if (std::isfinite(curve.cut[i]))
            graph->AddPoint(one.Cut(curve.cut[i]), curve.value[i]);
      return Styled(graph, "significance",
                    TString::Format("Best: %.3g at a cut of %.4g;Cut on the network output;%s", curve.best,
                                    one.Cut(curve.best_cut),
                                    kind == kAsimovSignificance ? "Asimov significance" : "s / #sqrt{s + b}"));
   });
}

TGraphAsymmErrors *Evaluation::Calibration(int bins, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Calibration", [&] {
      const OneClass one(*fData, output);
      const auto found = Core::evaluate_calibration(one.Scores(), one.Labels(), one.Weights(), bins);
      return InUnitSquare(Styled(
         WithIntervals(found.predicted, found.observed, found.lower, found.upper), "calibration",
         TString::Format("Calibration error %.4f;Predicted probability;Share of signal", found.error)));
   });
}

TGraphAsymmErrors *Evaluation::Efficiency(const std::vector<float> &against, const std::vector<double> &edges,
                                          double falseAlarm, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Efficiency", [&] {
      const OneClass one(*fData, output);
      const auto found = Core::evaluate_efficiency(one.Ranks(), one.Labels(), one.Weights(), Slice(against), Slice(edges),
                                                   falseAlarm);
      auto *graph = Styled(WithIntervals(found.middle, found.value, found.lower, found.upper), "efficiency",
                           TString::Format("%g of the background pass%s;;Signal efficiency", falseAlarm,
                                           fData->Suffix(output).c_str()));
      graph->SetMinimum(0);
      graph->SetMaximum(1.02);
      return graph;
   });
}

std::pair<TH1 *, TH1 *> Evaluation::Scores(int bins, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::Scores", [&] {
      CheckBins(bins);
      const OneClass one(*fData, output);
      const auto range = RangeOf(one.Scores());
      const bool several = fData->fOutputs > 1;
      auto *signal = ScoreHistogram("score_signal", several ? "This class" : "Signal", bins, range, fData->Suffix(output));
      auto *background = ScoreHistogram("score_background", several ? "Other classes" : "Background", bins, range, fData->Suffix(output));
      // 1 itself belongs to the last bin, not to the overflow.
      const double highest = std::nextafter(range.second, range.first);
      for (std::size_t i = 0; i < one.Scores().size(); ++i)
         (one.Labels()[i] > kSignalLabel ? signal : background)
            ->Fill(std::min<double>(one.Scores()[i], highest), one.Weights()[i]);
      signal->SetLineColor(FirstColour());
      background->SetLineColor(SecondColour());
      background->SetLineStyle(2);
      Normalise(*signal);
      Normalise(*background);
      return std::pair<TH1 *, TH1 *>(signal, background);
   });
}

TH2 *Evaluation::Confusion(bool shares) const
{
   return LongCall("CladTorch::Evaluation::Confusion", [&]() -> TH2 * {
      const auto classes = static_cast<int>(fData->fOutputs);
      const auto matrix = ConfusionOf(*fData);
      auto *histogram = Detached<TH2F>("confusion", ";Predicted;True", classes, 0., double(classes), classes, 0., double(classes));
      for (int row = 0; row < classes; ++row) {
         double sum = 0;
         for (int column = 0; column < classes; ++column)
            sum += matrix[static_cast<std::size_t>(row * classes + column)];
         const double scale = shares && sum > 0 ? 1 / sum : 1;
         for (int column = 0; column < classes; ++column)
            histogram->SetBinContent(column + 1, row + 1,
                                     scale * matrix[static_cast<std::size_t>(row * classes + column)]);
         const auto name = fData->NameOf(static_cast<std::size_t>(row));
         histogram->GetXaxis()->SetBinLabel(row + 1, name.c_str());
         histogram->GetYaxis()->SetBinLabel(row + 1, name.c_str());
      }
      return histogram;
   });
}

TH1 *Evaluation::Residuals(std::size_t target, int bins) const
{
   return LongCall("CladTorch::Evaluation::Residuals", [&]() -> TH1 * {
      CheckBins(bins);
      const double centre = Bias(target), width = 5 * Resolution(target);
      const double range = width > 0 ? width : 1;
      std::vector<float> residuals;
      for (auto i = target; i < fData->fScores.size(); i += fData->fOutputs)
         residuals.push_back(fData->fScores[i] - fData->fLabels[i]);
      return ShareHistogram("residuals", "Prediction - truth of " + fData->NameOf(target), bins, centre - range, centre + range,
                            residuals, fData->fWeights);
   });
}

TH1 *Evaluation::Pulls(std::size_t target, int bins) const
{
   return LongCall("CladTorch::Evaluation::Pulls", [&]() -> TH1 * {
      CheckBins(bins);
      return ShareHistogram("pulls", "(Prediction - truth) / #sigma of " + fData->NameOf(target), bins, -5, 5,
                            PullsOf(*fData, target), fData->fWeights);
   });
}

} // namespace CladTorch
