/// \file described.C
/// \brief A tree of a local file whose own description suffices is read without ROOT: every name of every tree, in
///        every shape and place, gives the same bits as through a data frame, or the same words of refusal.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"
#include "described.h"

#include <TBranch.h>
#include <TFile.h>
#include <TKey.h>
#include <TLeaf.h>
#include <TNtuple.h>
#include <TParameter.h>
#include <TROOT.h>
#include <TTree.h>
#include <TVector3.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <set>

using CladTorch::Dataset;
using CladTorch::Source;

constexpr int kEntries = 50;

/// Branches of all kinds of leaves, and of names that may mean something else.
void FillKinds(TTree &t)
{
   float f, fixed[3], two[2][2], some[4];
   double d;
   int i, n;
   unsigned int u;
   Long64_t l;
   Short_t s;
   bool b;
   Char_t c;
   UChar_t uc;
   Float16_t f16;
   char text[8] = "text";
   struct {
      float x, y;
   } pair;
   std::vector<float> vf;
   std::vector<double> vd;
   std::vector<int> vi;
   std::vector<bool> vb;
   ROOT::RVecF rvec;
   TVector3 vector;
   t.Branch("f", &f, "f/F", 200);
   t.Branch("d", &d, "d/D");
   t.Branch("i", &i, "i/I");
   t.Branch("u", &u, "u/i");
   t.Branch("l", &l, "l/L");
   t.Branch("s", &s, "s/S");
   t.Branch("b", &b, "b/O");
   t.Branch("c", &c, "c/B");
   t.Branch("uc", &uc, "uc/b");
   t.Branch("f16", &f16, "f16/f");
   t.Branch("text", text, "text/C");
   t.Branch("fixed", fixed, "fixed[3]/F");
   t.Branch("two", two, "two[2][2]/F");
   t.Branch("n", &n, "n/I");
   t.Branch("some", some, "some[n]/F");
   t.Branch("pair", &pair, "x/F:y/F");
   t.Branch("y", &d, "y/D");          // also a leaf of `pair`
   t.Branch("other", &f, "name/F");   // leaf of another name
   t.Branch("others", fixed, "named[3]/F");
   t.Branch("1st", &f, "1st/F");      // no name in C++
   t.Branch("a.b", &f, "a.b/F");
   t.Branch("rdfentry_", &f, "rdfentry_/F"); // the data frame has one of its own
   t.Branch("vf", &vf);
   t.Branch("vd", &vd);
   t.Branch("vi", &vi);
   t.Branch("vb", &vb);
   t.Branch("rvec", &rvec);
   t.Branch("vector", &vector);
   t.Branch("fX", &f, "fX/F"); // also a part of `vector`
   for (int k = 0; k < kEntries; ++k) {
      f = 0.5f * k;
      d = f16 = 1. / (k + 1);
      i = n = k % 4;
      u = 4000000000u + k;
      l = -k;
      s = -k;
      b = k % 2;
      c = -k;
      uc = 200 + k % 50;
      pair = {2.f * k, 3.f * k};
      for (int m = 0; m < 4; ++m)
         fixed[m % 3] = two[m / 2][m % 2] = some[m] = 10 * k + m;
      vf.assign(some, some + n);
      vd.assign(some, some + n);
      vi.assign(some, some + n);
      vb.assign(n, true);
      rvec.assign(some, some + n);
      vector.SetXYZ(k, 2 * k, 3 * k);
      t.Fill();
   }
}

void FillNumbers(TTree &t, int entries, float last)
{
   float x, y;
   t.Branch("x", &x, "x/F");
   t.Branch("y", &y, "y/F");
   for (int k = 0; k < entries; ++k) {
      x = k == entries - 1 ? last : k;
      y = k % 2;
      t.Fill();
   }
}

/// A tree `t` in a file `name`, filled by `fill`.
void Write(const char *name, const std::function<void(TTree &)> &fill)
{
   TFile file(name, "recreate");
   TTree t("t", "");
   fill(t);
   t.Write();
}

