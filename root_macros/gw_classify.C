/// \file gw_classify.C
/// \brief Gravitational waves in coloured noise: a network on whitened strain against the best test there is.
///
/// Half a second of simulated detector strain holds Gaussian noise of the Advanced LIGO design, in two of five windows
/// with a signal added: an inspiral ("chirp") or a burst ("sine-gaussian") of known shape and arrival time, random
/// phase and optimal SNR 2, 3, 4 or 6. The noise density is estimated by Welch's method from separate noise, the
/// windows are whitened in float64, and a 128-32-32-1 network learns to tell the two apart. No test of such data is
/// better than the modulus of the two matched filters (Neyman and Pearson): its ROC, area and efficiency are drawn and
/// printed beside the network's.
///
///     root -l -b -q root_macros/gw_classify.C
///     root -l 'root_macros/gw_classify.C("output_folder", "sine-gaussian", 30000)'
///
/// Writes gw.root (windows, graphs), gw.png, gw.pdf and gw.ct (model) into the folder.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include <ROOT/RDataFrame.hxx>
#include <TCanvas.h>
#include <TFile.h>
#include <TGraphErrors.h>
#include <TH1F.h>
#include <TLegend.h>
#include <TRandom3.h>
#include <TStyle.h>
#include <TSystem.h>
#include <TTree.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace Signal = CladTorch::Signal;

const double kRate = 512;                    // Hz
const std::size_t kWindow = 256;             // samples of a strain window
const std::size_t kFirst = 64, kLength = 128; // the part the network sees; whitening spoils the ends
const int kStretch = 512;                    // windows cut from one stretch of noise
const std::vector<double> kSnrs = {2, 3, 4, 6};
const std::vector<double> kFalseAlarms = {0.1, 0.01};
// Distinguishable with any colour vision.
const std::vector<const char *> kColours = {"#0072B2", "#D55E00", "#009E73", "#AA4499"};

/// A waveform of SNR 1 at phase 0 and at a quarter turn: every phase is a combination of the two.
struct Template {
   std::vector<double> fInPhase, fQuarter;

   explicit Template(const std::string &name)
   {
      auto wave = name == "chirp"           ? Signal::Chirp(kWindow, kRate, 15, 50, 0.36) // solar masses, Hz, s
                  : name == "sine-gaussian" ? Signal::SineGaussian(kWindow, kRate, 100, 9, 0.25) // Hz, quality, s
                                            : throw std::runtime_error("waveform '" + name +
                                                                       "': give \"chirp\" or \"sine-gaussian\"");
      auto unit = Signal::PhaseShift(wave, 0);
      fInPhase = Signal::ScaleToSnr(unit, Signal::DetectorPsd(kWindow, kRate), kRate, 1);
      fQuarter = Signal::PhaseShift(fInPhase, M_PI / 2);
   }

   std::vector<double> At(double snr, double phase) const
   {
      const double c = snr * std::cos(phase), s = snr * std::sin(phase);
      std::vector<double> strain(kWindow);
      for (std::size_t j = 0; j < kWindow; ++j)
         strain[j] = c * fInPhase[j] + s * fQuarter[j];
      return strain;
   }
};

/// Writes `windows` windows into a tree of the current file: three of five are noise, the others contain a signal.
void WriteWindows(const char *name, const Template &wave, int windows, int seed)
{
   const auto psd = Signal::DetectorPsd(kStretch * kWindow, kRate);
   std::vector<double> noise;
   ROOT::RVecF strain(kWindow);
   float snr, phase, weight;
   int label;
   TTree tree(name, "Strain windows");
   tree.Branch("strain", &strain);
   tree.Branch("snr", &snr);
   tree.Branch("phase", &phase);
   tree.Branch("label", &label);
   tree.Branch("weight", &weight);
   TRandom3 random(seed);
   for (int i = 0, signals = 0; i < windows; ++i) {
      if (i % kStretch == 0)
         noise = Signal::Noise(psd, kRate, 1000 * seed + i / kStretch);
      label = i % 5 >= 3;
      snr = label ? kSnrs[signals++ % kSnrs.size()] : 0;
      phase = label ? random.Uniform(2 * M_PI) : 0;
      weight = label ? 5. / 4 : 5. / 6; // the same sum for signal and noise
      const auto signal = wave.At(snr, phase);
      for (std::size_t j = 0; j < kWindow; ++j)
         strain[j] = noise[i % kStretch * kWindow + j] + signal[j];
      tree.Fill();
   }
   tree.Write();
}

/// Welch's estimate from noise without a signal.
std::vector<double> MeasurePsd()
{
   return Signal::Welch(Signal::Noise(Signal::DetectorPsd(kStretch * kWindow, kRate), kRate, 3), kWindow, kRate);
}

