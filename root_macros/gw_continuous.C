/// \file gw_continuous.C
/// \brief A continuous search: a network slid over a day of strain of two detectors, and its range at each false-alarm
/// rate.
///
/// A convolutional network learns from windows, as in gw_search.C, and is slid over whitened strain as one convolution:
/// two scores that are 0.094 s apart share nine tenths of their strain, which is computed once. Scores above a
/// threshold are clustered to candidates. Strain with signals at known times, and the same noise without them, give the
/// sensitive distance against the false-alarm rate, both as defined by the mock-data challenge MLGWSC-1. The strain is
/// simulated stretch by stretch, so that a month needs no more memory than an hour.
///
/// Time slides estimate lower false-alarm rates from the same noise: the second detector's strain is shifted by
/// seconds, so that only accidental coincidences remain. A matched filter makes its triggers in each detector
/// separately and can pair those of shifted detectors at no cost. This network combines both detectors from its first
/// layer on, so it has to run again for each slide.
///
///     root -l -b -q root_macros/gw_continuous.C
///     root -l 'root_macros/gw_continuous.C("output_folder", 84, 0, "gw_search_out/gw_search.ct")'   // about a day
///     root -l 'root_macros/gw_continuous.C("output_folder", 2531, 0, "network.ct")'              // a month
///
/// The numbers are stretches of 1024 s, and slides. Without a file the network is trained, on `windows` windows made
/// anew in each of `epochs` epochs. Writes gw_continuous.png, .pdf, .ct (the network) and .root (the injections), and
/// foreground.hdf and background.hdf (the candidates), which the challenge's evaluate.py reads.

R__LOAD_LIBRARY(libcladtorch)
#include "gw_continuous.h"
#include "gw_network.h"

#include <TCanvas.h>
#include <TGraphErrors.h>
#include <TROOT.h>
#include <TStopwatch.h>
#include <TSystem.h>

#include <cstdio>

const std::size_t kStride = 192; // samples: a multiple of the pools' strides, 4 * 3 * 4
const double kThreshold = 0;     // logit of a candidate
const double kMerger = 0.6;      // s from the beginning of a window: mean place of the signals in training
const double kMonth = 30 * 86400;

CladTorch::Model TrainedNetwork(const std::string &folder, int epochs, int windows)
{
   auto network = ChallengeNetwork();
   network.Fit(FreshWindows(LongStrain(), windows, folder + "/gw_continuous_windows.root"), NetworkOptions(epochs));
   network.Save(folder + "/gw_continuous.ct");
   return network;
}

/// The results of a search.
struct Found {
   std::vector<Signal::Candidate> fForeground, fBackground;
   double fDuration = 0; ///< s, of the background
};

void Append(std::vector<Signal::Candidate> &all, const std::vector<float> &scores, double start)
{
   const auto found = Signal::FindCandidates(scores, start + Observation::Cut() + kMerger, kStride / Observation::kRate, kThreshold);
   all.insert(all.end(), found.begin(), found.end());
}

Found Search(const Signal::NetworkFilter &filter, const Observation &observation, int slides)
{
   Found found;
   for (std::size_t stretch = 0; stretch < observation.Stretches(); ++stretch) {
      const double start = observation.Start(stretch);
      const auto noise = observation.Noise(stretch);
      Append(found.fForeground, filter.Scores(Observation::White(observation.Inject(stretch, noise))), start);
      const auto white = Observation::White(noise);
      for (int slide = 0; slide <= slides; ++slide) {
         Append(found.fBackground, filter.Scores(Observation::Shifted(white, 10. * slide)), start);
         found.fDuration += observation.Length();
      }
   }
   return found;
}

/// Thresholds from 3 alarms in the background to 1000, or as many as there are, four per decade.
std::vector<double> Rates(const Found &found)
{
   std::vector<double> rates;
   for (double alarms = 3; alarms < std::min<double>(1000, found.fBackground.size()); alarms *= std::pow(10, 0.25))
      rates.push_back(alarms / found.fDuration);
   return rates;
}

TGraphErrors *Draw(const std::vector<Signal::Sensitivity> &reach)
{
   auto *graph = new TGraphErrors;
   graph->SetTitle("Continuous search, H1 and L1;False alarms per month;Sensitive distance [Mpc]");
   for (const auto &each : reach) {
      graph->AddPoint(each.fRate * kMonth, each.fDistance);
      graph->SetPointError(graph->GetN() - 1, 0, each.fDistanceError);
   }
   graph->SetMarkerStyle(20);
   graph->SetMarkerColor(TColor::GetColor("#0072B2"));
   graph->SetLineColor(TColor::GetColor("#0072B2"));
   graph->SetLineWidth(2);
   graph->Draw("APL");
   return graph;
}

void gw_continuous(const std::string &folder = "gw_continuous_out", int stretches = 84, int slides = 0, const std::string &network = "",
                   int epochs = 8, int windows = 16000)
{
   gSystem->mkdir(folder.c_str(), true);
   const auto model = network.empty() ? TrainedNetwork(folder, epochs, windows) : CladTorch::Model::Load(network);
   const Signal::NetworkFilter filter(model, kStride, 2);
   if (!filter.Obstacle().empty())
      std::printf("computed window by window: %s\n", filter.Obstacle().c_str());

   const Observation observation(stretches, 1);
   const auto injections = observation.Injections();
   TStopwatch clock;
   const auto found = Search(filter, observation, slides);
   std::printf("%.0f s with %zu signals and %.0f s of noise searched in %.0f s, at %.3f of the arithmetic of single windows\n",
               stretches * observation.Length(), injections.size(), found.fDuration, clock.RealTime(), filter.Arithmetic());

   const auto reach = Signal::SensitiveDistance(found.fForeground, found.fBackground, injections, found.fDuration, Rates(found));
   std::printf("%-20s %-12s %-18s %s\n", "false alarms/month", "threshold", "share found", "sensitive distance [Mpc]");
   for (const auto &each : reach)
      std::printf("%-20.0f %-12.2f %.3f +- %.3f     %.0f +- %.0f\n", each.fRate * kMonth, each.fThreshold, each.fFraction,
                  each.fFractionError, each.fDistance, each.fDistanceError);
   Signal::WriteCandidates(folder + "/foreground.hdf", found.fForeground);
   Signal::WriteCandidates(folder + "/background.hdf", found.fBackground);
   observation.Write(folder + "/gw_continuous.root");

   auto *canvas = new TCanvas("gw_continuous", "Continuous search", 900, 700);
   canvas->SetLogx();
   canvas->SetGrid();
   canvas->SetLeftMargin(0.13);
   Draw(reach);
   canvas->SaveAs((folder + "/gw_continuous.png").c_str());
   canvas->SaveAs((folder + "/gw_continuous.pdf").c_str());
}
