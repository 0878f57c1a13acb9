/// \file OpenSource.hxx
/// \brief A Source as a data frame.

#ifndef CLADTORCH_OPENSOURCE
#define CLADTORCH_OPENSOURCE

#include <CladTorch/Source.hxx>

#include <functional>
#include <string>

namespace CladTorch {
namespace Internal {

/// The data of a Source.
struct SourceData {
   std::function<ROOT::RDF::RNode()> fOpen;
   TTree *fTree = nullptr; ///< null if it is not a tree of the user's
   std::string fName = {}; ///< of the tree in `fFile`
   std::string fFile = {}; ///< "" if it is not the whole of a tree in a file
};

/// ROOT reads its number of threads when a data frame is made: one thread while this lives, if `needed`.
class SerialScope {
public:
   explicit SerialScope(bool needed);
   SerialScope(const SerialScope &) = delete;
   ~SerialScope();

private:
   unsigned int fThreads;
};

/// A source that is being read, on one thread if ROOT would read it wrongly on several.
class OpenSource {
public:
   /// Throws for a file, tree or chain that cannot be read.
   explicit OpenSource(const Source &source);

   const ROOT::RDF::RNode &Frame() const { return fFrame; }

private:
   SerialScope fSerial;
   ROOT::RDF::RNode fFrame;
};

} // namespace Internal
} // namespace CladTorch

#endif
