/// \file back_to_root.C
/// \brief Tensors back to ROOT: matrices, data frames, friend trees, and the behaviour on a full disk.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"
#include "full_disk.h"

#include <TFile.h>
#include <TMatrixF.h>
#include <TSystem.h>
#include <TTree.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

using CladTorch::Dataset;
using CladTorch::FloatView;
using CladTorch::ToFrame;
using CladTorch::ToMatrix;
using CladTorch::WriteFriend;

constexpr int kEntries = 50000;

void Write()
{
   TFile file("events.root", "recreate");
   TTree tree("t", "");
   float x = 0;
   tree.Branch("x", &x);
   for (int i = 0; i < kEntries; ++i) {
      x = i;
      tree.Fill();
   }
   tree.Write();
}

FloatView Table()
{
   Dataset data({"x", "-x"});
   return data.Add("t", "events.root", 1).Features();
}

void CheckMatrix()
{
   const auto matrix = ToMatrix(Table());
   CHECK(matrix.GetNrows() == kEntries && matrix.GetNcols() == 2);
   CHECK(matrix(7, 0) == 7 && matrix(7, 1) == -7 && matrix(kEntries - 1, 1) == 1 - kEntries);
   const auto list = ToMatrix(std::vector<float>{1, 2, 3});
   CHECK(list.GetNrows() == 3 && list.GetNcols() == 1 && list(2, 0) == 3);
}

void CheckFrame()
{
   std::vector<float> scores(kEntries);
   for (int i = 0; i < kEntries; ++i)
      scores[i] = 0.5f * i;
   auto frame = ToFrame({{"score", scores}, {"row", Table()}});
   CHECK(frame.GetColumnType("score") == "float");
   const auto right = [](float score, const ROOT::RVecF &row, ULong64_t entry) {
      return score == 0.5f * entry && row.size() == 2 && row[0] == entry && row[1] == -row[0];
   };
   CHECK(*frame.Filter(right, {"score", "row", "rdfentry_"}).Count() == kEntries);
   Dataset again({"score"});
   CHECK(again.Column("row", 2).Add(frame, 1).Features()(9, 2) == -9);
}

void CheckFriend()
{
   std::vector<float> scores(kEntries);
   for (int i = 0; i < kEntries; ++i)
      scores[i] = 3 * i;
   TFile file("events.root");
   auto *tree = file.Get<TTree>("t");
   const auto table = Table();
   file.cd();
   std::ofstream("friend.root") << "an older file";
   WriteFriend(*tree, "friend.root", {{"score", scores}, {"row", table}});
   CHECK(gDirectory == &file);
   tree->AddFriend("cladtorch", "friend.root");
   CHECK(tree->GetEntries("score == 3 * x && row[0] == x && row[1] == -x") == kEntries);
   Dataset both({"x", "score"});
   CHECK(both.Add(tree, 1).Features()(77, 1) == 3 * 77);
   WriteFriend(*tree, "other.root", {{"score", scores}}, "mine");
   CHECK(std::make_unique<TFile>("other.root")->Get<TTree>("mine")->GetEntries() == kEntries);
}

/// Files of this folder whose names contain `part`.
int Files(const char *part)
{
   int count = 0;
   void *folder = gSystem->OpenDirectory(".");
   while (const char *name = gSystem->GetDirEntry(folder))
      count += std::string(name).find(part) != std::string::npos;
   gSystem->FreeDirectory(folder);
   return count;
}

/// Predictions of several outputs come as one list.
void CheckReshape()
{
   std::vector<float> numbers(2 * kEntries);
   for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = i;
   const auto rows = CladTorch::FloatView(numbers).Reshape(2);
   CHECK(rows.Rank() == 2 && rows.Rows() == kEntries && rows.Columns() == 2 && rows(7, 1) == 15);
   CHECK(rows.Reshape(1).Rows() == 2 * kEntries && rows.Reshape(2 * kEntries)(0, 15) == 15);
   auto frame = ToFrame({{"scores", rows}});
   CHECK(*frame.Filter([](const ROOT::RVecF &s, ULong64_t i) { return s.size() == 2 && s[1] == 2 * i + 1; }, {"scores", "rdfentry_"})
             .Count() == kEntries);
   for (const std::size_t columns : {0, 3, 4 * kEntries})
      Refuses("rows that are not full", [&] { CladTorch::FloatView(numbers).Reshape(columns); },
              {"do not fill rows of"});
   TFile file("events.root");
   Refuses("predictions of two outputs", [&] { WriteFriend(*file.Get<TTree>("t"), "few.root", {{"score", numbers}}); },
           {"'score'", "2 numbers of each event", "Reshape(2)"});
}