/// The whitened windows of a tree that pass `cut`.
CladTorch::Dataset Read(const char *tree, const std::string &file, const Signal::Whitener &whiten, const char *cut = "")
{
   CladTorch::Dataset data;
   data.Column("whitened", kLength).SetWeight("weight");
   data.Add(ROOT::RDataFrame(tree, file).Define("whitened", whiten, {"strain"}), "label", cut);
   return data;
}

CladTorch::History Train(CladTorch::Mlp &model, const CladTorch::Dataset &data)
{
   CladTorch::FitOptions options;
   options.fEpochs = 8;
   options.fBatchSize = 128;
   options.fValidation = 0.1;
   options.fOptimiser = CladTorch::kAdamW;
   options.fWeightDecay = 1; // most of the 128 inputs are noise
   return model.Fit(data, options);
}

CladTorch::Mlp Network()
{
   return CladTorch::Mlp({kLength, 32, 32, 1}, CladTorch::kGELU);
}

/// Noise and the signals of one SNR, as ranked by the network.
struct Result {
   double fSnr, fAuc, fError;
   std::vector<double> fEfficiencies; ///< at kFalseAlarms
   std::size_t fSignals;
   TGraph *fRoc;
   TH1F *fLogits, *fNoiseLogits;
};

TH1F *Histogram(const std::vector<float> &values, const char *name, const char *colour)
{
   auto *histogram = new TH1F(name, "", 60, -9, 15);
   histogram->SetDirectory(nullptr);
   for (float value : values)
      histogram->Fill(value, 1. / values.size());
   histogram->SetLineColor(TColor::GetColor(colour));
   histogram->SetLineWidth(3);
   return histogram;
}

Result Evaluate(const CladTorch::Mlp &model, const CladTorch::Dataset &data, double snr, const char *colour)
{
   // Logits, not probabilities: those saturate at low false-alarm rates.
   const auto logits = model.Logits(data);
   const auto labels = data.Labels();
   std::vector<float> noise, signal;
   for (std::size_t i = 0; i < logits.size(); ++i)
      (labels(i) > 0.5 ? signal : noise).push_back(logits[i]);
   std::sort(noise.begin(), noise.end(), std::greater<float>());

   Result result{snr, model.Auc(data), model.AucError(data), {}, signal.size(), model.Roc(data), nullptr, nullptr};
   for (double alarm : kFalseAlarms) {
      const float threshold = noise.at(alarm * noise.size());
      const auto above = std::count_if(signal.begin(), signal.end(), [&](float x) { return x > threshold; });
      result.fEfficiencies.push_back(double(above) / signal.size());
   }
   result.fRoc->SetLineColor(TColor::GetColor(colour));
   result.fLogits = Histogram(signal, "signal", colour);
   result.fNoiseLogits = Histogram(noise, "noise", "#000000");
   return result;
}

std::vector<Result> Test(const CladTorch::Mlp &model, const std::string &path, const Signal::Whitener &whiten)
{
   std::vector<Result> results;
   for (std::size_t i = 0; i < kSnrs.size(); ++i) {
      const auto data = Read("test", path, whiten, Form("label == 0 || snr == %g", kSnrs[i]));
      results.push_back(Evaluate(model, data, kSnrs[i], kColours[i]));
   }
   return results;
}

void PrintTable(const std::vector<Result> &results)
{
   std::printf("\nNetwork against the Neyman-Pearson bound (known shape and arrival time, unknown phase)\n");
   std::printf("  SNR   AUC                  bound      efficiency at FAP 0.1, bound   at FAP 0.01, bound\n");
   for (const auto &r : results) {
      std::printf("  %3g   %.5f +- %.5f   %.5f    ", r.fSnr, r.fAuc, r.fError,
                  Signal::AucBound(r.fSnr, Signal::kUnknownPhase));
      for (std::size_t i = 0; i < kFalseAlarms.size(); ++i)
         std::printf("%.3f, %.3f                   ", r.fEfficiencies[i],
                     Signal::EfficiencyBound(r.fSnr, kFalseAlarms[i], Signal::kUnknownPhase));
      std::printf("\n");
   }
}

TH1 *Frame(double x1, double y1, double x2, double y2, const char *titles)
{
   gPad->SetMargin(0.16, 0.04, 0.14, 0.1);
   gPad->SetGrid();
   auto *frame = gPad->DrawFrame(x1, y1, x2, y2, titles);
   for (auto *axis : {frame->GetXaxis(), frame->GetYaxis()}) {
      axis->SetTitleSize(0.055);
      axis->SetLabelSize(0.05);
      axis->SetNdivisions(506);
   }
   frame->GetYaxis()->SetTitleOffset(1.35);
   return frame;
}