void WriteFiles()
{
   Write("kinds.root", FillKinds);
   Write("empty.root", [](TTree &t) { FillNumbers(t, 0, 0); });
   Write("nan.root", [](TTree &t) { FillNumbers(t, kEntries, std::numeric_limits<float>::quiet_NaN()); });
   Write("friend.root", [](TTree &t) {
      FillNumbers(t, kEntries, 1);
      t.AddFriend("other = t", "kinds.root");
      t.SetAlias("twice", "x * 2");
      t.SetAlias("y", "x");
   });
   Write("twice.root", [](TTree &t) { // two branches of one name
      FillNumbers(t, kEntries, 1);
      float other = 5;
      auto *branch = t.Branch("x", &other, "x/F");
      for (int k = 0; k < kEntries; ++k)
         branch->Fill();
   });
   Write("cycles.root", [](TTree &t) { // two cycles, the newer one longer
      FillNumbers(t, 10, 1);
      t.Write();
      float x, y;
      t.SetBranchAddress("x", &x);
      t.SetBranchAddress("y", &y);
      for (int k = 0; k < 10; ++k) {
         x = y = k;
         t.Fill();
      }
   });
   TFile file("named.root", "recreate");
   TTree shadowed("t", "");
   FillNumbers(shadowed, 10, 1);
   shadowed.Write();
   TParameter<int>("t", 3).Write(); // a newer object of another class
   file.mkdir("folder")->cd();
   TNtuple ntuple("events", "", "x:y");
   for (int k = 0; k < kEntries; ++k)
      ntuple.Fill(k, k % 2);
   ntuple.Write();
}

/// A way to request a column.
struct Request {
   const char *fText;
   std::function<Dataset(const std::string &)> fData;
   std::function<CladTorch::Label(const std::string &)> fLabel;
};

std::vector<Request> Requests()
{
   const auto one = [](const std::string &) { return CladTorch::Label(1); };
   return {{"scalar", [](const std::string &name) { return Dataset({name}); }, one},
           {"list of 1", [](const std::string &name) { return Dataset().Column(name, 1, -1); }, one},
           {"list of 3", [](const std::string &name) { return Dataset().Column(name, 3, -1); }, one},
           {"mask", [](const std::string &name) { return Dataset().Column(name, 2).Mask(name); }, one},
           {"shape", [](const std::string &name) { return Dataset().Column(name, {2, 2}); }, one},
           {"label", [](const std::string &) { return Dataset({"f"}); }, [](const std::string &name) { return name; }},
           {"weight", [](const std::string &name) { return Dataset({"f"}).SetWeight(name); }, one},
           {"fast", [](const std::string &name) { return Dataset({name}).SetReader(CladTorch::kFastReader); }, one}};
}

Outcome Read(const Request &request, const std::string &name, const Source &source)
{
   return OutcomeOf([&] { return request.fData(name).Add(source, request.fLabel(name)); });
}

void CollectNames(const TObjArray &branches, std::set<std::string> &names)
{
   for (auto *branch : TRangeDynCast<TBranch>(branches)) {
      names.insert({branch->GetName(), branch->GetFullName().Data()});
      for (auto *leaf : TRangeDynCast<TLeaf>(*branch->GetListOfLeaves()))
         names.insert({leaf->GetName(), std::string(branch->GetName()) + "." + leaf->GetName()});
      CollectNames(*branch->GetListOfBranches(), names);
   }
}

/// Names that a user might give: branches and leaves of all depths, and names of nothing.
std::set<std::string> Names(const std::string &tree, const std::string &path)
{
   std::set<std::string> names{"none", "twice", "rdfslot_"};
   TFile file(path.c_str());
   if (auto *t = file.Get<TTree>(tree.c_str()))
      CollectNames(*t->GetListOfBranches(), names);
   return names;
}

/// How often the description sufficed, and how often the two ways then differ.
struct Tally {
   int fDescribed = 0, fByRoot = 0, fWrong = 0;
};

void Compare(const std::string &tree, const std::string &path, Tally &tally, const std::set<std::string> &names)
{
   for (const auto &name : names)
      for (const auto &request : Requests()) {
         const auto described = Read(request, name, {tree, path});
         if (!described.fWithoutRoot) { // through the same data frame as below
            ++tally.fByRoot;
            continue;
         }
         ++tally.fDescribed;
         const auto byRoot = Read(request, name, ROOT::RDataFrame(tree, path));
         if (described.SameNumbers(byRoot) && described.fText == byRoot.fText)
            continue;
         ++tally.fWrong;
         std::printf("DIFFERENT %s of %s in %s as %s: %zu numbers '%s', by ROOT %zu '%s'\n", name.c_str(), tree.c_str(),
                     path.c_str(), request.fText, described.fNumbers.size(), described.fText.c_str(),
                     byRoot.fNumbers.size(), byRoot.fText.c_str());
      }
}

