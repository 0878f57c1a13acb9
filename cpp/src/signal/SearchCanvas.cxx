// A RandomSearch on a canvas.

#include <CladTorch/Guard.hxx>
#include <CladTorch/RandomSearch.hxx>

#include "Canvas.hxx"
#include "SearchRound.hxx"

#include <TAxis.h>
#include <TCanvas.h>
#include <TGraphErrors.h>
#include <TLegend.h>
#include <TString.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

TGraphErrors *Points(int colour, int style)
{
   auto *graph = new TGraphErrors();
   graph->SetBit(kCanDelete);
   graph->SetMarkerStyle(style);
   graph->SetMarkerSize(1.2f);
   graph->SetMarkerColor(colour);
   graph->SetLineColor(colour);
   graph->SetLineWidth(2);
   return graph;
}

void AddTrial(TGraphErrors &graph, double value, const Trial &trial)
{
   graph.AddPoint(value, trial.fScore);
   if (!std::isnan(trial.fScoreError))
      graph.SetPointError(graph.GetN() - 1, 0, trial.fScoreError);
}

/// Whether the values span so much that small ones overlap on a linear axis.
bool IsWide(const TGraph &graph)
{
   const auto [least, most] = std::minmax_element(graph.GetX(), graph.GetX() + graph.GetN());
   return *least > 0 && *most > 20 * *least;
}

} // namespace

TCanvas *RandomSearch::Draw(const std::string &option) const
{
   return Guard("CladTorch::RandomSearch::Draw", [&] {
      const auto &names = fData->fNames;
      const auto found = std::find(names.begin(), names.end(), option);
      if (found == names.end())
         throw std::runtime_error("the search draws no " + option + ": " +
                                  (names.empty() ? "it has only models" : "it draws " + Joined(names)));
      const auto *best = fData->Best();
      if (!best)
         throw std::runtime_error("no trial has a score yet: call Run()");
      auto *trials = Points(FirstColour(), 20), *top = Points(SecondColour(), 29);
      for (std::size_t i = 0; i < fData->fTrials.size(); ++i) {
         const auto &trial = fData->fTrials[i];
         if (trial.fError.empty())
            AddTrial(&trial == best ? *top : *trials, fData->fDrawn[i][static_cast<std::size_t>(found - names.begin())], trial);
      }
      top->SetMarkerSize(2.4f);
      // The axes hold all of them.
      auto *all = static_cast<TGraphErrors *>(trials->Clone());
      all->SetBit(kCanDelete);
      all->AddPoint(top->GetPointX(0), top->GetPointY(0));
      all->SetPointError(all->GetN() - 1, 0, top->GetErrorY(0));
      const auto &metric = fData->fMetric->Name();
      all->SetTitle((";" + option + ";" + metric).c_str());
      auto *canvas = NewCanvas("cladtorch_search", "Random search");
      canvas->SetLogx(IsWide(*all));
      all->Draw("AP");
      all->GetXaxis()->SetTitleSize(0.045f);
      all->GetYaxis()->SetTitleSize(0.045f);
      all->GetYaxis()->SetTitleOffset(1.4f);
      auto *legend = LegendAbove(2);
      legend->AddEntry(trials, "Trials", "p");
      legend->AddEntry(top, TString::Format("Best: trial %zu, %.4g", best->fNumber, best->fScore), "p");
      trials->Draw("P");
      top->Draw("P");
      legend->Draw();
      canvas->Update();
      return canvas;
   });
}

} // namespace CladTorch
