R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

void readme_judge()
{
   const std::string file = (gROOT->GetTutorialDir() + "/machine_learning/data/Higgs_data.root").Data();
   CladTorch::Dataset events({"jet1_pt", "m_bb", "m_wwbb", "m_jj"});
   events.Add("sig_tree", file, 1).Add("bkg_tree", file, 0);
   auto [test, train] = events.Split(0.3);
   CladTorch::Mlp model({4, 64, 64, 1});
   model.Fit(train);

   auto evaluation = model.Evaluate(test);
   evaluation.Print();                                 // AUC, accuracy, efficiencies, calibration error
   evaluation.DrawRoc();                               // with its error band
   evaluation.DrawOvertraining(model.Evaluate(train)); // scores of test and training events, Kolmogorov-Smirnov test
   auto [cut, z] = evaluation.BestCut(25, 1000, 0.1);  // of 25 signal and 1000 +- 10 % background events
   std::cout << "Asimov significance " << z << " at a cut of " << cut << std::endl;
   model.Report("higgs.pdf", test, train);             // these, importance of the columns and more, page by page
}