void CompareOwn()
{
   Tally tally;
   for (const char *name : {"kinds.root", "friend.root", "twice.root", "cycles.root", "nan.root", "empty.root"})
      Compare("t", name, tally, Names("t", name));
   Compare("folder/events", "named.root", tally, Names("folder/events", "named.root"));
   std::printf("own files: %d without ROOT, %d by ROOT\n", tally.fDescribed, tally.fByRoot);
   CHECK(tally.fWrong == 0 && tally.fDescribed > 60 && tally.fByRoot > 200);
}

void CompareTutorials()
{
   Tally tally;
   for (const auto &entry : std::filesystem::recursive_directory_iterator(TROOT::GetTutorialDir().Data())) {
      if (entry.path().extension() != ".root")
         continue;
      const auto path = entry.path().string();
      TFile file(path.c_str());
      for (auto *key : TRangeDynCast<TKey>(file.GetListOfKeys()))
         if (key && std::string(key->GetClassName()) == "TTree") {
            auto names = Names(key->GetName(), path);
            constexpr int kMost = 8;
            if (names.size() > kMost)
               names.erase(std::next(names.begin(), kMost), names.end());
            Compare(key->GetName(), path, tally, names);
         }
   }
   std::printf("tutorials: %d without ROOT, %d by ROOT\n", tally.fDescribed, tally.fByRoot);
   CHECK(tally.fWrong == 0 && tally.fDescribed > 20);
}

/// Whether reading `data` from `source` leaves the file to the description.
bool WithoutRoot(Dataset data, const Source &source, const CladTorch::Label &label, const std::string &cut = "")
{
   const auto before = TFile::GetFileReadCalls();
   data.Add(source, label, cut);
   return TFile::GetFileReadCalls() == before;
}

void CheckWhoReads()
{
   const Source kinds("t", "kinds.root");
   CHECK(WithoutRoot(Dataset({"f", "d", "i", "l", "b"}).Column("fixed", 3).Column("vf", 2).SetWeight("d"), kinds, "i"));
   CHECK(WithoutRoot(Dataset({"x"}), {"folder/events", "named.root"}, "y"));
   CHECK(!WithoutRoot(Dataset({"f"}), kinds, "i", "f >= 0"));
   CHECK(!WithoutRoot(Dataset({"f"}).SetReader(CladTorch::kRootReader), kinds, "i"));
   CHECK(!WithoutRoot(Dataset({"f"}).SetWeight([](float f) { return f; }, {"f"}), kinds, "i"));
   CHECK(!WithoutRoot(Dataset({"f"}), {"t", "kind*.root"}, "i"));
   CHECK(!WithoutRoot(Dataset({"f * d"}), kinds, "i"));
   Refuses("a tree under the name of a newer object", [] { Dataset({"x"}).Add({"t", "named.root"}, 1); }, {"no tree 't'"});
}

/// ROOT's reader does not find the count of an array that is named by branch and leaf.
void CheckLongNames()
{
   const auto first = [](const std::string &name, const Source &source) {
      const auto numbers = CladTorch::Jagged<float>::Read(source, name).Values();
      return std::vector<float>(numbers.begin(), numbers.end());
   };
   const ROOT::RDataFrame frame("t", "kinds.root");
   CHECK(first("some.some", frame) == first("some", frame) && !first("some", frame).empty());
   Dataset masked, plain;
   masked.Column("some.some", 3).Mask("some.some").Add(frame, 1);
   plain.Column("some", 3).Mask("some").Add(frame, 1);
   CHECK(std::equal(masked.Features().begin(), masked.Features().end(), plain.Features().begin()));
   Refuses("a cut on such a name", [&] { Dataset({"f"}).Add(frame, 1, "Sum(some.some) > 0"); }, {"'some.some'", "'some'"});
}

void described()
{
   WriteFiles();
   CheckWhoReads();
   CheckLongNames();
   CompareOwn();
   CompareTutorials();
   Passed();
}
