/// \file start_file.C
/// \brief Writes the training data of `cargo xtask bench start`: the tree `events` with rows of x[28]/F and a label
/// y/F.

#include <TFile.h>
#include <TTree.h>

#include <cmath>

void start_file(const char *path, Long64_t rows)
{
   TFile file(path, "RECREATE", "", 0);
   TTree tree("events", "");
   float x[28], y;
   tree.Branch("x", x, "x[28]/F");
   tree.Branch("y", &y, "y/F");
   for (Long64_t row = 0; row < rows; ++row) {
      for (int i = 0; i < 28; ++i)
         x[i] = std::sin(0.37f * (row * 28 + i));
      y = row % 2;
      tree.Fill();
   }
   file.Write();
}
