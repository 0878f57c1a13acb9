#include "Canvas.hxx"

#include <TAxis.h>
#include <TCanvas.h>
#include <TColor.h>
#include <TExec.h>
#include <TH2.h>
#include <TLegend.h>
#include <TROOT.h>
#include <TString.h>
#include <TStyle.h>
#include <TVirtualPad.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace CladTorch {
namespace Internal {

namespace {
constexpr double kMargin = 0.13;
constexpr double kTop = 0.12;
} // namespace

int FirstColour()
{
   return TColor::GetColor("#0072B2");
}

int SecondColour()
{
   return TColor::GetColor("#D55E00");
}

TCanvas *NewCanvas(const char *prefix, const char *title)
{
   int number = 1;
   while (gROOT->GetListOfCanvases()->FindObject(TString::Format("%s_%d", prefix, number)))
      ++number;
   auto *canvas = new TCanvas(TString::Format("%s_%d", prefix, number), title, 800, 600);
   canvas->SetMargin(kMargin, 0.04, kMargin, kTop);
   return canvas;
}

TLegend *LegendAbove(int entries)
{
   auto *legend = new TLegend(kMargin, 1 - 0.9 * kTop, 0.96, 1 - 0.2 * kTop);
   legend->SetBit(kCanDelete);
   legend->SetNColumns(entries);
   legend->SetBorderSize(0);
   legend->SetFillStyle(0);
   legend->SetTextSize(0.045f);
   return legend;
}

double LabelLength(const TAxis &axis, double size)
{
   constexpr double kWidth = 0.5; // of a letter, as a share of its size
   std::size_t longest = 1;
   for (int bin = 1; bin <= axis.GetNbins(); ++bin)
      longest = std::max(longest, std::strlen(axis.GetBinLabel(bin)));
   return kWidth * size * static_cast<double>(longest);
}

void FitLabels(TAxis &axis, double size, double room)
{
   axis.SetLabelSize(static_cast<float>(size * std::min(1.0, room / LabelLength(axis, size))));
}

void DrawMatrix(TH2 &matrix, double most)
{
   constexpr int kMostNumbers = 12; // along an axis
   // A palette is chosen when a pad is painted, which may be at any time.
   auto *palette = new TExec("palette", "gStyle->SetPalette(kLightTemperature); gStyle->SetPaintTextFormat(\"4.2f\");");
   palette->SetBit(kCanDelete);
   const bool fits = matrix.GetNbinsX() <= kMostNumbers;
   matrix.SetBit(kCanDelete);
   matrix.SetMinimum(-most);
   matrix.SetMaximum(most);
   matrix.SetMarkerSize(1.3f);
   const double size = fits ? 0.045 : 0.025, side = 0.9 * gPad->GetLeftMargin() * gPad->GetWw() / gPad->GetWh();
   matrix.GetXaxis()->SetLabelSize(static_cast<float>(size));
   FitLabels(*matrix.GetYaxis(), size, side);
   for (int x = 1; x <= matrix.GetNbinsX(); ++x)
      for (int y = 1; y <= matrix.GetNbinsY(); ++y)
         if (const double value = matrix.GetBinContent(x, y); value < 0 && value > -0.005)
            matrix.SetBinContent(x, y, -value); // not "-0.00"
   matrix.Draw("AXIS");
   palette->Draw();
   matrix.Draw(fits ? "COL TEXT SAME" : "COLZ SAME");
}

} // namespace Internal
} // namespace CladTorch
