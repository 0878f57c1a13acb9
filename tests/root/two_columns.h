/// \file two_columns.h
/// \brief A file with the tree `t` of two columns: `x` counts the entries from `first` on, `y` does not compress.

#ifndef CLADTORCH_TEST_TWO_COLUMNS
#define CLADTORCH_TEST_TWO_COLUMNS

#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>

inline void WriteTwoColumns(const char *name, int entries, int cluster, int first = 0)
{
   TFile file(name, "recreate");
   TTree tree("t", "");
   tree.SetAutoFlush(cluster);
   TRandom3 random(7);
   float x = 0, y = 0;
   tree.Branch("x", &x);
   tree.Branch("y", &y);
   for (int i = 0; i < entries; ++i) {
      x = first + i;
      y = random.Gaus();
      tree.Fill();
   }
   tree.Write();
}

#endif
