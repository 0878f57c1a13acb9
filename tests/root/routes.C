/// \file routes.C
/// \brief Every kind of branch by every route from a tree to numbers: read as written, or refused by name.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TChain.h>
#include <TFile.h>
#include <TTree.h>

#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

using CladTorch::Dataset;
using CladTorch::Source;
using Rows_t = std::vector<std::vector<float>>;

constexpr int kEntries = 700, kLists = 4, kInner = 3, kLength = kLists * kInner;
constexpr float kPadding = -1;

/// One branch of every kind, with numbers determined by entry and place.
struct Branches {
   float x, fixed[kLength], list[kLength], table[kLists][kInner];
   int n, i, e;
   double cube[kLists][1][kInner];
   short shorts[kLists][kInner];
   std::vector<float> vector;
   std::vector<std::vector<float>> vectors;

   void Book(TTree &tree)
   {
      const int bytes = 1000;
      tree.Branch("e", &e, "e/I", bytes);
      tree.Branch("n", &n, "n/I", bytes);
      tree.Branch("x", &x, "x/F", bytes);
      tree.Branch("i", &i, "i/I", bytes);
      tree.Branch("fixed", fixed, "fixed[12]/F", bytes);
      tree.Branch("list", list, "list[n]/F", bytes);
      tree.Branch("table", table, "table[n][3]/F", bytes);
      tree.Branch("cube", cube, "cube[n][1][3]/D", bytes);
      tree.Branch("shorts", shorts, "shorts[n][3]/S", bytes);
      tree.Branch("vector", &vector, bytes);
      tree.Branch("vectors", &vectors, bytes);
   }

   void Set(int entry)
   {
      const auto value = [&](int k) { return float(20 * entry + k); };
      e = entry;
      n = entry % (kLists + 1);
      x = i = value(0);
      vectors.assign(n, {});
      for (int k = 0; k < kLength; ++k) {
         fixed[k] = list[k] = table[0][k] = cube[0][0][k] = shorts[0][k] = value(k);
         if (k < kInner * n)
            vectors[k / kInner].push_back(value(k));
      }
      vector.assign(list, list + n);
   }
};

/// The length of an entry of the branch.
std::size_t Count(const std::string &branch, int entry)
{
   const std::size_t n = entry % (kLists + 1);
   if (branch == "x" || branch == "i")
      return 1;
   return branch == "fixed" ? kLength : branch == "list" || branch == "vector" ? n : kInner * n;
}

bool IsScalar(const std::string &branch)
{
   return branch == "x" || branch == "i";
}

Rows_t Written(const std::string &branch)
{
   Rows_t rows;
   for (int entry = 0; entry < kEntries; ++entry) {
      std::vector<float> row(IsScalar(branch) ? 1 : kLength, kPadding);
      for (std::size_t k = 0; k < Count(branch, entry); ++k)
         row[k] = 20 * entry + k;
      rows.push_back(row);
   }
   return rows;
}

/// Writes a tree whose branch `cut` has entries for only the first 400 events; "": all are complete.
void Write(const std::string &file, const std::string &cut)
{
   TFile out(file.c_str(), "recreate");
   TTree tree("t", "");
   Branches branches;
   branches.Book(tree);
   for (int entry = 0; entry < kEntries; ++entry) {
      branches.Set(entry);
      for (auto *branch : TRangeDynCast<TBranch>(tree.GetListOfBranches()))
         if (entry < 400 || branch->GetName() != cut)
            branch->Fill();
   }
   tree.SetEntries(kEntries);
   tree.Write();
}

Dataset Columns(const std::string &branch, bool asLists = false)
{
   Dataset data;
   if (IsScalar(branch))
      data.Column(branch);
   else if (asLists || branch == "vectors")
      data.Column(branch, {kLists, kInner}, kPadding);
   else
      data.Column(branch, kLength, kPadding);
   return data;
}

Rows_t Rows(const CladTorch::FloatView &view)
{
   Rows_t rows(view.Rows());
   for (std::size_t row = 0; row < view.Rows(); ++row)
      rows[row].assign(view.Data() + row * view.Columns(), view.Data() + (row + 1) * view.Columns());
   return rows;
}

Rows_t FromStream(const std::string &branch, const Source &source)
{
   auto stream = Columns(branch).Column("e").Stream();
   stream.Add(source, 1);
   CladTorch::FitOptions options;
   options.fValidation = 0;
   std::map<int, std::vector<float>> found;
   for (auto batches = stream.Batches(options); batches.Next();)
      for (auto row : Rows(batches.Features())) {
         const int entry = row.back();
         row.pop_back();
         found[entry] = row;
      }
   Rows_t rows;
   for (const auto &each : found)
      rows.push_back(each.second);
   return rows;
}

Rows_t FromJagged(const std::string &branch, const Source &source)
{
   return Rows(CladTorch::Jagged<float>::Read(source, branch).Padded(IsScalar(branch) ? 1 : kLength, kPadding));
}

/// A chain of the file after a complete one.
Rows_t Behind(const std::string &branch, const std::string &file)
{
   TChain chain("t");
   chain.Add("first.root"); // a chain with a file twice is left to ROOT
   chain.Add(file.c_str());
   auto rows = Rows(Columns(branch).Add(chain, 1).Features());
   CHECK(Rows_t(rows.begin(), rows.begin() + kEntries) == Written(branch));
   return Rows_t(rows.begin() + kEntries, rows.end());
}