TGraph *Curve(const std::vector<double> &x, const std::vector<double> &y, const char *colour, int style = 1)
{
   auto *graph = new TGraph(x.size(), x.data(), y.data());
   graph->SetLineColor(TColor::GetColor(colour));
   graph->SetLineStyle(style);
   graph->SetLineWidth(style == 1 ? 2 : 3);
   graph->Draw("L");
   return graph;
}

TLegend *Legend(double x1, double y1, double x2, double y2)
{
   auto *legend = new TLegend(x1, y1, x2, y2);
   legend->SetTextSize(0.048);
   legend->SetFillStyle(1001);
   legend->SetBorderSize(0);
   legend->Draw();
   return legend;
}

/// Amplitude spectral densities: Welch's estimate, and the density from which the noise was made.
void DrawSpectrum(const std::vector<double> &welch)
{
   const auto design = Signal::DetectorPsd(kWindow, kRate);
   std::vector<double> frequency, found, made;
   for (std::size_t k = 1; k + 1 < welch.size(); ++k) {
      frequency.push_back(k * kRate / kWindow);
      found.push_back(std::sqrt(welch[k]));
      made.push_back(std::sqrt(design[k]));
   }
   gPad->SetLogx();
   gPad->SetLogy();
   auto *frame = Frame(10, 1.2e-24, kRate / 2, 9e-23,
                       "Detector noise;Frequency [Hz];Amplitude spectral density [Hz^{-1/2}]");
   frame->GetXaxis()->SetMoreLogLabels();
   frame->GetXaxis()->SetNoExponent();
   auto *legend = Legend(0.4, 0.72, 0.94, 0.88);
   legend->AddEntry(Curve(frequency, found, kColours[0]), "Welch's estimate", "l");
   legend->AddEntry(Curve(frequency, made, kColours[1], 2), "Advanced LIGO design", "l");
}

/// The first window of the highest SNR, whitened, with the waveform in it.
void DrawExample(const std::string &file, const Template &wave, const Signal::Whitener &whiten)
{
   ROOT::RDataFrame frame("test", file);
   const double best = kSnrs.back();
   auto one = frame.Filter([best](float snr) { return snr == best; }, {"snr"}).Range(1);
   auto strain = one.Take<ROOT::RVecF>("strain");
   auto phase = one.Take<float>("phase");
   const auto clean = wave.At(best, phase->at(0));
   const auto white = whiten(strain->at(0)), signal = whiten({clean.begin(), clean.end()});
   std::vector<double> time;
   for (std::size_t j = 0; j < kLength; ++j)
      time.push_back((kFirst + j) / kRate);
   const auto titles = Form("A window with SNR %g;Time [s];Whitened strain [#sigma of noise]", best);
   Frame(time.front(), -5, time.back(), 8.5, titles);
   auto *legend = Legend(0.4, 0.75, 0.95, 0.88);
   legend->AddEntry(Curve(time, {white.begin(), white.end()}, "#999999"), "Signal and noise", "l");
   legend->AddEntry(Curve(time, {signal.begin(), signal.end()}, kColours[1]), "Signal alone", "l");
}

void DrawLosses(const CladTorch::History &history)
{
   std::vector<double> epochs;
   for (std::size_t i = 1; i <= history.Epochs(); ++i)
      epochs.push_back(i);
   const auto &train = history.TrainLoss(), &validation = history.ValidationLoss();
   const double low = std::min(*std::min_element(train.begin(), train.end()),
                               *std::min_element(validation.begin(), validation.end()));
   const double high = std::max(train.front(), validation.front());
   const double margin = 0.1 * (high - low);
   Frame(0.8, low - margin, epochs.size() + 0.2, high + 4 * margin, "Training;Epoch;Binary cross-entropy");
   auto *legend = Legend(0.5, 0.72, 0.95, 0.88);
   auto *first = Curve(epochs, train, kColours[0]), *second = Curve(epochs, validation, kColours[1], 2);
   legend->AddEntry(first, "Training part", "l");
   legend->AddEntry(second, "Validation part", "l");
}

void DrawScores(const std::vector<Result> &results)
{
   double top = 0;
   for (const auto &r : results)
      top = std::max({top, r.fLogits->GetMaximum(), r.fNoiseLogits->GetMaximum()});
   Frame(-9, 0, 15, 1.15 * top, "Scores;Network output (logit);Share of windows per bin");
   auto *legend = Legend(0.68, 0.53, 0.95, 0.88);
   results[0].fNoiseLogits->Draw("hist same");
   legend->AddEntry(results[0].fNoiseLogits, "Noise", "l");
   for (const auto &r : results) {
      r.fLogits->Draw("hist same");
      legend->AddEntry(r.fLogits, Form("SNR %g", r.fSnr), "l");
   }
}

