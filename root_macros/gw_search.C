/// \file gw_search.C
/// \brief A search for binary black holes in two detectors: networks against the matched filter and the best possible
/// test.
///
/// Follows the published recipe of the mock-data challenge MLGWSC-1 (gw_injections.h): a convolutional network learns
/// from a stream of windows, whose noise and signals are made anew for each epoch, so that it cannot learn windows by
/// heart. A perceptron learns from the outputs of matched filters. Both are compared, on test windows, with the largest
/// SNR of a bank of matched filters and with the likelihood ratio averaged over all unknowns, which no test beats
/// (Neyman and Pearson): the areas under the ROC curves are printed, and the efficiencies against the SNR drawn at
/// false-alarm probabilities from 1e-1 to 1e-4.
///
///     root -l -b -q root_macros/gw_search.C
///     root -l 'root_macros/gw_search.C("output_folder", 24, 20000, 102400)'
///     root -l 'root_macros/gw_search.C("output_folder", 12, 8000, 20000, true)'
///
/// The numbers are epochs, windows per epoch, and test windows of noise. `quick` searches for one chirp of known masses
/// in one detector instead. Writes gw_search.png, gw_search.pdf and gw_search.ct (the network) into the folder.
///
///     mpirun -n 4 root.exe -l -b -q 'root_macros/gw_search.C("output_folder", 12, 8000, 20000, true)'
///
/// The processes of an MPI job divide the windows among them and train one network on them; the first process tests it.
/// Without `quick` the network then has group instead of batch normalisation, whose statistics need a whole batch.

R__LOAD_LIBRARY(libcladtorch)
#include "gw_injections.h"
#include "gw_network.h"

#include <TCanvas.h>
#include <TGraphAsymmErrors.h>
#include <TH1.h>
#include <TLegend.h>
#include <TROOT.h>
#include <TStyle.h>
#include <TSystem.h>

#include <cstdio>

const std::vector<const char *> kNames = {"Likelihood ratio", "Matched filter", "Convolutional", "Perceptron"};
// Distinguishable with any colour vision.
const std::vector<const char *> kColours = {"#000000", "#D55E00", "#0072B2", "#009E73"};
const std::vector<double> kFalseAlarms = {1e-1, 1e-2, 1e-3, 1e-4};
const double kFewest = 10; // windows of noise above the threshold: fewer do not determine it

/// Windows from number `first` on, as the networks and the search get them.
ROOT::RDF::RNode Frame(const Recipe &recipe, const Signal::CoherentSearch &search, const Windows &windows, ULong64_t first,
                       ULong64_t count)
{
   return ROOT::RDataFrame(count)
      .Define("window", [first](ULong64_t entry) { return first + entry; }, {"rdfentry_"})
      .Define("label", LabelOf{windows}, {"window"})
      .Define("snr", SnrOf{windows}, {"window"})
      .Define("strain", windows, {"window"})
      .Define("white", Whitening{recipe}, {"strain"})
      .Define("ranks", search, {"strain"})
      .Define("statistic", [](const ROOT::RVecF &ranks) { return ranks[0]; }, {"ranks"})
      .Define("filter", [](const ROOT::RVecF &ranks) { return *std::max_element(ranks.begin() + 1, ranks.end()); }, {"ranks"})
      .Define("features", Features{recipe}, {"ranks", "white"});
}

CladTorch::Dataset Read(const ROOT::RDF::RNode &frame, const std::string &column, std::size_t length = 0)
{
   CladTorch::Dataset data;
   return data.Column(column, length).Add(frame, "label");
}

/// Learns from windows that are made anew for each epoch; `validation` stays the same.
CladTorch::History Train(CladTorch::Model &model, const CladTorch::Stream &windows, const CladTorch::Dataset &validation, int epochs)
{
   auto options = NetworkOptions(epochs);
   options.fParallel = CladTorch::kMpi;
   return model.Fit(windows, validation, options);
}

/// A perceptron on the features of `windows` windows.
CladTorch::Mlp TrainPerceptron(const Recipe &recipe, const Signal::CoherentSearch &search, ULong64_t windows)
{
   const Features features{recipe};
   CladTorch::Mlp model({features.Size(), 32, 32, 1}, CladTorch::kGELU);
   CladTorch::FitOptions options;
   options.fBatchSize = 128;
   options.fOptimiser = CladTorch::kAdamW;
   options.fWeightDecay = 0.1;
   options.fVerbose = 0;
   model.Fit(Read(Frame(recipe, search, Windows(recipe, 1), 0, windows), "features", features.Size()), options);
   return model;
}

/// The ranks of the test windows in the four tests, higher for signals.
struct Ranks {
   std::vector<std::vector<float>> fRanks{kNames.size()};
   std::vector<float> fLabels, fSnrs;
};

/// For test windows, one signal for nine of noise, in pieces that fit into memory.
Ranks Test(const Recipe &recipe, const Signal::CoherentSearch &search, const CladTorch::Model &network,
           const CladTorch::Mlp &perceptron, ULong64_t noise)
{
   const ULong64_t all = noise / 9 * 10, piece = 8192;
   Ranks ranks;
   auto append = [](std::vector<float> &values, const auto &more) { values.insert(values.end(), more.begin(), more.end()); };
   for (ULong64_t first = 0; first < all; first += piece) {
      auto windows = Frame(recipe, search, Windows(recipe, 2, 10), first, std::min(piece, all - first))
                        .Cache<float, float, float, int, ROOT::RVecF, ROOT::RVecF>(
                           {"statistic", "filter", "snr", "label", "white", "features"});
      // In the order of the windows, which Take() does not preserve on several threads.
      append(ranks.fRanks[0], Read(windows, "statistic").Features());
      append(ranks.fRanks[1], Read(windows, "filter").Features());
      // Logits, not probabilities: those saturate at low false-alarm rates.
      append(ranks.fRanks[2], network.Logits(Read(windows, "white", network.Inputs())));
      append(ranks.fRanks[3], perceptron.Logits(Read(windows, "features", perceptron.Inputs())));
      const auto snrs = Read(windows, "snr");
      append(ranks.fSnrs, snrs.Features());
      append(ranks.fLabels, snrs.Labels());
   }
   return ranks;
}

