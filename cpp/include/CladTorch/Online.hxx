/// \file CladTorch/Online.hxx
/// \brief Networks on strain that arrives in blocks.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_ONLINE
#define CLADTORCH_ONLINE

#include <CladTorch/Continuous.hxx>
#include <CladTorch/Model.hxx>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct _object; // Python's PyObject

namespace CladTorch {

namespace Internal {
struct OnlineData;
}

namespace Signal {

/// Whitens strain of several detectors as it arrives, and scores the last window with each block.
///
/// ~~~{.cpp}
/// Signal::OnlineSearch search(model, 2048, 2, 128, 1 << 17, 1024, 512, 18); // blocks of 1/16 s, a memory of 64 s
/// while (reader.Next(gps, h1, l1))
///    if (auto score = search.Add(gps, {h1, l1}); !score.empty() && score[0] > 8)
///       std::cout << "candidate before " << search.End() << std::endl;
/// ~~~
/// Each detector is whitened as by WhitenByOwn(), by the density of its last seconds. The scored window ends half a
/// whitening filter before the end of the block. A gap in the times restarts the search, as does a block that is not
/// finite or is constant, such as that of a detector that is off: there are no scores until memory and window are full
/// again.
class OnlineSearch {
public:
   /// \param model Takes windows [detectors, samples], for one detector [1, samples]. Later changes of it have no
   ///        effect.
   /// \param block Samples of a block, up to half a segment.
   /// \param memory Samples that the density is estimated from, two segments at least.
   /// \param segment Samples of a segment of Welch's estimate.
   /// \param filter Samples of the whitening filter, up to a segment.
   /// \param lowest In Hz: lower frequencies are taken out.
   OnlineSearch(const Model &model, double rate, std::size_t detectors, std::size_t block, std::size_t memory, std::size_t segment,
                std::size_t filter, double lowest = 0);
   // Not movable: a moved-from object would hold a null pointer. Copies share what has arrived.
   OnlineSearch(const OnlineSearch &) = default;
   OnlineSearch &operator=(const OnlineSearch &) = default;

   /// [C], the logits of the last window; empty until the memory and a window are full.
   /// \param gps Time of the first sample of the block, in s.
   /// \param blocks For each detector the samples of one block.
   std::vector<float> Add(double gps, const std::vector<std::vector<double>> &blocks);
   /// Why the last block has no score: the detector whose strain is missing, or memory and window that are still
   /// filling. Empty if it has one.
   std::string Waits() const;
   /// End of the last window, GPS time in s.
   double End() const;

   /// Called by PyROOT when it meets this class: checks and names arguments, copies.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

private:
   std::shared_ptr<Internal::OnlineData> fData;
};

} // namespace Signal
} // namespace CladTorch

#endif
