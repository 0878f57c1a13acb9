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

/// What is read of which events of a source.
struct Reading {
   std::string fSource; ///< for messages
   std::string fCut;    ///< "": every event
   std::vector<ColumnTarget> fTargets;
};

/// Tree and files of `frame`. Throws for what ROOT reads wrongly: an entry list on several threads.
Origin OriginOf(const ROOT::RDF::RNode &frame, const std::string &source);

/// Reads the events of `frame` that pass the cut into `collector`, in one event loop, and finishes it. Throws where
/// there are none.
void RunEventLoop(ROOT::RDF::RNode frame, const Reading &reading, std::shared_ptr<OrderedCollector> collector);

} // namespace Internal
} // namespace CladTorch

#endif