void CheckErrors()
{
   TFile file("events.root");
   auto *tree = file.Get<TTree>("t");
   const std::vector<float> few(10), all(kEntries);
   Refuses("other rows than the tree", [&] { WriteFriend(*tree, "few.root", {{"score", few}}); },
           {"'score'", "10 rows", "'t'", "50000", "without a cut"});
   Refuses("no columns", [&] { WriteFriend(*tree, "few.root", {}); }, {"without columns"});
   Refuses("folder that is not there", [&] { WriteFriend(*tree, "nowhere/f.root", {{"score", all}}); }, {"nowhere/f.root"});
   Refuses("the tree's own file", [&] { WriteFriend(*tree, tree->GetCurrentFile()->GetName(), {{"score", all}}); },
           {"itself", "a file of its own"});
   Refuses("no file name", [&] { WriteFriend(*tree, "/", {{"score", all}}); }, {"names no file"});
   Refuses("frame of different lengths", [&] { ToFrame({{"a", few}, {"b", all}}); }, {"'b'", "'a' has 10"});
   Refuses("frame without columns", [] { ToFrame({}); }, {"without columns"});
   for (const char *name : {"a b", "", "x[3]/D", "x.y", "1st", "x-y", "gr\xc3\xb6\xc3\x9f"}) {
      Refuses("a column of a frame", [&] { ToFrame({{name, few}}); }, {"is not a valid column name", name});
      Refuses("a column of a friend", [&] { WriteFriend(*tree, "few.root", {{name, all}}); }, {"is not a valid column name", name});
   }
   for (const char *name : {"", "a/b", "a;1"})
      Refuses("a friend's name", [&] { WriteFriend(*tree, "few.root", {{"ok", all}}, name); }, {"is not a valid tree name", name});
   Refuses("no name of a file", [&] { WriteFriend(*tree, "", {{"ok", all}}); }, {"the name of the file is empty"});
   CHECK(!std::ifstream("few.root").good());

   std::ofstream("kept.root") << "as it was";
   std::vector<float> noise(kEntries);
   for (int i = 0; i < kEntries; ++i)
      noise[i] = std::sin(1e4 * i); // does not compress
   {
      const FullDisk full(100000);
      Refuses("full disk", [&] { WriteFriend(*tree, "kept.root", {{"score", noise}}); }, {"kept.root", "space"});
   }
   std::ifstream kept("kept.root");
   std::string text((std::istreambuf_iterator<char>(kept)), {});
   CHECK(text == "as it was");
   CHECK(Files(".tmp") == 0);
   Refuses("a name that steers a terminal", [] { Dataset({"x"}).Add("t\x1b[2J\x07\nError", "events.root", 1); },
           {"t\\u{1b}[2J\\u{7}\n   Error"});
   WriteFriend(*tree, "kept.root", {{"score", noise}});
   CHECK(std::make_unique<TFile>("kept.root")->Get<TTree>("cladtorch")->GetEntries() == kEntries);
}

/// A file at the path is replaced only if it is a regular one with write permission, and passes its mode on.
void CheckPlaces()
{
   namespace fs = std::filesystem;
   TFile file("events.root");
   auto *tree = file.Get<TTree>("t");
   const auto write = [&](const char *path) { WriteFriend(*tree, path, {{"score", std::vector<float>(kEntries)}}); };
   CHECK(mkfifo("pipe.root", 0600) == 0);
   fs::create_symlink("pipe.root", "to_pipe.root");
   Refuses("a pipe", [&] { write("pipe.root"); }, {"pipe.root", "a named pipe"});
   Refuses("a link to a pipe", [&] { write("to_pipe.root"); }, {"to_pipe.root", "a named pipe"});
   CHECK(fs::is_fifo("pipe.root") && fs::is_symlink("to_pipe.root"));
   fs::create_directory("folder.root");
   Refuses("a folder", [&] { write("folder.root"); }, {"folder.root", "a folder"});
   std::ofstream("protected.root") << "as it was";
   fs::permissions("protected.root", fs::perms(0444));
   Refuses("a file without write permission", [&] { write("protected.root"); }, {"protected.root", "read-only"});
   CHECK(fs::file_size("protected.root") == 9);
   std::ofstream("private.root") << "as it was";
   fs::permissions("private.root", fs::perms(0600));
   fs::create_symlink("private.root", "to_private.root");
   write("to_private.root");
   CHECK(fs::is_symlink("to_private.root") && fs::status("private.root").permissions() == fs::perms(0600));
   CHECK(std::make_unique<TFile>("private.root")->Get<TTree>("cladtorch")->GetEntries() == kEntries);
   CHECK(Files(".tmp") == 0);
}

void back_to_root()
{
   Write();
   CheckMatrix();
   CheckFrame();
   CheckFriend();
   CheckReshape();
   CheckErrors();
   CheckPlaces();
   ROOT::EnableImplicitMT(2);
   CheckFrame();
   CheckFriend();
   Passed();
}
