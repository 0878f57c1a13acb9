/// \file higgs_classify.C
/// \brief Higgs boson or background: 28 features of simulated collisions, one small network.
///
/// Trains 28-64-64-1 twice from the same initial weights on the sample that ROOT ships: with gradients made by Clad and
/// with LibTorch's autograd. Prints both AUCs and times, draws loss curves, scores and ROC.
///
///     root -l -b -q root_macros/higgs_classify.C
///     root -l 'root_macros/higgs_classify.C("output_folder", 5)'
///
/// Data: 10k + 10k events of the HIGGS set of Baldi, Sadowski and Whiteson (Nature Commun. 5 (2014) 4308), in
/// tutorials/machine_learning/data/Higgs_data.root of every ROOT installation.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include <TCanvas.h>
#include <TGraph.h>
#include <TROOT.h>
#include <TSystem.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

const std::vector<std::string> kFeatures = {
   "lepton_pT", "lepton_eta", "lepton_phi", "missing_energy_magnitude", "missing_energy_phi",
   "jet1_pt",   "jet1_eta",   "jet1_phi",   "jet1_b-tag",               "jet2_pt",
   "jet2_eta",  "jet2_phi",   "jet2_b-tag", "jet3_pt",                  "jet3_eta",
   "jet3_phi",  "jet3_b-tag", "jet4_pt",    "jet4_eta",                 "jet4_phi",
   "jet4_b-tag", "m_jj",      "m_jjj",      "m_lv",                     "m_jlv",
   "m_bb",      "m_wbb",      "m_wwbb"};

/// One training from the seed's initial weights; the time is that of Fit alone, without reading.
CladTorch::History Train(CladTorch::Mlp &model, const CladTorch::Dataset &data, CladTorch::EGradient gradient,
                         int epochs, double &seconds)
{
   CladTorch::FitOptions options;
   options.fEpochs = epochs;
   options.fBatchSize = 256;
   options.fValidation = 0.2;
   options.fSeed = 1;
   options.fGradient = gradient;
   options.fVerbose = 2;
   const auto start = std::chrono::steady_clock::now();
   auto history = model.Fit(data, options);
   seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
   return history;
}

void higgs_classify(const std::string &folder = "higgs_classify_out", int epochs = 10)
{
   gSystem->mkdir(folder.c_str(), true);
   const std::string file = std::string(gROOT->GetTutorialDir()) + "/machine_learning/data/Higgs_data.root";
   if (gSystem->AccessPathName(file.c_str()))
      throw std::runtime_error("there is no " + file +
                               ": put there Higgs_data.root of ROOT's tutorials (https://root.cern/files/)");

   CladTorch::Dataset all(kFeatures);
   all.Add("sig_tree", file, 1).Add("bkg_tree", file, 0);
   const auto [train, test] = all.Split(0.7, 1);
   all.Print();

   double seconds = 0, autogradSeconds = 0;
   CladTorch::Mlp model({28, 64, 64, 1});
   CladTorch::Mlp reference({28, 64, 64, 1});
   const auto history = Train(model, train, CladTorch::kClad, epochs, seconds);
   Train(reference, train, CladTorch::kAutograd, epochs, autogradSeconds);

   std::printf("\nHiggs against background, %zu test events, %d epochs\n", test.Rows(), epochs);
   std::printf("  %-22s %-18s %s\n", "gradient", "AUC", "time of Fit");
   std::printf("  %-22s %.4f +- %.4f   %.2f s\n", "Clad", model.Auc(test), model.AucError(test), seconds);
   std::printf("  %-22s %.4f +- %.4f   %.2f s\n", "LibTorch autograd", reference.Auc(test), reference.AucError(test),
               autogradSeconds);

   history.Draw()->SaveAs((folder + "/loss.png").c_str());
   model.DrawScores(test)->SaveAs((folder + "/scores.png").c_str());
   TCanvas canvas("roc", "ROC", 700, 600);
   canvas.SetGrid();
   auto roc = model.Roc(test);
   roc->Draw("AL");
   canvas.SaveAs((folder + "/roc.png").c_str());
   delete roc;
   model.Save(folder + "/higgs.ct");
}
