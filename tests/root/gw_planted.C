// Cases that the test of gw_classify.C must refuse: a network that learnt from meaningless labels, and signals louder
// than the SNR written beside them.

#include "../../root_macros/gw_classify.C"

/// A coin toss for each entry, the same in every run.
int Coin(ULong64_t entry)
{
   return TRandom3(entry + 1).Integer(2);
}

void gw_planted(int windows)
{
   const Template wave("chirp");
   Template loud = wave;
   for (std::size_t j = 0; j < kWindow; ++j) {
      loud.fInPhase[j] *= 1.5;
      loud.fQuarter[j] *= 1.5;
   }
   const std::string quietFile = "quiet.root", loudFile = "loud.root";
   for (const auto &[path, waveform] : {std::pair{quietFile, wave}, std::pair{loudFile, loud}}) {
      TFile file(path.c_str(), "RECREATE", "", 0);
      WriteWindows("train", wave, windows, 1);
      WriteWindows("test", waveform, windows, 2);
   }
   const Signal::Whitener whiten(MeasurePsd(), kRate, kFirst, kLength);

   CladTorch::Dataset shuffled;
   shuffled.Column("whitened", kLength);
   ROOT::RDataFrame train("train", quietFile);
   shuffled.Add(train.Define("whitened", whiten, {"strain"}).Define("coin", Coin, {"rdfentry_"}), "coin");
   auto misled = Network(), model = Network();
   Train(misled, shuffled);
   Train(model, Read("train", quietFile, whiten));

   std::printf("labels shuffled:\n");
   PrintTable(Test(misled, quietFile, whiten));
   std::printf("signals louder than written:\n");
   PrintTable(Test(model, loudFile, whiten));
}
