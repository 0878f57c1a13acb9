/// \file LiveCanvas.hxx
/// \brief Loss curves that are drawn while a fit runs.

#ifndef CLADTORCH_LIVECANVAS
#define CLADTORCH_LIVECANVAS

#include <CladTorch/History.hxx>

#include <chrono>
#include <string>

namespace CladTorch {
namespace Internal {

/// A canvas that belongs to ROOT. If the user closes it, no more curves are drawn.
class LiveCanvas {
public:
   explicit LiveCanvas(bool wanted) : fWanted(wanted) {}

   /// Draws `history`, unless it was drawn a moment ago; `last` is always drawn.
   void Update(const History &history, bool last);

private:
   using Clock_t = std::chrono::steady_clock;

   bool fWanted;
   std::string fName; ///< of the canvas, once there is one
   Clock_t::time_point fDrawn;
};

} // namespace Internal
} // namespace CladTorch

#endif
