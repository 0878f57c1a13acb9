/// \file higgs_analysis.C
/// \brief A selection from start to end: cross-validation, the final fit, its report, a working point, scores as a friend tree.
///
/// Classifies the Higgs bosons of higgs_classify.C with a network that has normalisation and dropout. Five folds show
/// how well it performs on unseen events, and the uncertainty of that figure. The final network stops early, is judged
/// on test events, and scores the whole tree.
///
///     root -l -b -q root_macros/higgs_analysis.C
///     root -l 'root_macros/higgs_analysis.C("output_folder")'
///
/// Data: see higgs_classify.C.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include <TChain.h>
#include <TFile.h>
#include <TROOT.h>
#include <TString.h>
#include <TSystem.h>
#include <TTree.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

const std::vector<std::string> kFeatures = {"lepton_pT", "lepton_eta", "missing_energy_magnitude", "jet1_pt", "jet1_b-tag",
                                            "jet2_pt",   "jet2_b-tag", "jet3_pt", "m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb",
                                            "m_wbb",     "m_wwbb"};

void higgs_analysis(const std::string &folder = "higgs_analysis_out")
{
   gSystem->mkdir(folder.c_str(), true);
   const std::string file = std::string(gROOT->GetTutorialDir()) + "/machine_learning/data/Higgs_data.root";

   // Events with a cut. Balance() gives signal and background the same sum of weights.
   CladTorch::Dataset events(kFeatures);
   events.Add("sig_tree", file, 1, "m_bb < 5").Add("bkg_tree", file, 0, "m_bb < 5").Balance();
   auto [test, train] = events.Split(0.3, 1);

   // The network, and its training.
   CladTorch::MlpOptions layers;
   layers.fNormalisation = CladTorch::kLayerNorm;
   layers.fDropout = 0.1;
   CladTorch::FitOptions options;
   options.fEpochs = 30;
   options.fPatience = 8; // epochs without improvement
   options.fMetrics = {CladTorch::kAuc};
   options.fVerbose = 0;

   // How well does it perform on unseen events? Each fold is predicted by a network trained on the others.
   const CladTorch::Mlp start({kFeatures.size(), 64, 64, 1}, layers);
   const auto folds = start.CrossValidate(train, 5, options);
   folds.Print();

   // The final network.
   auto model = start;
   const auto history = model.Fit(train, options);
   std::printf("\nthe fit took %zu epochs, the best was number %zu with an AUC of %.4f on validation events\n\n", history.Epochs(),
               history.BestEpoch(), history.Metric("AUC")[history.BestEpoch() - 1]);
   history.Draw()->SaveAs((folder + "/loss.png").c_str());

   // Its figures and plots on test events, page by page, and the cut for 100 signal and 5000 +- 5 % background events.
   model.Report(folder + "/report.pdf", test, train);
   const auto evaluation = model.Evaluate(test);
   evaluation.Print();
   const auto [cut, significance] = evaluation.BestCut(100, 5000, 0.05);
   std::printf("best cut: score >= %.3f, expected significance %.2f\n", cut, significance);

   // Save the network, and score every event of a tree: the scores are a friend tree in a file of their own.
   model.Save(folder + "/higgs.ct");
   TChain signal("sig_tree");
   signal.Add(file.c_str());
   model.WriteScores(signal, folder + "/scores.root");
   signal.AddFriend("cladtorch", (folder + "/scores.root").c_str());
   const auto selected = signal.GetEntries(TString::Format("cladtorch.score >= %.17g", cut)); // all digits: the cut is the score of an event
   std::printf("%lld of %lld signal events pass\n", selected, signal.GetEntries());
}