using Route_t = std::function<Rows_t(const std::string &branch, const std::string &file)>;

std::map<std::string, Route_t> Routes()
{
   const auto by = [](CladTorch::EReader reader, bool asLists) {
      return [=](const std::string &branch, const std::string &file) {
         return Rows(Columns(branch, asLists).SetReader(reader).Add("t", file, 1).Features());
      };
   };
   const auto with = [](const std::string &column, const std::string &cut) { // "%": the branch
      return [=](const std::string &branch, const std::string &file) {
         const auto named = [&](std::string text) {
            for (auto at = text.find('%'); at != std::string::npos; at = text.find('%'))
               text.replace(at, 1, branch);
            return text;
         };
         auto data = column == "%" ? Columns(branch) : Dataset({named(column)});
         return Rows(data.Add("t", file, 1, named(cut)).Features());
      };
   };
   return {
      {"any reader", by(CladTorch::kAutoReader, false)},
      {"ROOT's reader", by(CladTorch::kRootReader, false)},
      {"the fast reader", by(CladTorch::kFastReader, false)},
      {"lists of lists", by(CladTorch::kAutoReader, true)},
      {"lists of lists by ROOT", by(CladTorch::kRootReader, true)},
      {"with a cut on another column", with("%", "e >= 0")},
      {"with a cut on it", with("%", "Length$(%) >= 0 || e >= 0")},
      {"the sum", with("Sum$(%)", "")},
      {"an element", with("%[0]", "n > 0")},
      {"an expression", with("% + 0", "")},
      {"a mask",
       [](const std::string &branch, const std::string &file) {
          return Rows(Columns(branch).Mask(branch).Add("t", file, 1).Features());
       }},
      {"a label",
       [](const std::string &branch, const std::string &file) {
          return Rows(Dataset({"e"}).Add("t", file, branch).Labels());
       }},
      {"a weight",
       [](const std::string &branch, const std::string &file) {
          return Rows(Dataset({"e"}).SetWeight(branch).Add("t", file, 1).Weights());
       }},
      {"a data frame",
       [](const std::string &branch, const std::string &file) {
          return Rows(Columns(branch).Add(ROOT::RDataFrame("t", file), 1).Features());
       }},
      {"a tree",
       [](const std::string &branch, const std::string &file) {
          TFile in(file.c_str());
          return Rows(Columns(branch).Add(in.Get<TTree>("t"), 1).Features());
       }},
      {"behind another file", Behind},
      {"a stream", [](const std::string &branch, const std::string &file) { return FromStream(branch, {"t", file}); }},
      {"jagged", [](const std::string &branch, const std::string &file) { return FromJagged(branch, {"t", file}); }},
   };
}

/// The route's result for the written numbers; empty if it gives no number of its own.
Rows_t Expected(const std::string &route, const std::string &branch)
{
   const auto written = Written(branch);
   Rows_t rows;
   for (int entry = 0; entry < kEntries; ++entry) {
      auto row = written[entry];
      const auto count = Count(branch, entry);
      if (route == "the sum")
         row = {std::accumulate(row.begin(), row.begin() + count, 0.f)};
      if (route == "an element" && entry % (kLists + 1) == 0)
         continue;
      if (route == "an element")
         row.resize(1);
      if (route == "a mask")
         for (std::size_t k = 0; k < kLength; ++k)
            row.push_back(k < count);
      rows.push_back(row);
   }
   return rows;
}

enum EOutcome { kRead, kRefused };

EOutcome Try(const std::string &name, const Route_t &route, const std::string &branch, const std::string &file)
{
   const auto what = branch + " of " + file + ", " + name;
   try {
      const auto rows = route(branch, file);
      Check(file == "whole.root" && rows == Expected(name, branch), what.c_str(), __FILE__, __LINE__);
      return kRead;
   } catch (const CladTorch::Error &e) {
      const std::string text = e.what();
      std::printf("%s: refused, %s\n", what.c_str(), text.c_str());
      Check(text.find("'" + branch) != std::string::npos || text.find("(" + branch) != std::string::npos, what.c_str(),
            __FILE__, __LINE__);
      return kRefused;
   }
}

void routes()
{
   // How many routes read such a branch; the others cannot request its columns.
   const std::map<std::string, int> kinds{{"x", 16},    {"i", 16},     {"fixed", 15},  {"list", 15},   {"vector", 15},
                                          {"table", 8}, {"cube", 8}, {"shorts", 8}, {"vectors", 11}};
   Write("first.root", "");
   Write("whole.root", "");
   const auto all = Routes();
   for (const auto &[kind, routes] : kinds) {
      int read = 0;
      Write("short_" + kind + ".root", kind);
      for (const auto &route : all) {
         read += Try(route.first, route.second, kind, "whole.root") == kRead;
         CHECK(Try(route.first, route.second, kind, "short_" + kind + ".root") == kRefused);
      }
      std::printf("%s: read by %d of %zu routes\n", kind.c_str(), read, all.size());
      CHECK(read == routes);
   }
   Passed();
}