/// The share of signals that pass at a false-alarm probability, in bins of the SNR.
TGraphAsymmErrors *Efficiency(const CladTorch::Evaluation &evaluation, const Ranks &ranks, double falseAlarm)
{
   std::vector<double> edges;
   for (double snr = 5; snr <= 15; ++snr)
      edges.push_back(snr);
   return evaluation.Efficiency(ranks.fSnrs, edges, falseAlarm);
}

/// The false-alarm probabilities that this many windows of noise can show.
std::vector<double> Shown(int noise)
{
   auto shown = kFalseAlarms;
   shown.erase(std::remove_if(shown.begin(), shown.end(), [noise](double alarm) { return noise * alarm < kFewest; }), shown.end());
   return shown;
}

/// Areas, and the share of all signals that pass.
void Print(const std::vector<CladTorch::Evaluation> &evaluations, const Ranks &ranks, const std::vector<double> &falseAlarms)
{
   std::printf("\n%-18s %-19s efficiency at", "", "AUC");
   for (double alarm : falseAlarms)
      std::printf("  %-15g", alarm);
   for (std::size_t i = 0; i < kNames.size(); ++i) {
      std::printf("\n%-18s %.4f +- %.4f                 ", kNames[i], evaluations[i].Auc(), evaluations[i].AucError());
      for (double alarm : falseAlarms) {
         std::unique_ptr<TGraphAsymmErrors> all(evaluations[i].Efficiency(ranks.fSnrs, {0.1, 100}, alarm));
         std::printf("  %.3f +- %.3f ", all->GetPointY(0), 0.5 * (all->GetErrorYhigh(0) + all->GetErrorYlow(0)));
      }
   }
   std::printf("\n");
}

void Draw(const std::vector<CladTorch::Evaluation> &evaluations, const Ranks &ranks, double falseAlarm)
{
   gPad->SetMargin(0.13, 0.03, 0.14, 0.1);
   gPad->SetGrid();
   auto *frame = gPad->DrawFrame(5, 0, 15, 1.05, Form("False-alarm probability %g;Network SNR;Efficiency", falseAlarm));
   for (auto *axis : {frame->GetXaxis(), frame->GetYaxis()}) {
      axis->SetTitleSize(0.055);
      axis->SetLabelSize(0.05);
   }
   auto *legend = new TLegend(0.56, 0.18, 0.95, 0.46);
   legend->SetTextSize(0.045);
   for (std::size_t i = 0; i < evaluations.size(); ++i) {
      auto *graph = Efficiency(evaluations[i], ranks, falseAlarm);
      const int colour = TColor::GetColor(kColours[i]);
      graph->SetLineColor(colour);
      graph->SetMarkerColor(colour);
      graph->SetMarkerStyle(20 + i);
      graph->SetLineWidth(2);
      graph->Draw("PL");
      legend->AddEntry(graph, kNames[i], "pl");
   }
   legend->Draw();
}

void gw_search(const std::string &folder = "gw_search_out", int epochs = 8, int windows = 16000, int noise = 30000,
               bool quick = false)
{
   gSystem->mkdir(folder.c_str(), true);
   const auto recipe = quick ? KnownMasses() : Challenge();
   const auto search = MakeSearch(recipe);

   const int rank = CladTorch::Rank();
   auto network = quick ? SmallNetwork() : ChallengeNetwork(CladTorch::Ranks() > 1);
   const auto labels = folder + (rank ? "/gw_search_" + std::to_string(rank) : "/gw_search") + ".root";
   const auto fresh = FreshWindows(recipe, windows, labels);
   const auto validation = Read(Frame(recipe, search, Windows(recipe, 3), 0, 4000), "white", network.Inputs());
   Train(network, fresh, validation, epochs);
   if (rank)
      return;
   network.Save(folder + "/gw_search.ct");

   ROOT::EnableImplicitMT();
   const auto perceptron = TrainPerceptron(recipe, search, windows);
   const auto ranks = Test(recipe, search, network, perceptron, noise);
   std::vector<CladTorch::Evaluation> evaluations;
   for (const auto &each : ranks.fRanks)
      evaluations.push_back(CladTorch::Evaluation::Classifier(each, ranks.fLabels));
   const auto falseAlarms = Shown(noise);
   Print(evaluations, ranks, falseAlarms);
   if (quick)
      return; // all signals have one SNR

   gStyle->SetTitleFontSize(0.065);
   auto *canvas = new TCanvas("gw_search", "Searches for binary black holes", 1500, 1100);
   canvas->Divide(2, 2);
   for (std::size_t i = 0; i < falseAlarms.size(); ++i) {
      canvas->cd(i + 1);
      Draw(evaluations, ranks, falseAlarms[i]);
   }
   canvas->SaveAs((folder + "/gw_search.png").c_str());
   canvas->SaveAs((folder + "/gw_search.pdf").c_str());
}
