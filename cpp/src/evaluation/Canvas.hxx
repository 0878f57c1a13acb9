/// \file Canvas.hxx
/// \brief What the plots have in common.

#ifndef CLADTORCH_CANVAS
#define CLADTORCH_CANVAS

class TAxis;
class TCanvas;
class TH2;
class TLegend;

namespace CladTorch {
namespace Internal {

/// Two colours that can be told apart with any colour vision and on grey printers (Okabe and Ito 2008).
int FirstColour();
int SecondColour();

/// A canvas with a name of its own and room above the frame for a legend of one row. It becomes gPad.
TCanvas *NewCanvas(const char *prefix, const char *title);

/// A legend of `entries` columns above the frame, clear of the curves. It is drawn with, and belongs to, gPad.
TLegend *LegendAbove(int entries);

/// The approximate length of the longest label of an axis; like `size` a share of the pad's height.
double LabelLength(const TAxis &axis, double size);

/// Gives the labels of an axis the size `size`, or a smaller one so that none is longer than `room`; both are shares of
/// the pad's height.
void FitLabels(TAxis &axis, double size, double room);

/// Draws a matrix of numbers on gPad, which then owns it: blue below 0, pale at 0, red above, strongest at `most`;
/// prints the numbers if there is room to read them. The labels of the rows fit into the margin.
void DrawMatrix(TH2 &matrix, double most);

} // namespace Internal
} // namespace CladTorch

#endif
