/// \file readers.C
/// \brief The fast reader gives the same bits as ROOT's, for every type, layout and codec; it names the columns that it
/// leaves to ROOT.
///
/// The files stay: readers_uproot.py reads them again.

R__LOAD_LIBRARY(libcladtorch)
#include "readers.h"

#include <TChain.h>
#include <TClonesArray.h>
#include <TEntryList.h>
#include <TMemFile.h>
#include <TROOT.h>
#include <TSystem.h>
#include <TVector3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

using CladTorch::Dataset;

void CheckLayouts()
{
   for (const int compression : {0, 101, 207, 301, 404, 505}) {
      const auto name = "codec" + std::to_string(compression) + ".root";
      WriteFields(name, {3000, 2000, compression, -30000000});
      Check(BothAgree(AllFields, [&](Dataset &data) { data.Add({"t", name}, 1); }), name.c_str(), __FILE__, __LINE__);
   }
   const Layout layouts[] = {{1, 2000, 505, 0}, {7, 100, 404, 0}, {5000, 64000, 404, 1000}, {20000, 32000, 101, 777}};
   for (const auto &layout : layouts) {
      const auto name = "layout" + std::to_string(layout.fEntries) + ".root";
      WriteFields(name, layout);
      CHECK(BothAgree(AllFields, [&](Dataset &data) { data.Add({"t", name}, "n"); }));
   }
}

/// Baskets beyond 16 MiB are compressed in several blocks.
void CheckLargeBaskets()
{
   for (const int compression : {0, 101, 404, 505}) {
      const auto name = "large" + std::to_string(compression) + ".root";
      TFile file(name.c_str(), "recreate", "", compression);
      TTree t("t", "");
      t.SetAutoFlush(0);
      double x;
      int n;
      float v[4];
      t.Branch("x", &x, "x/D", 40000000);
      t.Branch("n", &n);
      t.Branch("v", v, "v[n]/F", 60000000);
      for (int i = 0; i < 2500000; ++i) {
         x = i % 1000;
         n = i % 4;
         for (int k = 0; k < n; ++k)
            v[k] = i + k;
         t.Fill();
      }
      t.Write();
      CHECK(t.GetBranch("x")->GetBasketBytes()[0] > 0 && t.GetBranch("x")->GetWriteBasket() == 1);
      file.Close();
      CHECK(BothAgree([] { return Dataset({"x"}).Column("v", 2, -1); },
                      [&](Dataset &data) { data.Add({"t", name}, 1); }));
   }
}

constexpr int kPlain = 60000;

/// Many columns of plain float32, whose baskets end at different entries: with compressible numbers, except two that
/// are not finite if `bad`, or with arbitrary bits after more and more zeros.
enum class Numbers { kSound, kBad, kRandomBits };

std::string WritePlain(int compression, Numbers kind)
{
   const char *kinds[] = {"plain", "infinite", "random"};
   const auto name = kinds[static_cast<int>(kind)] + std::to_string(compression) + ".root";
   TFile file(name.c_str(), "recreate", "", compression);
   TTree t("t", "");
   t.SetAutoFlush(0);
   std::array<float, 19> f;
   int n;
   for (int k = 0; k < 19; ++k)
      t.Branch(Form("f%d", k), &f[k], Form("f%d/F", k), 4000 + 1397 * k);
   t.Branch("n", &n, "n/I", 3000);
   TRandom3 random(7);
   for (n = 0; n < kPlain; ++n) {
      for (auto &x : f) {
         const auto bits = random.Integer(0xffffffff) & (n % 3000 < n / 600 ? 0 : 0xff7fffff);
         std::memcpy(&x, &bits, sizeof x);
         if (kind != Numbers::kRandomBits)
            x = bits % 1000 / 8.;
      }
      if (kind == Numbers::kBad && n == 35700)
         f[17] = f[3] = -INFINITY;
      if (kind == Numbers::kBad && n == 35701)
         f[0] = NAN;
      t.Fill();
   }
   t.Write();
   return name;
}

Dataset Plain()
{
   return Dataset({"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f9", "n", "f11", "f12", "f13", "f15", "f17", "f18"});
}

