/// \file readers.h
/// \brief Trees of every type, layout and codec, and a comparison of the two readers.

#ifndef CLADTORCH_TEST_READERS
#define CLADTORCH_TEST_READERS

#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

/// The layout of a file: how many entries, in baskets of how many bytes, with which codec ("algorithm times 100 plus
/// level").
struct Layout {
   int fEntries = 3000;
   int fBasketBytes = 2000;
   int fCompression = 505;
   Long64_t fAutoFlush = -30000000; ///< as TTree::SetAutoFlush has it
};

/// Branches of every kind; the numbers are random, but the same for every layout.
class Fields {
public:
   void Book(TTree &t, int bytes)
   {
      t.Branch("o", &o, "o/O", bytes); t.Branch("b", &b, "b/B", bytes); t.Branch("ub", &ub, "ub/b", bytes);
      t.Branch("s", &s, "s/S", bytes); t.Branch("us", &us, "us/s", bytes); t.Branch("i", &i, "i/I", bytes);
      t.Branch("ui", &ui, "ui/i", bytes); t.Branch("l", &l, "l/L", bytes); t.Branch("ul", &ul, "ul/l", bytes);
      t.Branch("g", &g, "g/G", bytes); t.Branch("ug", &ug, "ug/g", bytes); t.Branch("f", &f, "f/F", bytes);
      t.Branch("d", &d, "d/D", bytes); t.Branch("f16", &f16, "f16/f", bytes); t.Branch("d32", &d32, "d32/d", bytes);
      t.Branch("fixed", fixed, "fixed[3]/F", bytes); t.Branch("flags", flags, "flags[5]/O", bytes);
      t.Branch("matrix", matrix, "matrix[2][2]/D", bytes); t.Branch("pair", &pair, bytes);
      t.Branch("leaves", &leaves, "x/F:m/I:y[2]/D:c/b", bytes);
      t.Branch("n", &n, "n/I", bytes); t.Branch("some", some, "some[n]/D", bytes);
      t.Branch("bytes", bytes_, "bytes[n]/B", bytes);
      t.Branch("vf", &vf, bytes); t.Branch("vd", &vd, bytes); t.Branch("vi", &vi, bytes); t.Branch("vb", &vb, bytes);
      t.Branch("vs", &vs, bytes); t.Branch("vuc", &vuc, bytes); t.Branch("vl", &vl, bytes); t.Branch("rf", &rf, bytes);
      t.Branch("rd", &rd, bytes);
   }

   void Next()
   {
      o = fRandom.Integer(2); b = fRandom.Integer(256); ub = fRandom.Integer(256); s = fRandom.Integer(1 << 16);
      us = fRandom.Integer(1 << 16); i = fRandom.Integer(1u << 31) - (1 << 30); ui = 2 * fRandom.Integer(1u << 31);
      l = i * 4000000007LL; ul = ui * 4000000007ULL; g = -l; ug = ul / 3; f = fRandom.Gaus(); d = fRandom.Gaus() * 1e30;
      f16 = fRandom.Gaus(); d32 = fRandom.Gaus();
      for (auto &x : fixed) x = fRandom.Gaus();
      for (auto &x : flags) x = fRandom.Integer(2);
      for (auto &row : matrix) for (auto &x : row) x = fRandom.Gaus();
      for (auto &x : pair) x = fRandom.Gaus();
      leaves = {f, i, {d, -d}, ub};
      n = fRandom.Integer(8);
      for (int k = 0; k < n; ++k) { some[k] = fRandom.Gaus(); bytes_[k] = k - 3; }
      vf.assign(some, some + n); vd.assign(some, some + n); vb.assign(n, o); vs.assign(n, s); vuc.assign(n, ub);
      vl.assign(fRandom.Integer(3), l); vi.assign(fRandom.Integer(40) == 0 ? 300 : n / 2, i); rf.assign(n, f);
      rd.assign(some, some + n);
   }

   /// Columns that the fast reader must support.
   static void Ask(CladTorch::Dataset &data)
   {
      data.Column("matrix", 4);
      data.Column("fixed", 3).Column("flags", 2).Column("pair", 4, -1).Column("some", 3, -7).Column("bytes", 8);
      data.Column("leaves.x").Column("leaves.m").Column("leaves.y", 2).Column("leaves.c");
      data.Column("vf", 3, 9).Column("vd", 1).Column("vi", 5).Column("vb", 2).Column("vs", 4, 2).Column("vuc", 7);
      data.Column("vl", 1, 3).Column("rf", 2).Column("rd", 8, 0.5);
   }
   static std::vector<std::string> Scalars()
   {
      return {"o", "b", "ub", "s", "us", "i", "ui", "l", "ul", "g", "ug", "f", "d", "n"};
   }

private:
   TRandom3 fRandom{4711};
   bool o, flags[5]; char b, bytes_[8]; unsigned char ub; short s; unsigned short us; int i, n; unsigned int ui;
   Long64_t l; ULong64_t ul; long g; unsigned long ug; float f, fixed[3]; double d, matrix[2][2], some[8];
   Float16_t f16; Double32_t d32; std::array<float, 4> pair;
   struct { float x; int m; double y[2]; unsigned char c; } leaves;
   std::vector<float> vf; std::vector<double> vd; std::vector<int> vi; std::vector<bool> vb; std::vector<short> vs;
   std::vector<unsigned char> vuc; std::vector<Long64_t> vl; ROOT::RVecF rf; ROOT::RVecD rd;
};

inline void WriteFields(const std::string &name, const Layout &layout)
{
   TFile file(name.c_str(), "recreate", "", layout.fCompression);
   TTree t("t", "");
   t.SetAutoFlush(layout.fAutoFlush);
   Fields fields;
   fields.Book(t, layout.fBasketBytes);
   for (int k = 0; k < layout.fEntries; ++k) {
      fields.Next();
      t.Fill();
   }
   t.Write();
}

inline bool SameBits(const CladTorch::FloatView &a, const CladTorch::FloatView &b)
{
   return a.Size() > 0 && a.Rows() == b.Rows() && a.Columns() == b.Columns() &&
          std::memcmp(a.Data(), b.Data(), a.Size() * sizeof(float)) == 0;
}

/// `fill(data)` with each reader; the fast one must support every column if `reader` says so.
template <class Make, class Fill>
bool BothAgree(Make make, Fill fill, CladTorch::EReader reader = CladTorch::kFastReader)
{
   auto fast = make(), slow = make();
   fill(fast.SetReader(reader));
   fill(slow.SetReader(CladTorch::kRootReader));
   return SameBits(fast.Features(), slow.Features()) && SameBits(fast.Labels(), slow.Labels()) &&
          SameBits(fast.Weights(), slow.Weights());
}

inline CladTorch::Dataset AllFields()
{
   CladTorch::Dataset data(Fields::Scalars());
   Fields::Ask(data);
   return data;
}

#endif
