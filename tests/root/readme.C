R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

void readme()
{
   const std::string file = (gROOT->GetTutorialDir() + "/machine_learning/data/Higgs_data.root").Data();
   CladTorch::Dataset events({"jet1_pt", "m_bb", "m_wwbb"});
   events.Add("sig_tree", file, 1).Add("bkg_tree", file, 0, "m_bb > 0"); // label, cut

   CladTorch::Mlp model({3, 64, 64, 1}, CladTorch::kReLU);
   auto history = model.Fit(events);   // 20 epochs of Adam; CladTorch::FitOptions has the rest
   history.Draw();                     // loss curves on a TCanvas
   new TCanvas();                      // for the ROC curve, beside that of the loss
   model.Roc(events)->DrawClone("AL"); // a TGraph, its AUC in the title
   model.Save("higgs.ct");
   auto scored = model.Define(ROOT::RDataFrame("sig_tree", file), "score");
   std::cout << "mean score of the signal: " << *scored.Mean("score") << std::endl;
}
