// An Evaluation on canvases.

#include <CladTorch/Evaluation.hxx>
#include <CladTorch/Guard.hxx>

#include "Canvas.hxx"
#include "EvaluationData.hxx"
#include "Interrupt.hxx"

#include <TAxis.h>
#include <TCanvas.h>
#include <TGraphAsymmErrors.h>
#include <TGraphErrors.h>
#include <TH1F.h>
#include <TH2F.h>
#include <THStack.h>
#include <TLegend.h>
#include <TLine.h>
#include <TMath.h>
#include <TStyle.h>

#include <algorithm>

namespace CladTorch {

using namespace Internal;

namespace {

void TitleAxes(TAxis &x, TAxis &y)
{
   x.SetTitleSize(0.045f);
   y.SetTitleSize(0.045f);
   y.SetTitleOffset(1.4f);
}

/// Drawn on the current pad, which owns it.
template <class Object>
Object *Drawn(Object *object, const char *option)
{
   object->SetBit(kCanDelete);
   object->Draw(option);
   return object;
}

void DrawLine(double x1, double y1, double x2, double y2)
{
   auto *line = Drawn(new TLine(x1, y1, x2, y2), "");
   line->SetLineStyle(2);
   line->SetLineColor(kGray + 1);
   line->SetLineWidth(2);
}

/// The title of a graph above the frame.
void Head(const char *text, TObject *of, const char *option)
{
   auto *legend = LegendAbove(1);
   legend->AddEntry(of, text, option);
   legend->Draw();
}

/// A title without text above the frame.
template <class Object>
TString AxisTitles(const Object &object)
{
   return TString::Format(";%s;%s", object.GetXaxis()->GetTitle(), object.GetYaxis()->GetTitle());
}

/// Removes the part of a title before the axes' titles, and returns it.
template <class Graph>
TString TakeTitle(Graph &graph)
{
   const TString title = graph.GetTitle();
   graph.SetTitle(AxisTitles(graph));
   return title;
}

} // namespace

TCanvas *Evaluation::DrawScores(int bins, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::DrawScores", [&] {
      const auto histograms = Scores(bins, output);
      auto *canvas = NewCanvas("cladtorch_scores", "Network output");
      auto *stack = new THStack("scores", AxisTitles(*histograms.first));
      auto *legend = LegendAbove(2);
      for (TH1 *histogram : {histograms.first, histograms.second}) {
         histogram->SetBit(kCanDelete);
         stack->Add(histogram, "hist");
         legend->AddEntry(histogram, histogram->GetTitle(), "l");
      }
      Drawn(stack, "nostack");
      TitleAxes(*stack->GetXaxis(), *stack->GetYaxis());
      legend->Draw();
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawRoc(std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::DrawRoc", [&] {
      auto *line = Roc(output);
      auto *band = RocBand(output);
      auto *canvas = NewCanvas("cladtorch_roc", "ROC curve");
      Drawn(band, "A3");
      TitleAxes(*band->GetXaxis(), *band->GetYaxis());
      DrawLine(0, 0, 1, 1);
      Drawn(line, "L");
      Head(line->GetTitle(), line, "lf");
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawRejection(std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::DrawRejection", [&] {
      auto *graph = Rejection(output);
      auto *canvas = NewCanvas("cladtorch_rejection", "Background rejection");
      const auto title = TakeTitle(*graph);
      graph->GetXaxis()->SetLimits(0, 1);
      canvas->SetLogy();
      canvas->SetGrid();
      Drawn(graph, "A3");
      TitleAxes(*graph->GetXaxis(), *graph->GetYaxis());
      auto *line = static_cast<TGraphErrors *>(graph->Clone("rejection_line"));
      Drawn(line, "LX");
      Head(title + " with its standard error", line, "lf");
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawSignificance(double signal, double background, double backgroundError, ESignificance kind,
                                      std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::DrawSignificance", [&] {
      auto *graph = Significance(signal, background, backgroundError, kind, output);
      auto *canvas = NewCanvas("cladtorch_significance", "Significance");
      const auto title = TakeTitle(*graph);
      Drawn(graph, "AL");
      TitleAxes(*graph->GetXaxis(), *graph->GetYaxis());
      Head(title, graph, "l");
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawCalibration(int bins, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::DrawCalibration", [&] {
      auto *graph = Calibration(bins, output);
      auto *canvas = NewCanvas("cladtorch_calibration", "Calibration");
      const auto title = TakeTitle(*graph);
      Drawn(graph, "APL");
      TitleAxes(*graph->GetXaxis(), *graph->GetYaxis());
      DrawLine(0, 0, 1, 1);
      Head(title, graph, "lp");
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawConfusion() const
{
   return LongCall("CladTorch::Evaluation::DrawConfusion", [&] {
      auto *histogram = Confusion();
      auto *canvas = NewCanvas("cladtorch_confusion", "Confusion matrix");
      DrawMatrix(*histogram, 1.4); // scaled so that dark numbers stay legible at 1
      TitleAxes(*histogram->GetXaxis(), *histogram->GetYaxis());
      Head("Shares of the true class", histogram, "");
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawResiduals(std::size_t target, int bins) const
{
   return LongCall("CladTorch::Evaluation::DrawResiduals", [&] {
      auto *histogram = Residuals(target, bins);
      auto *canvas = NewCanvas("cladtorch_residuals", "Residuals");
      Drawn(histogram, "HIST");
      TitleAxes(*histogram->GetXaxis(), *histogram->GetYaxis());
      Head(TString::Format("Bias %.3g, RMSE %.3g, resolution %.3g", Bias(target), Rmse(target), Resolution(target)), histogram,
           "l");
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawPulls(std::size_t target, int bins) const
{
   return LongCall("CladTorch::Evaluation::DrawPulls", [&] {
      auto *histogram = Pulls(target, bins);
      const auto text = TString::Format("Mean %.3g, width %.3g", PullMean(target), PullWidth(target));
      auto *canvas = NewCanvas("cladtorch_pulls", "Pulls");
      auto *normal = new TGraph();
      for (double x = -5; x <= 5; x += 0.05)
         normal->AddPoint(x, TMath::Gaus(x, 0, 1, true) * histogram->GetBinWidth(1));
      histogram->SetMaximum(1.1 * std::max(histogram->GetMaximum(), TMath::Gaus(0, 0, 1, true) * histogram->GetBinWidth(1)));
      Drawn(histogram, "HIST");
      TitleAxes(*histogram->GetXaxis(), *histogram->GetYaxis());
      normal->SetLineColor(SecondColour());
      normal->SetLineStyle(2);
      normal->SetLineWidth(3);
      Drawn(normal, "L");
      auto *legend = LegendAbove(2);
      legend->AddEntry(histogram, text, "l");
      legend->AddEntry(normal, "Standard normal", "l");
      legend->Draw();
      canvas->Update();
      return canvas;
   });
}

TCanvas *Evaluation::DrawOvertraining(const Evaluation &training, int bins, std::size_t output) const
{
   return LongCall("CladTorch::Evaluation::DrawOvertraining", [&] {
      const auto probabilities = Overtraining(training, output);
      const auto here = Scores(bins, output), there = training.Scores(bins, output);
      auto *canvas = NewCanvas("cladtorch_overtraining", "Test over training events");
      auto *stack = new THStack("overtraining", AxisTitles(*here.first));
      auto *legend = LegendAbove(2);
      legend->SetTextSize(0.036f);
      const auto add = [&](TH1 *test, TH1 *train, const char *what, double probability) {
         for (TH1 *histogram : {test, train})
            histogram->SetBit(kCanDelete);
         stack->Add(train, "hist");
         test->SetMarkerStyle(20);
         test->SetMarkerColor(test->GetLineColor());
         test->SetLineStyle(1);
         test->SetLineWidth(2);
         stack->Add(test, "E1");
         legend->AddEntry(train, TString::Format("%s, training", what), "l");
         legend->AddEntry(test, TString::Format("test (KS probability %.3g)", probability), "lep");
      };
      add(here.first, there.first, here.first->GetTitle(), probabilities.first);
      add(here.second, there.second, here.second->GetTitle(), probabilities.second);
      Drawn(stack, "nostack");
      TitleAxes(*stack->GetXaxis(), *stack->GetYaxis());
      legend->Draw();
      canvas->Update();
      return canvas;
   });
}

} // namespace CladTorch
