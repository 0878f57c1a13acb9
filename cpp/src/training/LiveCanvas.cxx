#include "LiveCanvas.hxx"

#include "Canvas.hxx"
#include "Notebook.hxx"

#include <TCanvas.h>
#include <TCollection.h>
#include <TROOT.h>
#include <TSystem.h>
#include <TVirtualPad.h>

namespace CladTorch {
namespace Internal {

namespace {
constexpr std::chrono::milliseconds kInterval(600);
}

void LiveCanvas::Update(const History &history, bool last)
{
   if (!fWanted || history.Epochs() == 0 || (!last && Clock_t::now() - fDrawn < kInterval))
      return;
   const TVirtualPad::TContext kept(true); // gPad is the user's again afterwards
   TCanvas *canvas = nullptr;
   if (fName.empty()) {
      canvas = NewCanvas("cladtorch_live", "Loss curves of the fit that runs");
      fName = canvas->GetName();
   } else {
      canvas = dynamic_cast<TCanvas *>(gROOT->GetListOfCanvases()->FindObject(fName.c_str()));
   }
   if (!canvas) {
      fWanted = false;
      return;
   }
   canvas->cd();
   canvas->Clear();
   history.DrawCurves("");
   canvas->Update();
   if (InNotebook())
      ShowCanvas(fName);
   gSystem->ProcessEvents();
   fDrawn = Clock_t::now();
}

} // namespace Internal
} // namespace CladTorch
