/// \file baskets.C
/// \brief Files of every codec, and a list of the positions of some of their baskets, for tests of the decoder alone.

R__LOAD_LIBRARY(libcladtorch)
#include "readers.h"

#include <TBranch.h>

#include <fstream>

/// A branch as tests/readers.rs reads it: element, shape, bytes of an entry, bytes before the leaf, numbers.
struct Described {
   const char *fName;
   int fElement, fShape, fEntryLength, fOffset, fLength;
};

void baskets()
{
   std::ofstream list("baskets.txt");
   for (const int compression : {0, 101, 207, 301, 404, 505}) {
      const auto name = "codec" + std::to_string(compression) + ".root";
      WriteFields(name, {1500, 3000, compression, -30000000});
      TFile file(name.c_str());
      auto *tree = file.Get<TTree>("t");
      for (const Described &each : {Described{"f", 9, 0, 4, 0, 1}, {"d", 10, 0, 8, 0, 1}, {"us", 4, 0, 2, 0, 1},
                                    {"leaves", 10, 0, 25, 8, 2}, {"fixed", 9, 0, 12, 0, 3}, {"some", 10, 1, 0, 0, 0},
                                    {"vf", 9, 2, 0, 0, 0}, {"rd", 10, 2, 0, 0, 0}, {"vb", 0, 2, 0, 0, 0}}) {
         auto *branch = tree->GetBranch(each.fName);
         for (int i = 0; i < branch->GetWriteBasket(); ++i)
            list << name << ' ' << each.fName << ' ' << each.fElement << ' ' << each.fShape << ' ' << each.fEntryLength
                 << ' ' << each.fOffset << ' ' << each.fLength << ' ' << branch->GetBasketSeek(i) << ' '
                 << branch->GetBasketBytes()[i] << ' ' << branch->GetBasketEntry()[i] << ' '
                 << branch->GetBasketEntry()[i + 1] << '\n';
      }
   }
   Passed();
}
