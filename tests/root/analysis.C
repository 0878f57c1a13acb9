/// \file analysis.C
/// \brief A small analysis, to be damaged by typos.rs, which also names it.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

void FUNCTION()
{
   const std::string file = (gROOT->GetTutorialDir() + "/machine_learning/data/Higgs_data.root").Data();
   CladTorch::Dataset events({"jet1_pt", "m_bb"});
   events.Add("sig_tree", file, 1).Add("bkg_tree", file, 0, "m_bb > 0");
   CladTorch::FitOptions options;
   options.fEpochs = 2;
   options.fLoss = CladTorch::kAuto;
   options.fVerbose = 0;
   CladTorch::Mlp model({2, 4, 1}, CladTorch::kReLU);
   const auto history = model.Fit(events, options);
   std::vector<float> scores = model.Predict(events);
   const CladTorch::FloatView features = events.Features();
   if (history.Epochs() == 2 && scores.size() == events.Rows() && features.Columns() == 2)
      std::cout << "FUNCTION PASSED" << std::endl;
}
