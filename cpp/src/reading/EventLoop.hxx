/// \file EventLoop.hxx
/// \brief Columns of a data frame through ROOT's reader.

#ifndef CLADTORCH_EVENTLOOP
#define CLADTORCH_EVENTLOOP

#include "Collector.hxx"

#include <ROOT/RDataFrame.hxx>

#include <memory>
#include <string>
#include <vector>

namespace CladTorch {
namespace Internal {

struct ColumnType;

/// The columns to read, and the selection of events of a source.
struct Reading {
   std::string fSource; ///< for messages
   std::string fCut;    ///< "": every event
   std::vector<ColumnTarget> fTargets;
};

/// Tree and files of `frame`. Throws for a source that ROOT reads wrongly: an entry list on several threads.
Origin OriginOf(const ROOT::RDF::RNode &frame, const std::string &source);

/// The events of `frame` that pass `cut`. Throws for a column that ROOT reads wrongly.
ROOT::RDF::RNode Selected(ROOT::RDF::RNode frame, const std::string &cut);

/// An event loop that can run repeatedly, with the interpreter's work done in advance.
class PreparedLoop {
public:
   /// Throws for a column or cut that does not work.
   PreparedLoop(ROOT::RDF::RNode frame, const Reading &reading);

   /// Reads the events into `collector`, finishes it and returns their number.
   std::size_t Run(std::shared_ptr<OrderedCollector> collector);

   /// The events that pass the cut.
   ROOT::RDF::RNode &Selected() { return fSelected; }

private:
   Reading fReading; ///< its targets resolved
   ROOT::RDF::RNode fSelected;
   std::vector<const ColumnType *> fTypes;
};

/// Reads the events of `frame` that pass the cut into `collector`, in one event loop, and finishes it. Throws if there
/// are none.
void RunEventLoop(ROOT::RDF::RNode frame, const Reading &reading, std::shared_ptr<OrderedCollector> collector);

} // namespace Internal
} // namespace CladTorch

#endif
