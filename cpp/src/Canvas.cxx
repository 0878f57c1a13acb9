#include "Canvas.hxx"

#include <TCanvas.h>
#include <TColor.h>
#include <TExec.h>
#include <TH2.h>
#include <TLegend.h>
#include <TROOT.h>
#include <TString.h>
#include <TStyle.h>

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

void DrawMatrix(TH2 &matrix, double most)
{
   constexpr int kMostNumbers = 12; // along an axis
   // A palette is chosen when a pad is painted, which may be any time.
   auto *palette = new TExec("palette", "gStyle->SetPalette(kLightTemperature); gStyle->SetPaintTextFormat(\"4.2f\");");
   palette->SetBit(kCanDelete);
   const bool fits = matrix.GetNbinsX() <= kMostNumbers;
   matrix.SetBit(kCanDelete);
   matrix.SetMinimum(-most);
   matrix.SetMaximum(most);
   matrix.SetMarkerSize(1.3f);
   for (auto *axis : {matrix.GetXaxis(), matrix.GetYaxis()})
      axis->SetLabelSize(fits ? 0.045f : 0.025f);
   matrix.Draw("AXIS");
   palette->Draw();
   matrix.Draw(fits ? "COL TEXT SAME" : "COLZ SAME");
}

} // namespace Internal
} // namespace CladTorch