/// Only columns of plain float32, one after the other.
Dataset Plainest()
{
   return Dataset({"f18", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f9"});
}

/// All batches of a stream, one after the other.
std::vector<float> Batches(Dataset data, CladTorch::EReader reader, const std::string &name, const char *cut)
{
   data.SetReader(reader);
   CladTorch::FitOptions options;
   options.fBatchSize = 1000;
   const auto stream = data.Stream().Add("t", name, "f10", cut).SetWindow(7000).SetBuffer(5000);
   std::vector<float> all;
   for (auto batches = stream.Batches(options); batches.Next();)
      for (const auto &view : {batches.Features(), batches.Labels()})
         all.insert(all.end(), view.Data(), view.Data() + view.Size());
   return all;
}

void CheckPlainFloats()
{
   for (const int compression : {0, 101, 404, 505})
      for (const auto kind : {Numbers::kSound, Numbers::kRandomBits}) {
         const auto name = WritePlain(compression, kind);
         for (const char *cut : {"", "n >= 123 && n < 47777", "n % 3 == 0", "n % 20000 > 19000", "n == 59999"}) {
            CHECK(BothAgree(Plain, [&](Dataset &data) { data.Add({"t", name}, "n", cut); }));
            CHECK(BothAgree([] { return Plainest().SetWeight("n"); }, [&](Dataset &data) { data.Add({"t", name}, 1, cut); }));
         }
         if (kind == Numbers::kSound && !ROOT::IsImplicitMTEnabled())
            for (const char *cut : {"", "f8 < 100"}) {
               const auto fast = Batches(Plainest(), CladTorch::kAutoReader, name, cut);
               CHECK(fast == Batches(Plainest(), CladTorch::kRootReader, name, cut) && fast.size() > 10 * kPlain / 2);
            }
      }
   for (const int compression : {0, 404, 505})
      WritePlain(compression, Numbers::kBad);
   // Compressed, but with a key as long as the numbers, as if it were not.
   TFile file("random101.root");
   auto *tree = file.Get<TTree>("t");
   std::set<Long64_t> keys;
   for (const char *name : {"f6", "f9", "f18"}) {
      auto *branch = tree->GetBranch(name);
      for (int i = 0; i + 1 < branch->GetWriteBasket(); ++i)
         keys.insert(branch->GetBasketBytes()[i] - 4 * (branch->GetBasketEntry()[i + 1] - branch->GetBasketEntry()[i]));
   }
   CHECK(keys.size() > 3 && std::any_of(keys.begin(), keys.end(), [&](auto key) { return key >= 0 && key < *keys.rbegin(); }));
}

/// A faulty basket that is read directly to the place of its numbers.
void CheckDamagedPlain()
{
   std::filesystem::copy_file("plain0.root", "damaged.root");
   Long64_t seek;
   {
      TFile file("damaged.root");
      seek = file.Get<TTree>("t")->GetBranch("f9")->GetBasketSeek(2);
   }
   std::fstream raw("damaged.root", std::ios::in | std::ios::out | std::ios::binary);
   raw.seekp(seek + 20); // in the key: where it lies
   raw << 'x';
   raw.close();
   Refuses("a damaged basket", [] { Plain().SetReader(CladTorch::kFastReader).Add({"t", "damaged.root"}, 1); },
           {"damaged.root", "basket 2 of branch 'f9'", "entries", "its key"});
   std::filesystem::remove("damaged.root");
}

/// A tree in memory that is only read: ROOT's reader has it.
void CheckMemoryFile()
{
   TMemFile written("memory.root", "recreate");
   float x = 1;
   TTree t("t", "");
   t.Branch("x", &x);
   t.Fill();
   t.Write();
   written.Write();
   std::vector<char> bytes(written.GetSize());
   written.CopyTo(bytes.data(), bytes.size());
   TMemFile read("memory.root", TMemFile::ZeroCopyView_t(bytes.data(), bytes.size()));
   CHECK(Dataset({"x"}).Add(read.Get<TTree>("t"), 1).Features()(0, 0) == 1);
}

/// Lists padded so far that a basket is decoded piece by piece, and rows wider than the part that is laid out at a
/// time.
void CheckWidePadding()
{
   {
      TFile file("wide.root", "recreate");
      TTree t("t", "");
      int n;
      float v[4], x[2];
      t.Branch("n", &n);
      t.Branch("v", v, "v[n]/F");
      t.Branch("x", x, "x[2]/F");
      for (int i = 0; i < 900; ++i) {
         n = i % 4;
         for (int k = 0; k < n; ++k)
            v[k] = i + k;
         x[0] = x[1] = i;
         t.Fill();
      }
      t.Write();
   }
   for (const int length : {3, 12000, 17000})
      CHECK(BothAgree([&] { return Dataset({"n"}).Column("x", 2).Column("v", length, -1); },
                      [](Dataset &data) { data.Add({"t", "wide.root"}, 1).Add({"t", "wide.root"}, 1, "n == 2"); }));
}

void CheckSources()
{
   WriteFields("a.root", {5000, 3000, 505, 900});
   WriteFields("b.root", {1, 32000, 404, 0});
   WriteFields("c.root", {3001, 8000, 101, 1100});
   TChain chain("t");
   for (const char *file : {"a.root", "b.root", "c.root"})
      chain.Add(file);
   CHECK(BothAgree(AllFields, [&](Dataset &data) { data.Add(chain, "i"); }));
   CHECK(BothAgree(AllFields, [&](Dataset &data) { data.Add(ROOT::RDataFrame(chain), 1); }));
   CHECK(BothAgree([] { return AllFields().SetWeight("f"); }, [&](Dataset &data) { data.Add({"t", "[abc].root"}, 1); }));
   // Rows that a cut, a filter or a range leaves, the columns still by the fast reader.
   for (const char *cut : {"i > 0", "n == 7 && f > 2", "us % 1000 < 3", "f > 2.5"})
      CHECK(BothAgree(AllFields, [&](Dataset &data) { data.Add(chain, "i", cut); }));
   CHECK(BothAgree(AllFields, [&](Dataset &data) {
      data.Add(ROOT::RDataFrame("t", "c.root").Filter("d > 0").Filter("n % 2 == 1"), 1);
   }));
   if (!ROOT::IsImplicitMTEnabled())
      CHECK(BothAgree(AllFields, [&](Dataset &data) { data.Add(ROOT::RDataFrame(chain).Range(4990, 5010, 3), 1); }));
   // Two sources in one dataset, the second smaller than the first.
   CHECK(BothAgree(AllFields, [&](Dataset &data) { data.Add(chain, 1).Add({"t", "b.root"}, 0).Add(chain, 2, "o"); }));
   TFile file("a.root");
   CHECK(BothAgree(AllFields, [&](Dataset &data) { data.Add(file.Get<TTree>("t"), 1); }));
}

/// Columns for both readers in one source.
void CheckMixtures()
{
   const auto mixed = [] {
      return Dataset({"f", "f16", "d", "d32", "f * d"}).Column("fixed", 2).Column("vi", 3).Column("leaves.y", 2);
   };
   TChain chain("t");
   chain.Add("a.root");
   chain.Add("c.root");
   for (const char *cut : {"", "i > 0", "us % 1000 < 3"})
      CHECK(BothAgree(mixed, [&](Dataset &data) { data.Add(chain, "ub", cut); }, CladTorch::kAutoReader));
   CHECK(BothAgree([] { return Dataset({"f", "g2"}); },
                   [&](Dataset &data) { data.Add(ROOT::RDataFrame(chain).Define("g2", "2.0 * n"), 1); },
                   CladTorch::kAutoReader));
   mixed().Add(chain, 1).Print();
}

/// A basket inside the tree, and the members of objects: ROOT reads them, and Print() tells why.
void CheckLeftToRoot()
{
   {
      TFile file("left.root", "recreate");
      TTree embedded("embedded", ""), split("split", "");
      TClonesArray tracks("TVector3");
      float x = 0;
      embedded.Branch("x", &x);
      split.Branch("tracks", &tracks, 32000, 99);
      for (x = 0; x < 100; ++x) {
         tracks.Clear();
         new (tracks[0]) TVector3(x, 0, 0);
         embedded.Fill();
         split.Fill();
      }
      file.WriteTObject(&embedded); // without its Write(), which would put the basket into the file
      split.Write();
   }
   Dataset embedded({"x"}), members;
   members.Column("tracks.fX", 1);
   for (auto *data : {&embedded.Add({"embedded", "left.root"}, 1), &members.Add({"split", "left.root"}, 1)}) {
      data->Print();
      CHECK(data->Rows() == 100 && data->Features()(99, 0) == 99);
   }
   gSystem->Unlink("left.root"); // not for readers_uproot.py
}

/// Files that come with ROOT: trees of today and, in the second file, of its first years ("CS", a basket inside the
/// tree).
void CheckTutorials()
{
   const std::string folder = TROOT::GetTutorialDir().Data();
   const auto higgs = folder + "/machine_learning/data/Higgs_data.root";
   CHECK(BothAgree([] { return Dataset({"jet1_pt", "m_bb", "m_wwbb", "jet1_b-tag"}); },
                   [&](Dataset &data) { data.Add({"sig_tree", higgs}, 1).Add({"bkg_tree", higgs}, 0, "m_bb > 1"); },
                   CladTorch::kAutoReader));
   const auto old = folder + "/legacy/mlp/mlpHiggs.root";
   CHECK(BothAgree([] { return Dataset({"ptsumf", "qelep", "nch", "msumf"}); },
                   [&](Dataset &data) { data.Add({"bg_filtered", old}, 1).Add({"sig_filtered", old}, 1); },
                   CladTorch::kAutoReader));
}

/// Columns that the fast reader does not support, with the reason.
void CheckReasons()
{
   const auto fast = [](std::vector<std::string> columns) { return Dataset(columns).SetReader(CladTorch::kFastReader); };
   const auto from = [](Dataset data) { data.Add({"t", "a.root"}, 1); };
   Refuses("Float16_t", [&] { from(fast({"f16"})); }, {"'f16'", "TLeafF16", "SetReader"});
   Refuses("Double32_t", [&] { from(fast({"d", "d32"})); }, {"'d32'", "TLeafD32"});
   Refuses("expression", [&] { from(fast({"f + d"})); }, {"'f + d'", "an expression"});
   Refuses("defined column", [&] { fast({"z"}).Add(ROOT::RDataFrame("t", "a.root").Define("z", "f"), 1); },
           {"'z'", "defined in the data frame"});
   Refuses("no tree", [&] { fast({"z"}).Add(ROOT::RDataFrame(3).Define("z", "1.f"), 1); }, {"'z'"});
   TChain twice("t");
   twice.Add("b.root");
   twice.Add("b.root");
   Refuses("a file twice", [&] { fast({"f"}).Add(twice, 1); }, {"a file twice"});
   TFile file("a.root");
   auto *tree = file.Get<TTree>("t");
   TEntryList list("list", "", tree);
   list.Enter(3, tree);
   tree->SetEntryList(&list);
   Refuses("entry list", [&] { fast({"f"}).Add(tree, 1); }, {"entry list"});
   tree->SetEntryList(nullptr);
   TTree friends("friends", "");
   friends.AddFriend(tree);
   float x = 1;
   friends.SetDirectory(nullptr);
   friends.Branch("x", &x);
   friends.Fill();
   Refuses("memory", [&] { fast({"x"}).Add(friends, 1); }, {"'x'", "memory"});
   TFile writing("writing.root", "recreate");
   TTree open("open", "");
   open.Branch("x", &x);
   open.Fill();
   open.Write();
   Refuses("being written", [&] { fast({"x"}).Add(open, 1); }, {"'x'", "being written"});
   CHECK(Dataset({"x"}).Add(open, 1).Features()(0, 0) == 1);
}

/// Numbers that are not finite: the same message from both readers, and none about events that are cut away.
void CheckBadValues()
{
   {
      TFile file("bad.root", "recreate");
      TTree t("t", "");
      double x;
      int n;
      t.Branch("x", &x, "x/D", 2000);
      t.Branch("n", &n, "n/I", 2000);
      for (n = 0; n < 1000; ++n) {
         x = n == 700 ? 1e300 : n == 701 ? NAN : n;
         t.Fill();
      }
      t.Write();
   }
   for (const auto reader : {CladTorch::kFastReader, CladTorch::kRootReader}) {
      Dataset data({"n", "x"});
      data.SetReader(reader);
      Refuses("not finite", [&] { data.Add({"t", "bad.root"}, 1); },
              {"column 'x' holds 1", "e+300 in entry 700 of bad.root", "2 events with such values", "remove these events"});
      Refuses("not finite after a cut", [&] { data.Add({"t", "bad.root"}, 1, "n != 700"); },
              {"column 'x' holds nan in entry 701 of bad.root", "1 event with such values"});
      CHECK(data.Rows() == 0);
      CHECK(data.Add({"t", "bad.root"}, 1, "n < 700 || n > 701").Rows() == 998);
      for (const std::string name : {"infinite0.root", "infinite404.root", "infinite505.root"}) {
         auto plain = Plain();
         plain.SetReader(reader);
         const auto first = "column 'f3' holds -inf in entry 35700 of " + name;
         for (const char *cut : {"", "n % 2 == 0", "n > 5000 && n < 35701"})
            Refuses("an infinite number", [&] { plain.Add({"t", name}, 1, cut); },
                    {first.c_str(), *cut ? "1 event with" : "2 events with"});
         Refuses("no number", [&] { plain.Add({"t", name}, 1, "n > 35700"); }, {"column 'f0' holds", "nan in entry 35701"});
         CHECK(plain.Rows() == 0 && plain.Add({"t", name}, 1, "abs(n - 35700.5) > 1").Rows() == kPlain - 2);
      }
   }
}

void readers(bool threads = false)
{
   if (threads)
      ROOT::EnableImplicitMT(4);
   CheckLayouts();
   CheckLargeBaskets();
   CheckPlainFloats();
   CheckDamagedPlain();
   if (!threads) // which open the file again, by its name
      CheckMemoryFile();
   CheckWidePadding();
   CheckSources();
   CheckMixtures();
   CheckLeftToRoot();
   CheckTutorials();
   CheckReasons();
   CheckBadValues();
   Passed();
}
