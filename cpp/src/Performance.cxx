// How good a classifier is: ROC curve, area under it, and distributions of the score.

#include <CladTorch/Model.hxx>
#include <CladTorch/Guard.hxx>

#include "Canvas.hxx"
#include "CoreBox.hxx"

#include "cladtorch/src/bridge/training.rs.h"

#include <TAxis.h>
#include <TCanvas.h>
#include <TDirectory.h>
#include <TGraph.h>
#include <TH1F.h>
#include <THStack.h>
#include <TLegend.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

constexpr float kSignalLabel = 0.5f; ///< labels above are signal
constexpr int kMostBins = 1000000;   ///< more than anybody can see, and memory for each of them is no question

void CheckOneOutput(const Model &model, const Dataset &data)
{
   const auto targets = data.Targets();
   if (targets.size() > 1)
      throw std::runtime_error("signal and background need one label, but the events have " +
                               std::to_string(targets.size()) + " targets (" + Joined(targets) + ")");
   if (model.Outputs() != 1)
      throw std::runtime_error("signal and background need one output, but the model has " +
                               std::to_string(model.Outputs()));
}

/// By logits: probabilities near 0 and 1 are no longer different as float32.
Core::RocCurve Curve(const Dataset &data, const std::vector<float> &logits)
{
   const auto labels = data.Labels();
   const auto weights = data.Weights();
   return Core::roc(Slice(logits), {labels.Data(), labels.Size()}, {weights.Data(), weights.Size()});
}

TH1F *Histogram(const char *name, const char *title, int bins, double low, double high)
{
   const TDirectory::TContext none(nullptr); // in a directory it would replace the user's histogram of that name
   auto *histogram = new TH1F(name, title, bins, low, high);
   histogram->SetXTitle("Network output");
   histogram->SetYTitle("Share of events per bin");
   histogram->SetLineWidth(3);
   histogram->SetStats(false);
   histogram->Sumw2();
   return histogram;
}

/// Probabilities fill [0, 1]; the range of other outputs is that of the numbers.
std::pair<double, double> Range(const std::vector<float> &scores)
{
   const auto ends = std::minmax_element(scores.begin(), scores.end());
   if (scores.empty() || (*ends.first >= 0 && *ends.second <= 1))
      return {0, 1};
   const double margin = 0.01 * (*ends.second - *ends.first) + 1e-6;
   return {*ends.first - margin, *ends.second + margin};
}

void Normalise(TH1F &histogram)
{
   const double sum = histogram.GetSumOfWeights();
   if (sum != 0)
      histogram.Scale(1 / sum);
}

} // namespace

double Model::Auc(const Dataset &data) const
{
   return Guard(Where("Auc").c_str(), [&] {
      CheckOneOutput(*this, data);
      return Curve(data, Outputs(data, true)).auc;
   });
}

double Model::AucError(const Dataset &data) const
{
   return Guard(Where("AucError").c_str(), [&] {
      CheckOneOutput(*this, data);
      return Curve(data, Outputs(data, true)).auc_error;
   });
}

TGraph *Model::Roc(const Dataset &data) const
{
   return Guard(Where("Roc").c_str(), [&] {
      CheckOneOutput(*this, data);
      const auto curve = Curve(data, Outputs(data, true));
      auto *graph = new TGraph(static_cast<int>(curve.false_positive.size()), curve.false_positive.data(),
                               curve.true_positive.data());
      graph->SetName("roc");
      graph->SetTitle(TString::Format("AUC = %.4f #pm %.4f;Background efficiency;Signal efficiency", curve.auc,
                                      curve.auc_error));
      graph->SetLineColor(FirstColour());
      graph->SetLineWidth(3);
      graph->GetXaxis()->SetLimits(0, 1);
      graph->SetMinimum(0);
      graph->SetMaximum(1.02);
      return graph;
   });
}

std::pair<TH1 *, TH1 *> Model::Scores(const Dataset &data, int bins) const
{
   return Guard(Where("Scores").c_str(), [&] {
      CheckOneOutput(*this, data);
      if (bins < 1 || bins > kMostBins)
         throw std::runtime_error("the number of bins is " + std::to_string(bins) + ": give one from 1 to " +
                                  std::to_string(kMostBins));
      const auto scores = Outputs(data, false);
      if (scores.empty())
         throw std::runtime_error("the dataset has no events: add some");
      const auto range = Range(scores);
      auto *signal = Histogram("score_signal", "Signal", bins, range.first, range.second);
      auto *background = Histogram("score_background", "Background", bins, range.first, range.second);
      // 1 itself belongs to the last bin, not to the overflow.
      const double highest = std::nextafter(range.second, range.first);
      const auto labels = data.Labels();
      const auto weights = data.Weights();
      for (std::size_t i = 0; i < scores.size(); ++i)
         (labels(i) > kSignalLabel ? signal : background)->Fill(std::min<double>(scores[i], highest), weights(i));
      signal->SetLineColor(FirstColour());
      background->SetLineColor(SecondColour());
      background->SetLineStyle(2);
      Normalise(*signal);
      Normalise(*background);
      return std::pair<TH1 *, TH1 *>(signal, background);
   });
}

TCanvas *Model::DrawScores(const Dataset &data, int bins) const
{
   return Guard(Where("DrawScores").c_str(), [&] {
      const auto histograms = Scores(data, bins);
      auto *canvas = NewCanvas("cladtorch_scores", "Network output");
      auto *stack = new THStack("scores", ";Network output;Share of events per bin");
      auto *legend = LegendAbove(2);
      for (TH1 *histogram : {histograms.first, histograms.second}) {
         histogram->SetBit(kCanDelete);
         stack->Add(histogram, "hist");
         legend->AddEntry(histogram, histogram->GetTitle(), "l");
      }
      stack->SetBit(kCanDelete);
      stack->Draw("nostack");
      stack->GetXaxis()->SetTitleSize(0.045f);
      stack->GetYaxis()->SetTitleSize(0.045f);
      stack->GetYaxis()->SetTitleOffset(1.4f);
      legend->Draw();
      canvas->Update();
      return canvas;
   });
}

} // namespace CladTorch
