#include "Canvas.hxx"

#include <TCanvas.h>
#include <TColor.h>
#include <TLegend.h>
#include <TROOT.h>
#include <TString.h>

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

} // namespace Internal
} // namespace CladTorch
