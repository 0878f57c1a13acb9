/// \file plot.C
/// \brief Draws one plot of a benchmark report from a table of text.
///
/// The table has a line `series <tab> x <tab> label <tab> y` for each point, and after another tab the error of y where it
/// has one; series keep the order of their first line.

#include <TAxis.h>
#include <TCanvas.h>
#include <TGraphErrors.h>
#include <TH1F.h>
#include <TLegend.h>
#include <TLine.h>
#include <TMultiGraph.h>
#include <TROOT.h>
#include <TStyle.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Point {
   double fX, fY, fError;
   std::string fLabel;
};

struct Series {
   std::string fName;
   std::vector<Point> fPoints;
};

/// Colours that stay apart for most kinds of colour vision (Petroff 2021).
Color_t Colour(std::size_t index)
{
   static const std::vector<const char *> hex = {"#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
                                                 "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"};
   return TColor::GetColor(hex[index % hex.size()]);
}

std::vector<Series> Read(const std::string &path)
{
   std::ifstream file(path);
   std::vector<Series> all;
   for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      std::string name, x, label, y, error;
      std::getline(cells, name, '\t');
      std::getline(cells, x, '\t');
      std::getline(cells, label, '\t');
      std::getline(cells, y, '\t');
      std::getline(cells, error);
      auto found = std::find_if(all.begin(), all.end(), [&](const Series &series) { return series.fName == name; });
      if (found == all.end())
         found = all.insert(all.end(), Series{name, {}});
      found->fPoints.push_back({std::stod(x), std::stod(y), error.empty() ? 0 : std::stod(error), label});
   }
   if (all.empty())
      throw std::runtime_error("no points in " + path);
   return all;
}

/// The legend in the margin on the right.
std::unique_ptr<TLegend> Legend(const std::vector<Series> &all)
{
   std::size_t longest = 1;
   for (const auto &series : all)
      longest = std::max(longest, series.fName.size());
   auto legend = std::make_unique<TLegend>(0.81, 0.88 - 0.055 * all.size(), 0.995, 0.9);
   legend->SetBorderSize(0);
   legend->SetFillStyle(0);
   legend->SetTextSize(std::min(0.034, 0.58 / longest)); // so that the longest name fits
   return legend;
}

/// Groups of bars on a logarithmic axis, one group a label, with a line at 1.
void Bars(const std::vector<Series> &all, const std::string &titles)
{
   std::vector<std::string> labels;
   double least = 1, most = 1;
   for (const auto &series : all) {
      for (const auto &point : series.fPoints) {
         if (std::find(labels.begin(), labels.end(), point.fLabel) == labels.end())
            labels.push_back(point.fLabel);
         least = std::min(least, point.fY);
         most = std::max(most, point.fY);
      }
   }
   const int groups = labels.size();
   auto frame = new TH1F("frame", titles.c_str(), groups, 0, groups);
   for (int i = 0; i < groups; ++i)
      frame->GetXaxis()->SetBinLabel(i + 1, labels[i].c_str());
   frame->LabelsOption(groups > 4 ? "u" : "h");
   frame->GetXaxis()->SetLabelSize(groups > 4 ? 0.032 : 0.045);
   frame->SetMinimum(least * 0.6);
   frame->SetMaximum(most * 1.6);
   frame->SetTitleOffset(0.9, "Y");
   frame->GetYaxis()->SetMoreLogLabels(most < 30 * least);
   frame->GetYaxis()->SetNoExponent(most < 30 * least);
   frame->Draw();
   auto legend = Legend(all).release();
   for (std::size_t i = 0; i < all.size(); ++i) {
      auto bars = new TH1F(("bars" + std::to_string(i)).c_str(), "", groups, 0, groups);
      auto errors = new TGraphErrors;
      for (const auto &point : all[i].fPoints) {
         const int group = std::find(labels.begin(), labels.end(), point.fLabel) - labels.begin();
         bars->SetBinContent(1 + group, point.fY);
         if (point.fError > 0)
            errors->AddPointError(group + 0.1 + 0.8 * (i + 0.5) / all.size(), point.fY, 0, point.fError);
      }
      bars->SetFillColor(Colour(i));
      bars->SetBarWidth(0.8 / all.size());
      bars->SetBarOffset(0.1 + 0.8 * i / all.size());
      bars->Draw("BAR SAME");
      if (errors->GetN() > 0)
         errors->Draw("Z");
      legend->AddEntry(bars, all[i].fName.c_str(), "f");
   }
   auto one = new TLine(0, 1, groups, 1);
   one->SetLineStyle(2);
   one->Draw();
   frame->Draw("AXIS SAME");
   legend->Draw();
}

/// Lines with markers, on a logarithmic x axis; the series "floor" is a broken line.
void Curves(const std::vector<Series> &all, const std::string &titles)
{
   auto graphs = new TMultiGraph("graphs", titles.c_str());
   auto legend = Legend(all).release();
   std::size_t colour = 0;
   double least = all[0].fPoints[0].fY, most = least;
   double left = all[0].fPoints[0].fX, right = left;
   for (const auto &series : all) {
      auto graph = new TGraphErrors;
      for (const auto &point : series.fPoints) {
         graph->AddPointError(point.fX, point.fY, 0, point.fError);
         least = std::min(least, point.fY);
         most = std::max(most, point.fY);
         left = std::min(left, point.fX);
         right = std::max(right, point.fX);
      }
      const bool floor = series.fName == "floor";
      graph->SetLineColor(floor ? kBlack : Colour(colour));
      graph->SetMarkerColor(floor ? kBlack : Colour(colour++));
      graph->SetLineStyle(floor ? 2 : 1);
      graph->SetLineWidth(2);
      graph->SetMarkerStyle(floor ? 1 : 20);
      graphs->Add(graph, floor ? "L" : "LP");
      legend->AddEntry(graph, series.fName.c_str(), floor ? "l" : "lp");
   }
   gPad->SetLogx();
   graphs->Draw("A");
   graphs->GetXaxis()->SetMoreLogLabels(all[0].fPoints.size() < 6);
   graphs->GetXaxis()->SetLimits(left / 1.1, right * 1.1);
   graphs->GetXaxis()->SetNoExponent();
   graphs->GetYaxis()->SetMoreLogLabels(most < 30 * least);
   legend->Draw();
}

/// \param kind "bars", "curves", or "qualities": curves on a linear y axis.
/// \param titles Of the plot, the x and the y axis, with semicolons between them.
void plot(const std::string &kind, const std::string &table, const std::string &image, const std::string &titles)
{
   gROOT->SetBatch();
   gStyle->SetOptStat(0);
   TCanvas canvas("canvas", "", 1300, 650);
   canvas.SetLogy(kind != "qualities");
   canvas.SetGridy();
   canvas.SetTicks();
   canvas.SetLeftMargin(0.075);
   canvas.SetRightMargin(0.2);
   canvas.SetBottomMargin(0.13);
   const auto all = Read(table);
   kind == "bars" ? Bars(all, titles) : Curves(all, titles);
   canvas.SaveAs(image.c_str());
}