void DrawRocs(const std::vector<Result> &results)
{
   gPad->SetLogx();
   Frame(1e-3, 0, 1, 1.05, "ROC (dashed: bound);False-alarm probability;Detection probability");
   auto *legend = Legend(0.68, 0.17, 0.95, 0.47);
   for (std::size_t i = 0; i < results.size(); ++i) {
      std::vector<double> alarms, bound;
      for (double power = -3; power <= 0; power += 0.1) {
         alarms.push_back(std::pow(10, power));
         bound.push_back(Signal::EfficiencyBound(results[i].fSnr, alarms.back(), Signal::kUnknownPhase));
      }
      results[i].fRoc->Draw("L");
      Curve(alarms, bound, kColours[i], 2);
      legend->AddEntry(results[i].fRoc, Form("SNR %g", results[i].fSnr), "l");
   }
}

void DrawEfficiencies(const std::vector<Result> &results)
{
   Frame(0, 0, 8, 1.05, "Efficiency (dashed: bound);Optimal SNR;Detection probability");
   auto *legend = Legend(0.52, 0.17, 0.94, 0.35);
   for (std::size_t i = 0; i < kFalseAlarms.size(); ++i) {
      std::vector<double> snr, bound;
      for (double rho = 0; rho <= 8; rho += 0.25) {
         snr.push_back(rho);
         bound.push_back(Signal::EfficiencyBound(rho, kFalseAlarms[i], Signal::kUnknownPhase));
      }
      Curve(snr, bound, kColours[i], 2);
      auto *points = new TGraphErrors();
      for (const auto &r : results) {
         const double efficiency = r.fEfficiencies[i];
         points->AddPointError(r.fSnr, efficiency, 0, std::sqrt(efficiency * (1 - efficiency) / r.fSignals));
      }
      points->SetMarkerStyle(20 + i);
      points->SetMarkerSize(1.4);
      points->SetMarkerColor(TColor::GetColor(kColours[i]));
      points->SetLineColor(TColor::GetColor(kColours[i]));
      points->Draw("P");
      legend->AddEntry(points, Form("False alarms %g %%", 100 * kFalseAlarms[i]), "p");
   }
}

/// Areas and their bounds against the SNR, for further analysis.
void WriteGraphs(const std::string &path, const std::vector<Result> &results)
{
   TGraphErrors area, bound;
   for (const auto &r : results) {
      area.AddPointError(r.fSnr, r.fAuc, 0, r.fError);
      bound.AddPointError(r.fSnr, Signal::AucBound(r.fSnr, Signal::kUnknownPhase), 0, 0);
   }
   area.SetTitle("Network;Optimal SNR;Area under the ROC curve");
   bound.SetTitle("Neyman-Pearson bound;Optimal SNR;Area under the ROC curve");
   TFile file(path.c_str(), "UPDATE");
   area.Write("auc");
   bound.Write("auc_bound");
}

void gw_classify(const std::string &folder = "gw_classify_out", const std::string &waveform = "chirp",
                 int windows = 60000)
{
   const Template wave(waveform);
   gSystem->mkdir(folder.c_str(), true);
   const std::string path = folder + "/gw.root";
   {
      TFile file(path.c_str(), "RECREATE", "", 0); // noise does not compress
      WriteWindows("train", wave, windows, 1);
      WriteWindows("test", wave, 2 * windows / 3, 2);
   }

   const auto psd = MeasurePsd();
   const Signal::Whitener whiten(psd, kRate, kFirst, kLength);
   auto model = Network();
   const auto history = Train(model, Read("train", path, whiten));
   model.Save(folder + "/gw.ct");

   const auto results = Test(model, path, whiten);
   PrintTable(results);
   WriteGraphs(path, results);

   gStyle->SetTitleFontSize(0.065);
   gStyle->SetTitleX(0.56); // the middle of the frame
   auto *canvas = new TCanvas("gw", "Gravitational waves in noise", 1800, 1000);
   canvas->Divide(3, 2);
   const std::vector<std::function<void()>> pads = {
      [&] { DrawSpectrum(psd); },   [&] { DrawExample(path, wave, whiten); }, [&] { DrawLosses(history); },
      [&] { DrawScores(results); }, [&] { DrawRocs(results); },               [&] { DrawEfficiencies(results); }};
   for (std::size_t i = 0; i < pads.size(); ++i) {
      canvas->cd(i + 1);
      pads[i]();
   }
   canvas->SaveAs((folder + "/gw.png").c_str());
   canvas->SaveAs((folder + "/gw.pdf").c_str());
}
