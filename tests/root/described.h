/// \file described.h
/// \brief The outcome of reading a source, for comparison with another way to read it.

#ifndef CLADTORCH_TEST_DESCRIBED
#define CLADTORCH_TEST_DESCRIBED

#include <CladTorch/CladTorch.hxx>

#include <TFile.h>

#include <cstring>
#include <exception>
#include <string>
#include <vector>

/// The numbers, or the message.
struct Outcome {
   std::vector<float> fNumbers;
   std::string fText;
   bool fWithoutRoot = false; ///< the file's own description sufficed

   bool SameNumbers(const Outcome &other) const
   {
      return fNumbers.size() == other.fNumbers.size() && fText.empty() == other.fText.empty() &&
             (fNumbers.empty() || std::memcmp(fNumbers.data(), other.fNumbers.data(), 4 * fNumbers.size()) == 0);
   }
};

/// The outcome of `read`, which returns a dataset.
template <class F>
Outcome OutcomeOf(F read)
{
   Outcome outcome;
   const auto before = TFile::GetFileReadCalls();
   try {
      const CladTorch::Dataset data = read();
      for (const auto &view : {data.Features(), data.Labels(), data.Weights()})
         outcome.fNumbers.insert(outcome.fNumbers.end(), view.begin(), view.end());
   } catch (const std::exception &e) {
      outcome.fText = e.what();
   }
   outcome.fWithoutRoot = TFile::GetFileReadCalls() == before;
   return outcome;
}

#endif
