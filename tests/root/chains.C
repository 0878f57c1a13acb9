/// \file chains.C
/// \brief Chains whose files have a column in different types, or not at all: every pair of types in every way of
///        reading gives the written numbers, or a message that names column and file.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include "check.h"

#include <TChain.h>
#include <TFile.h>
#include <TTree.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

using CladTorch::Dataset;

constexpr int kEntries = 20;

/// A branch `x` that holds k in entry k; lists hold it twice.
struct Kind {
   std::function<void(TTree &)> fBranch;
   std::function<void(int)> fSet;
   bool fList = false;
};

template <class T>
Kind Number(const char *leaf)
{
   auto value = std::make_shared<T>();
   return {[=](TTree &tree) { tree.Branch("x", value.get(), leaf); }, [=](int k) { *value = k; }};
}

template <class T>
Kind Array(const char *leaf)
{
   auto values = std::make_shared<std::vector<T>>(2);
   return {[=](TTree &tree) { tree.Branch("x", values->data(), leaf); }, [=](int k) { values->assign(2, k); }, true};
}

template <class T>
Kind Object()
{
   auto list = std::make_shared<T>();
   return {[=](TTree &tree) { tree.Branch("x", list.get()); }, [=](int k) { list->assign(2, k); }, true};
}

std::map<std::string, Kind> Kinds()
{
   return {{"none", {[](TTree &) {}, [](int) {}}},
           {"float", Number<float>("x/F")},
           {"double", Number<double>("x/D")},
           {"int", Number<int>("x/I")},
           {"unsigned", Number<unsigned>("x/i")},
           {"short", Number<short>("x/S")},
           {"long", Number<long>("x/G")},
           {"Long64_t", Number<Long64_t>("x/L")},
           {"Float16_t", Number<float>("x/f")},
           {"Double32_t", Number<double>("x/d")},
           {"float[2]", Array<float>("x[2]/F")},
           {"double[2]", Array<double>("x[2]/D")},
           {"vector<float>", Object<std::vector<float>>()},
           {"vector<int>", Object<std::vector<int>>()},
           {"RVec<float>", Object<ROOT::RVecF>()}};
}

/// Without the characters that ROOT takes for a set of letters.
std::string FileOf(std::string kind)
{
   for (char &letter : kind)
      letter = std::isalnum(letter) ? letter : '_';
   return "of_" + kind + ".root";
}

void Write(const std::string &kind, const Kind &x)
{
   TFile file(FileOf(kind).c_str(), "recreate");
   TTree tree("t", "");
   int k = 0;
   tree.Branch("k", &k);
   x.fBranch(tree);
   for (; k < kEntries; ++k) {
      x.fSet(k);
      tree.Fill();
   }
   tree.Write();
}

/// Reads the column, entry by entry.
using Way_t = std::function<std::vector<float>(TChain &chain)>;

template <class View>
std::vector<float> Numbers(const View &view)
{
   return {view.begin(), view.end()};
}

std::vector<float> AllOf(CladTorch::Stream stream)
{
   CladTorch::FitOptions options;
   options.fShuffle = false;
   options.fValidation = 0;
   std::vector<float> numbers;
   for (auto batches = stream.Batches(options); batches.Next();)
      for (const float number : batches.Features())
         numbers.push_back(number);
   return numbers;
}

std::map<std::string, Way_t> Ways(bool list)
{
   std::map<std::string, Way_t> ways{{"Jagged", [](TChain &chain) {
      return Numbers(CladTorch::Jagged<double>::Read(&chain, "x").Values());
   }}};
   const auto data = [list](const std::string &name) {
      Dataset data;
      list ? data.Column(name, 2) : data.Column(name);
      return data;
   };
   for (const auto &[name, reader] : std::map<std::string, CladTorch::EReader>{
           {"auto", CladTorch::kAutoReader}, {"by ROOT", CladTorch::kRootReader}, {"fast", CladTorch::kFastReader}})
      ways[name] = [=, reader = reader](TChain &chain) {
         return Numbers(data("x").SetReader(reader).Add(chain, 1).Features());
      };
   ways["expression"] = [=](TChain &chain) { return Numbers(data("1 * x").Add(chain, 1).Features()); };
   ways["cut"] = [=](TChain &chain) {
      return Numbers(data("x").Add(chain, 1, list ? "x[0] == k && x[1] == k" : "x == k").Features());
   };
   if (!ROOT::IsImplicitMTEnabled())
      ways["stream"] = [=](TChain &chain) { return AllOf(data("x").Stream().Add(chain, 1, "k >= 0")); };
   for (const std::string name : {"x", "fr.x"})
      ways["friend's " + name] = [=](TChain &chain) {
         TChain events("t");
         for (int i = 0; i < 2; ++i)
            events.Add(FileOf("none").c_str());
         events.AddFriend(&chain, "fr");
         return Numbers(data(name).Add(events, 1).Features());
      };
   if (!list)
      ways["label"] = [](TChain &chain) { return Numbers(Dataset({"k"}).Add(chain, "x").Labels()); };
   return ways;
}

/// The values of `first` and `second` read as the type of the first: a number in place of a list is a list of one.
std::vector<float> Expected(const Kind &first, const Kind &second)
{
   std::vector<float> numbers;
   for (const auto *kind : {&first, &second})
      for (int k = 0; k < kEntries; ++k) {
         numbers.push_back(k);
         if (first.fList)
            numbers.push_back(kind->fList ? k : 0);
      }
   return numbers;
}

/// Column and file, or the part that the fast reader alone does not read.
bool Names(const std::string &message, const std::string &way, const std::string &file)
{
   const auto has = [&](const std::string &part) { return message.find(part) != std::string::npos; };
   return (has("'x'") || has("'fr.x'")) && (has(file) || (way == "fast" && has("is not for the fast reader")));
}

void ComparePairs()
{
   int right = 0, wrong = 0, pairs = 0;
   const auto kinds = Kinds();
   for (const auto &[kind, x] : kinds)
      Write(kind, x);
   for (const auto &[first, x] : kinds)
      for (const auto &[second, y] : kinds) {
         if (first == second || first == "none")
            continue;
         ++pairs;
         for (const auto &[way, read] : Ways(x.fList)) {
            TChain chain("t");
            chain.Add(FileOf(first).c_str());
            chain.Add(FileOf(second).c_str());
            std::string message;
            try {
               if (read(chain) == Expected(x, y) && ++right)
                  continue;
            } catch (const CladTorch::Error &e) {
               message = e.what();
               if (Names(message, way, FileOf(second)))
                  continue;
            }
            ++wrong;
            std::printf("WRONG %s, then %s, %s: %s\n", first.c_str(), second.c_str(), way.c_str(), message.c_str());
         }
      }
   std::printf("%d right of %d pairs\n", right, pairs);
   CHECK(wrong == 0 && right > pairs);
}

/// The user's own way of leaving out the entries of such files.
void CheckFiltered()
{
   ROOT::RDataFrame frame("t", {FileOf("float"), FileOf("none")});
   CHECK(Dataset({"x"}).Add(frame.FilterAvailable("x"), 1).Rows() == kEntries);
   CHECK(Dataset({"x"}).Add(frame.DefaultValueFor("x", -1.f), 1).Rows() == 2 * kEntries);
}

void chains(bool threads = false)
{
   gErrorIgnoreLevel = kFatal; // of hundreds of refusals
   if (threads)
      ROOT::EnableImplicitMT(4);
   ComparePairs();
   CheckFiltered();
   Passed();
}
