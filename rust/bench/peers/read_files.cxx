// Writes a file for `cargo xtask bench read`: `read_files KIND COMPRESSION FILE`, with the tree `events` in it.
//
// KIND: floats28 (1M rows of 28 float columns f0 to f27), mixed3 (5M rows of x/F, y/D, n/I), rvec8 (1M rows of the
// RVec<float> `jets`, 0 to 16 numbers, 8 in the mean). COMPRESSION: ROOT's number, 100 * algorithm + level.

#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TTree.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>

/// SplitMix64 (Steele, Lea and Flood 2014).
class Random {
public:
   std::uint64_t Bits()
   {
      auto z = fState += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      return z ^ (z >> 31);
   }
   /// Exponential with mean 1, like a spectrum of momenta.
   double Exponential() { return -std::log1p(-std::ldexp(static_cast<double>(Bits() >> 11), -53)); }

private:
   std::uint64_t fState = 1;
};

void FillFloats(TTree &tree, Random &random)
{
   float values[28];
   for (int i = 0; i < 28; ++i)
      tree.Branch(("f" + std::to_string(i)).c_str(), values + i);
   for (int row = 0; row < 1000000; ++row) {
      for (auto &value : values)
         value = random.Exponential();
      tree.Fill();
   }
}

void FillMixed(TTree &tree, Random &random)
{
   float x;
   double y;
   int n;
   tree.Branch("x", &x);
   tree.Branch("y", &y);
   tree.Branch("n", &n);
   for (int row = 0; row < 5000000; ++row) {
      x = random.Exponential();
      y = random.Exponential();
      n = random.Bits() % 1000;
      tree.Fill();
   }
}

/// Two rows in turn have 16 numbers together.
void FillVectors(TTree &tree, Random &random)
{
   ROOT::RVec<float> jets;
   tree.Branch("jets", &jets);
   for (int row = 0; row < 1000000; ++row) {
      jets.resize(row % 2 ? 16 - jets.size() : random.Bits() % 17);
      for (auto &jet : jets)
         jet = random.Exponential();
      tree.Fill();
   }
}

int main(int, char **arguments)
{
   const std::string kind = arguments[1];
   TFile file(arguments[3], "RECREATE", "", std::stoi(arguments[2]));
   TTree tree("events", "");
   Random random;
   if (kind == "floats28")
      FillFloats(tree, random);
   else if (kind == "mixed3")
      FillMixed(tree, random);
   else if (kind == "rvec8")
      FillVectors(tree, random);
   else
      throw std::invalid_argument("no kind of file '" + kind + "'");
   return tree.Write() > 0 && !file.TestBit(TFile::kWriteError) ? 0 : 1;
}
