/// \file trees.C
/// \brief Writes `NAME.root` with a tree that has a column of every kind, and `NAME.f32` with its numbers as float32.
///
/// `trees.C("NAME", compression, entries, basket)`: ROOT's compression number, the size of baskets in bytes. The numbers
/// follow from the entry, so no seed is needed. A row of `NAME.f32` has the signed and the unsigned whole numbers in turn
/// (b, ub, s, …), then what follows here:
///
/// | column | type | value in entry e |
/// |---|---|---|
/// | b, s, i, l | char to Long64_t | 7 e modulo 100, less 50 |
/// | ub, us, ui, ul | unsigned char to ULong64_t | 7 e modulo 100 (ul: times 2^50) after 150, 65000, 4e9, 2^63 |
/// | f, d | float, double | e / 3 |
/// | o | bool | whether e is divisible by 3 |
/// | a | float[3] | e, e + 0.25, e + 0.5 |
/// | pair.x, pair.n | float, int | 2 e, 3 e |
/// | k | int | (e + 1) modulo 5 |
/// | m | float[k] | e + position, padded with -1 to 4 |
/// | v | vector<double> of k numbers | the same, negative |
/// | h | Float16_t | not in NAME.f32 |
/// | t | string | not in NAME.f32 |

#include <TFile.h>
#include <TTree.h>

#include <cstdio>
#include <fstream>
#include <vector>

/// One entry.
struct Entry {
   Char_t fB;
   UChar_t fUb;
   Short_t fS;
   UShort_t fUs;
   Int_t fI;
   UInt_t fUi;
   Long64_t fL;
   ULong64_t fUl;
   Float_t fF;
   Double_t fD;
   Bool_t fO;
   Float_t fA[3];
   struct {
      Float_t fX;
      Int_t fN;
   } fPair;
   Int_t fK;
   Float_t fM[4];
   std::vector<double> fV, *fVector = &fV;
   Float16_t fH;
   char fText[8];

   void Branches(TTree &tree, int basket)
   {
      tree.Branch("b", &fB, "b/B", basket);
      tree.Branch("ub", &fUb, "ub/b", basket);
      tree.Branch("s", &fS, "s/S", basket);
      tree.Branch("us", &fUs, "us/s", basket);
      tree.Branch("i", &fI, "i/I", basket);
      tree.Branch("ui", &fUi, "ui/i", basket);
      tree.Branch("l", &fL, "l/L", basket);
      tree.Branch("ul", &fUl, "ul/l", basket);
      tree.Branch("f", &fF, "f/F", basket);
      tree.Branch("d", &fD, "d/D", basket);
      tree.Branch("o", &fO, "o/O", basket);
      tree.Branch("a", fA, "a[3]/F", basket);
      tree.Branch("pair", &fPair, "x/F:n/I", basket);
      tree.Branch("k", &fK, "k/I", basket);
      tree.Branch("m", fM, "m[k]/F", basket);
      tree.Branch("v", &fVector, basket);
      tree.Branch("h", &fH, "h/f", basket);
      tree.Branch("t", fText, "t/C", basket);
   }

   void Set(Long64_t entry)
   {
      const int small = entry * 7 % 100;
      fUb = 150 + small;
      fUs = 65000 + small;
      fUi = 4000000000u + small;
      fUl = (1ull << 63) + (static_cast<ULong64_t>(small) << 50);
      fB = fS = fI = fL = small - 50;
      fF = entry / 3.f;
      fD = entry / 3.;
      fO = entry % 3 == 0;
      fK = (entry + 1) % 5;
      fV.clear();
      for (int n = 0; n < 3; ++n)
         fA[n] = entry + 0.25f * n;
      for (int n = 0; n < fK; ++n) {
         fM[n] = entry + n;
         fV.push_back(-double(entry) - n);
      }
      fPair = {2.f * entry, Int_t(3 * entry)};
      fH = entry;
      std::snprintf(fText, sizeof fText, "e%lld", entry % 1000);
   }

   void Dump(std::ofstream &to) const
   {
      std::vector<float> row{float(fB), float(fUb), float(fS), float(fUs), float(fI),     float(fUi), float(fL),
                             float(fUl), fF,        float(fD), float(fO),  fA[0],         fA[1],      fA[2],
                             fPair.fX,   float(fPair.fN), float(fK)};
      for (int n = 0; n < 4; ++n)
         row.push_back(n < fK ? fM[n] : -1);
      for (int n = 0; n < 4; ++n)
         row.push_back(n < fK ? fV[n] : -1);
      to.write(reinterpret_cast<const char *>(row.data()), row.size() * sizeof(float));
   }
};

/// `embedded` leaves the last baskets inside the tree.
void trees(const char *name = "trees", int compression = 505, Long64_t entries = 120, int basket = 400,
           bool embedded = false)
{
   TFile file(TString(name) + ".root", "RECREATE", "", compression);
   std::ofstream numbers(TString(name) + ".f32", std::ios::binary);
   file.mkdir("run1")->cd();
   TTree tree("events", "one column of every kind");
   tree.SetAutoFlush(0);
   Entry entry;
   entry.Branches(tree, basket);
   for (Long64_t e = 0; e < entries; ++e) {
      entry.Set(e);
      entry.Dump(numbers);
      tree.Fill();
   }
   if (embedded)
      gDirectory->WriteTObject(&tree);
   else
      tree.Write();
}
