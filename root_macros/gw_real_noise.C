/// \file gw_real_noise.C
/// \brief GW150914 in the strain that LIGO published: matched filter, whitened strain with the waveform over it, Q-transform.
///
/// The first gravitational wave ever measured, in 32 s of each detector: the power spectral density is Welch's mean of
/// this strain itself, the template is that of the Gravitational Wave Open Science Center's tutorial. SNR and time of
/// the maximum are printed beside those of IMRPhenomD with the same masses and spins, computed here.
///
///     root -l -b -q root_macros/gw_real_noise.C
///     root -l 'root_macros/gw_real_noise.C("output_folder", "folder_of_the_data")'
///
/// Put the data, three files of 1 MB (CC BY 4.0, DOI 10.7935/K5MW2F23), into the folder gw150914 first:
///
///     cd gw150914; for f in {H-H1,L-L1}_LOSC_4_V2-1126259446-32.hdf5 GW150914_4_template.hdf5
///     do curl -LO https://gwosc.org/s/events/GW150914/$f; done
///
/// Writes gw_real_noise.png and gw_real_noise.pdf into the folder.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/Signal.hxx>

#include <TCanvas.h>
#include <TColor.h>
#include <TGraph.h>
#include <TH2D.h>
#include <TLegend.h>
#include <TStyle.h>
#include <TSystem.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace Signal = CladTorch::Signal;

const double kEvent = 1126259462;      // GPS s; times are counted from here
const double kLow = 43, kHigh = 300;   // Hz, the plotted range
// Distinguishable with any colour vision.
const std::vector<const char *> kColours = {"#D55E00", "#0072B2"};

std::string File(const std::string &folder, const std::string &name)
{
   const std::string path = folder + "/" + name;
   if (gSystem->AccessPathName(path.c_str()))
      throw std::runtime_error("there is no file " + path +
                               ": get the data of GW150914 from https://gwosc.org, as the head of this macro says");
   return path;
}

/// A detector's strain around the event, and the matched filter's result in it.
struct Detector {
   Signal::Strain fStrain;
   std::vector<double> fPsd;      ///< of the strain, for all its samples
   std::vector<double> fFaded;    ///< the strain, faded in and out, so that the ends of the periodic series meet
   std::vector<double> fTemplate; ///< as found in the strain
   std::vector<double> fSeries;   ///< SNR of a merger at each sample
   Signal::Trigger fFound;

   /// Seconds after kEvent.
   double Time(double sinceStart) const { return fStrain.fStart - kEvent + sinceStart; }
};

/// `wave` times `window`.
std::vector<double> Times(std::vector<double> wave, const std::vector<double> &window)
{
   std::transform(wave.begin(), wave.end(), window.begin(), wave.begin(), std::multiplies<double>());
   return wave;
}

/// The highest SNR within 0.1 s of the event.
Signal::Trigger Search(const Detector &detector, const Signal::MatchedFilter &filter)
{
   const double event = kEvent + 0.43 - detector.fStrain.fStart;
   return filter.Max(detector.fFaded, event - 0.1, event + 0.1);
}

/// The template of the tutorial and its merger in s.
Detector Analyse(const std::string &file, const std::vector<double> &wave, double merger)
{
   Detector detector;
   auto &strain = detector.fStrain = Signal::ReadStrain(file);
   if (std::count(strain.fGood.begin(), strain.fGood.end(), 0))
      throw std::runtime_error(file + " has seconds of bad quality");
   const auto n = strain.fValues.size();
   const auto fade = Signal::Window(Signal::kTukey, n, 1. / 8);
   const auto welch = Signal::Welch(strain.fValues, 4 * strain.fRate, strain.fRate, Signal::kMean, Signal::kBlackman);
   detector.fPsd = Signal::InterpolatePsd(welch, n);
   detector.fFaded = Times(strain.fValues, fade);
   const auto faded = Times(wave, fade);
   const Signal::MatchedFilter filter(faded, detector.fPsd, strain.fRate, merger);
   detector.fFound = Search(detector, filter);
   detector.fSeries = filter.Series(detector.fFaded);

   const auto &found = detector.fFound;
   auto unit = Signal::ScaleToSnr(Signal::PhaseShift(faded, found.fPhase), detector.fPsd, strain.fRate, found.fSnr);
   const long shift = std::lround((found.fTime - merger) * strain.fRate);
   std::rotate(unit.begin(), shift < 0 ? unit.begin() - shift : unit.end() - shift, unit.end());
   detector.fTemplate = unit;
   return detector;
}

