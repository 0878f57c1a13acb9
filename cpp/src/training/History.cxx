#include <CladTorch/History.hxx>
#include <CladTorch/Guard.hxx>

#include "Canvas.hxx"
#include "CoreBox.hxx"

#include <TAxis.h>
#include <TCanvas.h>
#include <TGraph.h>
#include <TLegend.h>
#include <TMultiGraph.h>
#include <TVirtualPad.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// The largest ratio of the largest to the least value for which a linear axis shows both.
constexpr double kMostLinear = 50;

/// One curve over the epochs 1 to `loss.size()`.
TGraph *Curve(const std::vector<double> &loss, int colour, int style)
{
   auto *graph = new TGraph(static_cast<int>(loss.size()));
   for (std::size_t i = 0; i < loss.size(); ++i)
      graph->SetPoint(static_cast<int>(i), static_cast<double>(i + 1), loss[i]);
   graph->SetLineColor(colour);
   graph->SetMarkerColor(colour);
   graph->SetLineStyle(style);
   graph->SetLineWidth(3);
   graph->SetMarkerStyle(20);
   graph->SetMarkerSize(loss.size() > 40 ? 0.f : 0.8f);
   return graph;
}

} // namespace

const std::vector<double> &History::Metric(const std::string &name) const
{
   return Guard("CladTorch::History::Metric", [&]() -> const std::vector<double> & {
      const auto found = std::find(fMetricNames.begin(), fMetricNames.end(), name);
      if (found == fMetricNames.end())
         throw std::runtime_error("the fit recorded no metric \"" + name + "\": " +
                                  (fMetricNames.empty() ? "set fMetrics" : "it has " + Joined(fMetricNames)));
      return fMetrics[static_cast<std::size_t>(found - fMetricNames.begin())];
   });
}

/// Draws on gPad.
void History::DrawCurves(const std::string &metric) const
{
   auto *curves = new TMultiGraph();
   curves->SetBit(kCanDelete);
   curves->SetTitle((";Epoch;" + (metric.empty() ? "Weighted mean loss" : metric)).c_str());
   auto *legend = LegendAbove(2);
   double least = std::numeric_limits<double>::infinity(), most = -least;
   const auto add = [&](const std::vector<double> &values, int colour, int style, const char *label) {
      for (const auto value : values) {
         least = std::fmin(least, value);
         most = std::fmax(most, value);
      }
      auto *curve = Curve(values, colour, style);
      curves->Add(curve, "LP");
      legend->AddEntry(curve, label, "lp");
   };
   if (metric.empty())
      add(fTrainLoss, FirstColour(), 1, "Training");
   if (!metric.empty() || !std::isnan(fValidationLoss.front()))
      add(metric.empty() ? fValidationLoss : Metric(metric), SecondColour(), 2, "Validation");
   // Otherwise a loss that falls from 1000 to 1 is a line along the axis.
   gPad->SetLogy(least > 0 && most > kMostLinear * least);
   curves->Draw("A");
   if (fTrainLoss.size() == 1)
      curves->GetXaxis()->SetLimits(0, 2); // around the only epoch
   curves->GetXaxis()->SetTitleSize(0.045f);
   curves->GetXaxis()->SetNdivisions(505); // no half epochs
   curves->GetYaxis()->SetTitleSize(0.045f);
   curves->GetYaxis()->SetTitleOffset(1.4f);
   legend->Draw();
}

TCanvas *History::Draw(const std::string &metric) const
{
   return Guard("CladTorch::History::Draw", [&] {
      if (fTrainLoss.empty())
         throw std::runtime_error("the history has no epochs to draw: use the one that Fit returned");
      if (!metric.empty())
         Metric(metric);
      auto *canvas = NewCanvas("cladtorch_history", metric.empty() ? "Loss curves" : metric.c_str());
      DrawCurves(metric);
      canvas->Update();
      return canvas;
   });
}

std::size_t History::BestEpoch() const
{
   const auto smallest = std::min_element(fValidationLoss.begin(), fValidationLoss.end());
   if (smallest == fValidationLoss.end() || std::isnan(*smallest))
      return 0;
   return static_cast<std::size_t>(smallest - fValidationLoss.begin()) + 1;
}

void History::Print() const
{
   const auto width = [&](std::size_t metric) { return std::max(9, static_cast<int>(fMetricNames[metric].size())); };
   std::printf("%5s  %12s  %12s", "epoch", "training", "validation");
   for (std::size_t metric = 0; metric < fMetricNames.size(); ++metric)
      std::printf("  %*s", width(metric), fMetricNames[metric].c_str());
   std::printf("  %9s  %9s\n", "rate", "seconds");
   for (std::size_t i = 0; i < fTrainLoss.size(); ++i) {
      std::printf("%5zu  %12.6g  %12.6g", i + 1, fTrainLoss[i], fValidationLoss[i]);
      for (std::size_t metric = 0; metric < fMetrics.size(); ++metric)
         std::printf("  %*.5g", width(metric), fMetrics[metric][i]);
      std::printf("  %9.3g  %9.3g%s\n", fLearningRate[i], fSeconds[i],
                  i + 1 == fRestoredEpoch ? "  the model has these parameters" : "");
   }
   std::fflush(stdout);
}

} // namespace CladTorch
