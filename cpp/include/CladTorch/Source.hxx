/// \file CladTorch/Source.hxx
/// \brief A source of events: data frame, tree or files.

#include <CladTorch/Load.hxx>

#ifndef CLADTORCH_SOURCE
#define CLADTORCH_SOURCE

#include <CladTorch/Files.hxx>

#include <ROOT/RDataFrame.hxx>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

class TTree;
struct _object; // Python's PyObject

namespace CladTorch {

namespace Internal {
struct SourceData;
}

/// A data frame node, a tree or chain, or a tree given by its name and file. Nothing is opened before it is read.
///
/// Functions that take a Source accept data frames, trees and chains directly; a tree in a file needs two strings,
/// `Source("sig_tree", "Higgs_data.root")`.
class Source {
public:
   /// Any node of a data frame's graph: a filter, a range, a data frame itself.
   Source(ROOT::RDF::RNode frame);
   template <class Proxied>
   Source(const ROOT::RDF::RInterface<Proxied> &frame) : Source(ROOT::RDF::RNode(frame))
   {
   }
   /// A tree or chain, with its friends (also indexed ones); only the entries of its entry list, if it has one. It
   /// may be in memory, and must live until the source has been read.
   Source(TTree *tree);
   Source(TTree &tree) : Source(&tree) {}
   /// The tree (or RNTuple) `tree` ("folder/tree") of a file, a glob ("run*.root") or a URL, or of a list of them.
   Source(const std::string &tree, const Files &files);
   // Not movable: a moved-from object would hold a null pointer.
   Source(const Source &) = default;
   Source &operator=(const Source &) = default;

   /// The events of this source that pass `cut`, an expression as Dataset::Add takes it ("": all). It is code: never take it
   /// from text that you do not trust.
   Source Filter(const std::string &cut) const;
   /// The events of this source for which `f` of `columns` is true; `f` is anything that `RDataFrame::Filter` takes.
   template <class F>
   Source Filter(F f, const std::vector<std::string> &columns) const
   {
      static_assert(!std::is_convertible<F, std::string>::value,
                    "a cut that is text names its columns itself: give the text alone, without a list of columns");
      return Then([f, columns](ROOT::RDF::RNode frame) { return ROOT::RDF::RNode(frame.Filter(f, columns)); });
   }

   /// Called by PyROOT when it meets this class: lets it take every data frame node.
   static void __cppyy_pythonize__(_object *pyclass, const std::string &name);

   /// For internal use.
   const Internal::SourceData &Data() const { return *fData; }

private:
   Source Then(const std::function<ROOT::RDF::RNode(ROOT::RDF::RNode)> &step) const;

   std::shared_ptr<const Internal::SourceData> fData;
};

} // namespace CladTorch

#endif
