/// \file failing_files.C
/// \brief Files that are truncated, replaced or removed under a reader, and a full disk: an error, or the earlier
/// contents; the dataset keeps its events and says so, the session continues.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"
#include "full_disk.h"
#include "two_columns.h"

#include <TSystem.h>

#include <filesystem>
#include <fstream>
#include <string>

using CladTorch::Dataset;

constexpr int kEntries = 40000;
constexpr int kReplaced = 500000; ///< the first x of a file that takes the place of another

void Write(const char *name, int first)
{
   WriteTwoColumns(name, kEntries, 4000, first);
}

/// With 100 events of an intact file.
Dataset Some(CladTorch::EReader reader)
{
   Dataset data({"x", "y"});
   data.SetReader(reader);
   return data.Add("t", "sound.root", 1, "x < 100");
}

bool HoldsSome(const Dataset &data)
{
   const auto said = Printed(data);
   return data.Rows() == 100 && data.Features()(99, 0) == 99 && said.find("100 events x 2 numbers") == 0 &&
          said.find("100 events from tree 't' of sound.root") != std::string::npos &&
          said.find("moving.root") == std::string::npos;
}

/// Whether all events of moving.root follow: of the first file of that name, or of its replacement, but not of both.
bool HoldsOneFile(const Dataset &data)
{
   const auto x = data.Features();
   bool right = x.Rows() == 100 + kEntries && (x(100, 0) == 1000 || x(100, 0) == kReplaced);
   for (int i = 0; right && i < kEntries; ++i)
      right = x(100 + i, 0) == x(100, 0) + i;
   return right;
}

/// Changes of a file after a data frame has opened it, and whether its events can still be read.
void CheckMoved(const char *what, CladTorch::EReader reader, const std::function<void()> &move, bool refused)
{
   Write("moving.root", 1000);
   ROOT::RDataFrame frame("t", "moving.root");
   CHECK(*frame.Count() == kEntries); // it has looked into the file
   auto data = Some(reader);
   move();
   if (refused) {
      Refuses(what, [&] { data.Add(frame, 0); }, {"moving.root"});
      Refuses(what, [&] { data.Add(frame, 0, "y > 0"); }, {"moving.root"});
      return CHECK(HoldsSome(data));
   }
   bool right = true;
   try {
      right = HoldsOneFile(data.Add(frame, 0));
   } catch (const CladTorch::Error &) {
      right = HoldsSome(data);
   }
   Check(right, what, __FILE__, __LINE__);
}

void CheckMoves(CladTorch::EReader reader)
{
   const auto cut = [] { std::filesystem::resize_file("moving.root", std::filesystem::file_size("moving.root") / 2); };
   CheckMoved("cut in the middle", reader, cut, true);
   CheckMoved("emptied", reader, [] { std::filesystem::resize_file("moving.root", 0); }, true);
   const auto overwrite = [] {
      std::fstream raw("moving.root", std::ios::in | std::ios::out | std::ios::binary);
      raw.seekp(20000);
      raw << std::string(100000, 'x');
   };
   CheckMoved("overwritten", reader, overwrite, true);
   CheckMoved("removed", reader, [] { gSystem->Unlink("moving.root"); }, false);
   const auto replace = [] {
      Write("other.root", kReplaced);
      std::filesystem::rename("other.root", "moving.root");
   };
   CheckMoved("replaced", reader, replace, false);
}

void CheckFullDisk()
{
   CladTorch::FitOptions options;
   options.fVerbose = 0;
   options.fEpochs = 1;
   auto data = Some(CladTorch::kAutoReader);
   CladTorch::Mlp model({2, 64, 64, 1});
   model.Fit(data, options);
   model.Save("model.ct");
   const auto size = std::filesystem::file_size("model.ct");
   const auto before = model.Predict(data);
   model.Fit(data, options);
   {
      const FullDisk full(2000);
      Refuses("model on a full disk", [&] { model.Save("model.ct"); }, {"model.ct", "large"});
   }
   CHECK(std::filesystem::file_size("model.ct") == size && CladTorch::Mlp::Load("model.ct").Predict(data) == before);
   for (const auto &file : std::filesystem::directory_iterator("."))
      CHECK(file.path().extension() != ".tmp");
   CHECK(HoldsSome(data));
   model.Save("model.ct");
}

void failing_files()
{
   Write("sound.root", 0);
   for (const auto reader : {CladTorch::kAutoReader, CladTorch::kRootReader})
      CheckMoves(reader);
   CheckFullDisk();
   ROOT::EnableImplicitMT(2);
   CheckMoves(CladTorch::kRootReader);
   Passed();
}