/// IMRPhenomD with the masses and spins of the tutorial's template.
std::vector<double> PhenomD(std::size_t samples, double rate, double merger)
{
   Signal::Binary source;
   source.fMass1 = 41.743;
   source.fMass2 = 29.237;
   source.fSpin1 = 0.355;
   source.fSpin2 = -0.769;
   return Signal::BinaryStrain(source, Signal::kPhenomD, samples, rate, merger);
}

void Print(const char *what, const Detector &detector, const Signal::Trigger &found)
{
   std::printf("%s, %s: SNR %.2f at GPS %.4f, chi-squared %.2f\n", detector.fStrain.fDetector.c_str(), what, found.fSnr,
               kEvent + detector.Time(found.fTime), found.fChiSquared);
}

TH1 *Frame(double x1, double y1, double x2, double y2, const char *titles)
{
   gPad->SetMargin(0.15, 0.04, 0.14, 0.1);
   gPad->SetGrid();
   auto *frame = gPad->DrawFrame(x1, y1, x2, y2, titles);
   for (auto *axis : {frame->GetXaxis(), frame->GetYaxis()}) {
      axis->SetTitleSize(0.055);
      axis->SetLabelSize(0.05);
      axis->SetNdivisions(506);
   }
   frame->GetYaxis()->SetTitleOffset(1.3);
   return frame;
}

/// Samples of a series from `begin` to `end` (s after kEvent).
TGraph *Curve(const Detector &detector, const std::vector<double> &series, double begin, double end, const char *colour)
{
   auto *graph = new TGraph();
   const double rate = detector.fStrain.fRate;
   for (long i = std::lround((begin - detector.Time(0)) * rate); i < std::lround((end - detector.Time(0)) * rate); ++i)
      graph->AddPoint(detector.Time(i / rate), series.at(i));
   graph->SetLineColor(TColor::GetColor(colour));
   graph->SetLineWidth(2);
   graph->Draw("L");
   return graph;
}

TLegend *Legend(double x1, double y1, double x2, double y2)
{
   auto *legend = new TLegend(x1, y1, x2, y2);
   legend->SetTextSize(0.048);
   legend->SetBorderSize(0);
   legend->Draw();
   return legend;
}

void DrawWhitened(const Detector &detector, const char *colour)
{
   const auto shown = [&](const std::vector<double> &strain) {
      const double rate = detector.fStrain.fRate;
      return Signal::BandPass(Signal::Whiten(strain, detector.fPsd, rate), rate, kLow, kHigh);
   };
   Frame(0.25, -3.2, 0.5, 3.9,
         Form("%s;Time after GPS %.0f [s];Whitened strain", detector.fStrain.fDetector.c_str(), kEvent));
   auto *legend = Legend(0.17, 0.76, 0.63, 0.88);
   legend->AddEntry(Curve(detector, shown(detector.fFaded), 0.25, 0.5, "#999999"), "Strain, 43 to 300 Hz", "l");
   legend->AddEntry(Curve(detector, shown(detector.fTemplate), 0.25, 0.5, colour), "Template", "l");
}

void DrawSnrs(const std::vector<Detector> &detectors)
{
   Frame(0.25, 0, 0.6, 23, Form("Matched filter;Time after GPS %.0f [s];SNR", kEvent));
   auto *legend = Legend(0.5, 0.74, 0.94, 0.88);
   for (std::size_t i = 0; i < detectors.size(); ++i)
      legend->AddEntry(Curve(detectors[i], detectors[i].fSeries, 0.25, 0.6, kColours[i]),
                       Form("%s, SNR %.1f", detectors[i].fStrain.fDetector.c_str(), detectors[i].fFound.fSnr), "l");
}

