/// \file gw_windows.C
/// \brief Writes the whitened training windows of gw_classify.C as the tree `windows` of a ROOT file: columns s0 to s127
/// and `label`, float32.

#include "../../../../../root_macros/gw_classify.C"

void gw_windows(const std::string &path, int windows)
{
   const auto strain = path + ".strain";
   {
      TFile file(strain.c_str(), "RECREATE", "", 0);
      WriteWindows("train", Template("chirp"), windows, 1);
   }
   const auto data = Read("train", strain, Signal::Whitener(MeasurePsd(), kRate, kFirst, kLength));
   gSystem->Unlink(strain.c_str());
   const auto features = data.Features(), labels = data.Labels();

   TFile file(path.c_str(), "RECREATE");
   TTree tree("windows", "Whitened strain windows");
   std::vector<float> samples(kLength);
   float label;
   for (std::size_t i = 0; i < kLength; ++i)
      tree.Branch(("s" + std::to_string(i)).c_str(), &samples[i]);
   tree.Branch("label", &label);
   for (std::size_t row = 0; row < data.Rows(); ++row) {
      for (std::size_t i = 0; i < kLength; ++i)
         samples[i] = features(row, i);
      label = labels(row);
      tree.Fill();
   }
   tree.Write();
}
