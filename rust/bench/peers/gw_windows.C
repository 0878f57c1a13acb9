/// \file gw_windows.C
/// \brief Writes whitened windows of gw_classify.C as the trees `train` and `validation` of a ROOT file: columns x0 to
/// x127 and `label`, float32.

#include "../../../../../root_macros/gw_classify.C"

void WriteTree(const char *name, const CladTorch::Dataset &data)
{
   const auto features = data.Features(), labels = data.Labels();
   TTree tree(name, "Whitened strain windows");
   std::vector<float> samples(kLength);
   float label;
   for (std::size_t i = 0; i < kLength; ++i)
      tree.Branch(("x" + std::to_string(i)).c_str(), &samples[i]);
   tree.Branch("label", &label);
   for (std::size_t row = 0; row < data.Rows(); ++row) {
      for (std::size_t i = 0; i < kLength; ++i)
         samples[i] = features(row, i);
      label = labels(row);
      tree.Fill();
   }
   tree.Write();
}

/// \param windows In both trees together; 70 % of them are for the training.
void gw_windows(const std::string &path, int windows)
{
   const auto strain = path + ".strain";
   {
      TFile file(strain.c_str(), "RECREATE", "", 0);
      WriteWindows("train", Template("chirp"), windows * 7 / 10, 1);
      WriteWindows("validation", Template("chirp"), windows - windows * 7 / 10, 2);
   }
   const Signal::Whitener whiten(MeasurePsd(), kRate, kFirst, kLength);
   TFile file(path.c_str(), "RECREATE");
   for (const char *name : {"train", "validation"})
      WriteTree(name, Read(name, strain, whiten));
   gSystem->Unlink(strain.c_str());
}