void DrawSpectra(const std::vector<Detector> &detectors)
{
   gPad->SetLogx();
   gPad->SetLogy();
   auto *frame = Frame(20, 2e-24, 2000, 1e-19, "Detector noise;Frequency [Hz];Amplitude spectral density [Hz^{-1/2}]");
   frame->GetXaxis()->SetMoreLogLabels();
   frame->GetXaxis()->SetNoExponent();
   auto *legend = Legend(0.7, 0.76, 0.94, 0.88);
   for (std::size_t i = 0; i < detectors.size(); ++i) {
      const auto &strain = detectors[i].fStrain;
      const auto welch = Signal::Welch(strain.fValues, 4 * strain.fRate, strain.fRate);
      auto *graph = new TGraph();
      for (int k = 80; k <= 8000; ++k) // quarters of a Hz
         graph->AddPoint(k / 4., std::sqrt(welch[k]));
      graph->SetLineColor(TColor::GetColor(kColours[i]));
      graph->Draw("L");
      legend->AddEntry(graph, strain.fDetector.c_str(), "l");
   }
}

void DrawQ(const Detector &detector)
{
   gPad->SetMargin(0.15, 0.16, 0.14, 0.1);
   gPad->SetLogy();
   const double rate = detector.fStrain.fRate;
   const auto white = Signal::Whiten(detector.fFaded, detector.fPsd, rate);
   const auto first = white.begin() + std::lround((-1 - detector.Time(0)) * rate); // 2 s around the event suffice
   auto *map = Signal::QTransform({first, first + long(2.5 * rate)}, rate, 8, 20, 400);
   map->SetTitle(Form("%s, Q-transform;Time after GPS %.0f [s];Frequency [Hz];Normalised energy",
                      detector.fStrain.fDetector.c_str(), kEvent));
   map->GetXaxis()->SetLimits(-1, 1.5);
   map->GetXaxis()->SetRangeUser(0.2, 0.6);
   for (auto *axis : {map->GetXaxis(), map->GetYaxis(), map->GetZaxis()}) {
      axis->SetTitleSize(0.05);
      axis->SetLabelSize(0.045);
   }
   map->GetYaxis()->SetMoreLogLabels();
   map->GetYaxis()->SetNoExponent();
   map->GetYaxis()->SetTitleOffset(1.4);
   map->Draw("COLZ");
}

void gw_real_noise(const std::string &folder = "gw_real_noise_out", const std::string &data = "gw150914")
{
   // Both polarisations, one after the other; the second is the first shifted by a quarter turn.
   auto wave = Signal::ReadHdf5(File(data, "GW150914_4_template.hdf5"), "template");
   wave.resize(wave.size() / 2);
   std::vector<Detector> detectors;
   for (const char *name : {"H-H1", "L-L1"})
      detectors.push_back(Analyse(File(data, std::string(name) + "_LOSC_4_V2-1126259446-32.hdf5"), wave, 16));

   std::vector<double> snrs;
   for (const auto &detector : detectors) {
      Print("template of the tutorial", detector, detector.fFound);
      const double rate = detector.fStrain.fRate;
      const Signal::MatchedFilter phenomD(PhenomD(wave.size(), rate, 16), detector.fPsd, rate, 16);
      Print("IMRPhenomD", detector, Search(detector, phenomD));
      snrs.push_back(detector.fFound.fSnr);
   }
   std::printf("network SNR %.2f, H1 %.1f ms after L1\n", Signal::NetworkSnr(snrs),
               1000 * (detectors[0].fFound.fTime - detectors[1].fFound.fTime));

   gSystem->mkdir(folder.c_str(), true);
   gStyle->SetOptStat(0);
   gStyle->SetPalette(kViridis);
   auto *canvas = new TCanvas("gw_real_noise", "GW150914", 1800, 1000);
   canvas->Divide(3, 2);
   for (int i = 0; i < 2; ++i) {
      canvas->cd(3 * i + 1);
      DrawWhitened(detectors[i], kColours[i]);
      canvas->cd(3 * i + 2);
      DrawQ(detectors[i]);
   }
   canvas->cd(3);
   DrawSnrs(detectors);
   canvas->cd(6);
   DrawSpectra(detectors);
   canvas->SaveAs((folder + "/gw_real_noise.png").c_str());
   canvas->SaveAs((folder + "/gw_real_noise.pdf").c_str());
}
